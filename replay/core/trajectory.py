"""The finished record of an episode: steps, chained digests, first difference of two trajectories.

Each step's digest covers the digest before it, so two trajectories with one last digest are equal step by
step, and the first step whose digests differ is where two runs parted.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import msgspec

from replay.core.canonical import canonical_bytes, digest, digest_bytes
from replay.core.jsonpath import join_path
from replay.core.types import Completion, Digest, Json, Record, Role, ToolCall, ToolResult

__all__ = [
    "CallStep",
    "CompletionStep",
    "Difference",
    "NoteStep",
    "Step",
    "Trajectory",
    "chain_digests",
    "find_broken_link",
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
    user-failed, network-blocked, missing-output or tool-error."""
    stop_detail: str = ""
    """The explained miss or limit, one line; empty when the episode came to its own end."""
    outcome: Json = None
    """What the benchmark's evaluators read (its own form), or None when there is nothing to score."""

    @property
    def root(self) -> Digest:
        """Digest of the whole trajectory: chain head, stop and outcome."""
        head = self.digests[-1] if self.digests else _start_of(self)
        return digest("trajectory", [head, self.stop, self.stop_detail, self.outcome])


class Difference(Record, frozen=True, kw_only=True):
    """Where two trajectories part."""

    index: int
    """Step index; the number of common steps when one is a prefix of the other or all steps are equal."""
    left: Json
    """The step on the left as JSON; None when it has ended; start and end when all steps are equal."""
    right: Json
    path: str
    """JSON path of the first differing leaf inside left and right, `$` when one side has ended."""


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
    """Return the first place where two trajectories differ, or None when they are one.

    Steps come first; they are compared by content when the two started differently (another seed or trial),
    so that the difference is where they really parted. When all steps agree, what they started from and how
    they ended is compared, with `index` one past the last step.
    """
    agreed = _count_agreed(left, right)
    for index, (ours, theirs) in enumerate(
        zip(left.steps[agreed:], right.steps[agreed:], strict=False), agreed
    ):
        a, b = msgspec.to_builtins(ours), msgspec.to_builtins(theirs)
        if not _is_same(a, b):
            return Difference(index=index, left=a, right=b, path=_first_leaf(a, b, []))
    shared = min(len(left.steps), len(right.steps))
    if len(left.steps) != len(right.steps):
        a = msgspec.to_builtins(left.steps[shared]) if shared < len(left.steps) else None
        b = msgspec.to_builtins(right.steps[shared]) if shared < len(right.steps) else None
        return Difference(index=shared, left=a, right=b, path="$")
    a, b = _frame(left), _frame(right)
    if _is_same(a, b):
        return None
    return Difference(index=shared, left=a, right=b, path=_first_leaf(a, b, []))


def find_broken_link(trajectory: Trajectory) -> int | None:
    """Return the index of the first step whose digest does not fit, or None when the chain holds.

    A missing digest is a broken link at its step, a digest too many one past the last step.
    """
    expected = chain_digests(_start_of(trajectory), trajectory.steps)
    if expected == trajectory.digests:
        return None
    pairs = zip(expected, trajectory.digests, strict=False)
    wrong = (index for index, (ours, theirs) in enumerate(pairs) if ours != theirs)
    return next(wrong, min(len(expected), len(trajectory.digests)))


def _count_agreed(left: Trajectory, right: Trajectory) -> int:
    """Count the first steps that are equal because their chained digests are."""
    if _start_of(left) != _start_of(right):
        return 0
    pairs = zip(left.digests, right.digests, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _start_of(trajectory: Trajectory) -> Digest:
    return _start_digest(trajectory.benchmark, trajectory.task, trajectory.trial, trajectory.seed)


def _start_digest(benchmark: str, task: str, trial: int, seed: int) -> Digest:
    return digest("episode", [benchmark, task, trial, seed])


def _frame(trajectory: Trajectory) -> dict[str, Json]:
    names = ("benchmark", "task", "trial", "seed", "stop", "stop_detail", "outcome")
    return {name: getattr(trajectory, name) for name in names}


def _is_same(left: Json, right: Json) -> bool:
    """Compare as digests do: Python's own `==` takes True for 1."""
    return canonical_bytes(left) == canonical_bytes(right)


def _first_leaf(left: Json, right: Json, path: list[str | int]) -> str:
    """Name the first differing place inside two JSON values that differ."""
    if isinstance(left, dict) and isinstance(right, dict):
        for name in sorted(left.keys() | right.keys()):
            if name not in left or name not in right:
                return join_path([*path, name])
            if not _is_same(left[name], right[name]):
                return _first_leaf(left[name], right[name], [*path, name])
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        for index, (ours, theirs) in enumerate(zip(left, right, strict=False)):
            if not _is_same(ours, theirs):
                return _first_leaf(ours, theirs, [*path, index])
        if len(left) != len(right):
            return join_path([*path, min(len(left), len(right))])
    return join_path(path)
