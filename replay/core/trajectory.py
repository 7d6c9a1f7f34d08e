"""The finished record of an episode: steps, chained digests, first difference of two trajectories.

Each step's digest covers the digest before it, so two trajectories with one last digest are equal step by
step, and the first step whose digests differ is where two runs parted.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from replay.core.canonical import canonical_bytes, digest, digest_bytes
from replay.core.types import Completion, Digest, Json, Record, Role, ToolCall, ToolResult

__all__ = [
    "CallStep",
    "CompletionStep",
    "Difference",
    "NoteStep",
    "Step",
    "Trajectory",
    "chain_digests",
    "find_difference",
    "make_trajectory",
]


class CompletionStep(Record, frozen=True, kw_only=True, tag="completion"):
    """One answer of a chat model."""

    role: Role
    request_digest: Digest
    """Digest of the complete chat request."""
    completion: Completion


class CallStep(Record, frozen=True, kw_only=True, tag="call"):
    """One tool call and what came back."""

    call: ToolCall
    tool: str
    """Tool identity that was looked up; empty when a calling rule answered."""
    result: ToolResult


class NoteStep(Record, frozen=True, kw_only=True, tag="note"):
    """A protocol event that shaped the episode: a restart, a diversity prompt, a limit."""

    name: str
    data: Json = None


Step = CompletionStep | CallStep | NoteStep


class Trajectory(Record, frozen=True, kw_only=True):
    """One trial of one task from start to end."""

    benchmark: str
    task: str
    split: str
    trial: int
    seed: int
    steps: tuple[Step, ...]
    digests: tuple[Digest, ...]
    """One per step, each over the one before; same length as `steps`."""
    stop: str
    """finished, gave-up, step-limit, query-limit, truncated, refused, tool-miss, candidate-miss, user-miss,
    network-blocked, missing-output or tool-error."""
    stop_detail: str = ""
    """The explained miss or limit, one line; empty when the episode came to its own end."""
    outcome: Json = None
    """What the benchmark's evaluators read (its own form), or None when there is nothing to score."""

    @property
    def root(self) -> Digest:
        """Digest of the whole trajectory: chain head, stop and outcome."""
        head = self.digests[-1] if self.digests else self._start()
        return digest("trajectory", [head, self.stop, self.stop_detail, self.outcome])

    def _start(self) -> Digest:
        return _start_digest(self.benchmark, self.task, self.trial, self.seed)


class Difference(Record, frozen=True, kw_only=True):
    """Where two trajectories part."""

    index: int
    """Step index; equals the number of common steps when one is a prefix of the other."""
    left: Json
    """The step on the left as JSON, None when it has ended."""
    right: Json
    path: str
    """JSON path of the first differing leaf inside the step, `$` when one side has ended."""


def chain_digests(start: Digest, steps: Iterable[Step]) -> tuple[Digest, ...]:
    """Chain one digest a step from `start`."""
    chained: list[Digest] = []
    before = start
    for step in steps:
        body = canonical_bytes(msgspec.to_builtins(step))
        before = digest_bytes("step", before.encode() + b"\n" + body)
        chained.append(before)
    return tuple(chained)


def make_trajectory(  # noqa: PLR0913  the nine facts of a finished episode
    *,
    benchmark: str,
    task: str,
    split: str,
    trial: int,
    seed: int,
    steps: tuple[Step, ...],
    stop: str,
    stop_detail: str = "",
    outcome: Json = None,
) -> Trajectory:
    """Close an episode: chain its steps and keep its stop and outcome."""
    return Trajectory(
        benchmark=benchmark,
        task=task,
        split=split,
        trial=trial,
        seed=seed,
        steps=steps,
        digests=chain_digests(_start_digest(benchmark, task, trial, seed), steps),
        stop=stop,
        stop_detail=stop_detail,
        outcome=outcome,
    )


def find_difference(left: Trajectory, right: Trajectory) -> Difference | None:
    """Return the first step on which two trajectories differ, or None when their steps are equal."""
    for index, (ours, theirs) in enumerate(zip(left.digests, right.digests, strict=False)):
        if ours != theirs:
            a = msgspec.to_builtins(left.steps[index])
            b = msgspec.to_builtins(right.steps[index])
            return Difference(index=index, left=a, right=b, path=_first_leaf(a, b, "$"))
    shared = min(len(left.steps), len(right.steps))
    if len(left.steps) == len(right.steps):
        return None
    a = msgspec.to_builtins(left.steps[shared]) if shared < len(left.steps) else None
    b = msgspec.to_builtins(right.steps[shared]) if shared < len(right.steps) else None
    return Difference(index=shared, left=a, right=b, path="$")


def _start_digest(benchmark: str, task: str, trial: int, seed: int) -> Digest:
    return digest("episode", [benchmark, task, trial, seed])


def _first_leaf(left: Json, right: Json, path: str) -> str:
    if isinstance(left, dict) and isinstance(right, dict):
        for name in sorted(left.keys() | right.keys()):
            if name not in left or name not in right:
                return f"{path}.{name}"
            if left[name] != right[name]:
                return _first_leaf(left[name], right[name], f"{path}.{name}")
    if isinstance(left, list) and isinstance(right, list):
        for index, (ours, theirs) in enumerate(zip(left, right, strict=False)):
            if ours != theirs:
                return _first_leaf(ours, theirs, f"{path}[{index}]")
        if len(left) != len(right):
            return f"{path}[{min(len(left), len(right))}]"
    return path
