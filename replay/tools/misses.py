"""The explanation of a tool call that nothing answers: what was asked, what is near, what to do.

It reports and never answers. A report is made from frozen archives only, so that it does not depend on what
other episodes of the same run have recorded meanwhile.
"""

from __future__ import annotations

import difflib
import itertools
import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from replay.core.errors import MissError
from replay.core.keys import call_key
from replay.core.types import CallRequest, Json, Key, Record, SnapshotKind
from replay.store.nearest import LeafDifference, Nearest, NearRequest, find_nearest
from replay.store.pending import SnapshotReader

__all__ = ["NOBODY", "CallMiss", "MissReporter", "Use"]

_MAX_NAMES: Final = 5_000
"""Tool names that are compared when a tool has nothing recorded at all."""

NOBODY: Final[Mapping[str, str]] = MappingProxyType({})
"""Nobody was asked who could have refused."""

_SHOWN: Final = 60
"""Characters of one value in the one-line message."""


class Use(Record, frozen=True, kw_only=True):
    """The recorded answers of a sequence that ran out, and the steps that used them."""

    recorded: int
    steps: tuple[int, ...]


class CallMiss(Record, frozen=True, kw_only=True):
    """One tool call that nothing answered, ready for a want list."""

    kind: str = "api"
    task: str
    step: int
    benchmark: str
    tool: str
    arguments: Json
    state: str = ""
    key: Key
    lookups: tuple[str, ...] = ()
    """Lookup steps that were tried, in order."""
    used: Use | None = None
    nearest: Nearest
    similar_tools: tuple[str, ...] = ()
    """Recorded tools with a similar name; only looked for when this tool has nothing recorded."""
    upstream: str = ""
    """What a live upstream said, in record mode."""
    command: str = ""
    """The command that would record it."""
    simulator: str = ""
    """Why a simulator that was asked gave no answer; only written down when there is something to say."""


class MissReporter:
    """Explains misses of one run."""

    def __init__(
        self,
        frozen: SnapshotReader,
        *,
        archive: str = "",
        tools: Iterable[str] = (),
        command: str = "",
        error: type[MissError] = MissError,
    ) -> None:
        """Keep where to look and how to speak.

        frozen: the archives of this run, without overlays.
        archive: name shown in the message.
        tools: identities of all tools in the archive, for similar names.
        command: how to record, `{task}` standing for the task id.
        error: MissError, or RecordMissError when a live upstream is in the chain.
        """
        self._frozen = frozen
        self._archive = archive
        self._tools = tuple(itertools.islice(sorted(set(tools)), _MAX_NAMES))
        self._command = command
        self._error = error

    def make_error(
        self,
        request: CallRequest,
        *,
        task: str,
        step: int,
        lookups: tuple[str, ...] = (),
        used: Use | None = None,
        refused: Mapping[str, str] = NOBODY,
    ) -> MissError:
        """Build the explained error; its `want` holds the same report as JSON.

        refused: what an `upstream` or a `simulator` said that could give no answer.
        """
        asked = {"arguments": request.arguments, "state": request.state}
        nearest = find_nearest(self._frozen, SnapshotKind.API, request.tool, asked=asked)
        similar: tuple[str, ...] = ()
        if not nearest.considered:
            similar = tuple(difflib.get_close_matches(request.tool, self._tools, n=3, cutoff=0.6))
        miss = CallMiss(
            task=task,
            step=step,
            benchmark=request.benchmark,
            tool=request.tool,
            arguments=request.arguments,
            state=request.state,
            key=call_key(request),
            lookups=lookups,
            used=used,
            nearest=nearest,
            similar_tools=similar,
            upstream=refused.get("upstream", ""),
            simulator=refused.get("simulator", ""),
            command=self._command.replace("{task}", task),
        )
        return self._to_error(miss)

    def _to_error(self, miss: CallMiss) -> MissError:
        archive = f" in archive {self._archive!r}" if self._archive else ""
        error = self._error(
            f"no snapshot for call {_show_call(miss.tool, miss.arguments)}{archive}",
            where=f"task {miss.task}, step {miss.step}",
            expected=_explain(miss),
            next_step=f"to record it: {miss.command}" if miss.command else "",
        )
        want = msgspec.to_builtins(miss)
        if not miss.simulator:
            # Reports of runs without a simulator keep the bytes they had before there were simulators.
            del want["simulator"]
        error.want = want
        return error


def _explain(miss: CallMiss) -> str:
    parts = []
    if miss.upstream:
        parts.append(f"an answer from the live upstream, which said {miss.upstream}")
    if miss.simulator:
        parts.append(f"an answer from the simulator, which failed ({miss.simulator})")
    if miss.used is not None:
        parts.append(_show_use(miss.used))
    elif miss.nearest.near:
        count = f"{miss.nearest.considered}{' or more' if miss.nearest.more else ''}"
        parts.append(f"one of the recorded calls, nearest of {count}: {_show_near(miss.nearest.near[0])}")
    elif miss.similar_tools:
        names = ", ".join(miss.similar_tools)
        parts.append(f"a recorded call of this tool, there is none; tools with similar names: {names}")
    else:
        parts.append("a recorded call of this tool, there is none")
    return "; ".join(parts)


def _show_use(use: Use) -> str:
    times = "once" if use.recorded == 1 else f"{use.recorded} times"
    steps = [str(step) for step in use.steps]
    listed = " and ".join([", ".join(steps[:-1]), steps[-1]]) if len(steps) > 1 else "".join(steps)
    which = (
        "used at step"
        if use.recorded == 1
        else "both used at steps"
        if use.recorded == 2
        else "all used at steps"
    )
    return f"one more recorded answer; it was recorded {times}, {which} {listed}"


def _show_near(near: NearRequest) -> str:
    agree = [_short_path(path) for path in near.agree if path != "state"]
    parts = [f"{', '.join(agree[:5])} equal"] if agree else []
    parts.extend(_show_difference(difference) for difference in near.differ[:3])
    if len(near.differ) > 3:
        parts.append(f"{len(near.differ) - 3} more differ")
    return ", ".join(parts) or f"key {near.key} differs in nothing shown"


def _show_difference(difference: LeafDifference) -> str:
    name = _short_path(difference.path)
    if difference.missing == "asked":
        return f"{name} not given vs recorded {_show(difference.recorded)}"
    if difference.missing == "recorded":
        return f"{name} {_show(difference.asked)} vs not recorded"
    return f"{name} {_show(difference.asked)} vs recorded {_show(difference.recorded)}"


def _show_call(tool: str, arguments: Json) -> str:
    if not isinstance(arguments, dict):
        return f"{tool}({_show(arguments)})"
    shown = ", ".join(f"{name}={_show(arguments[name])}" for name in sorted(arguments)[:8])
    return f"{tool}({shown}{', ...' if len(arguments) > 8 else ''})"


def _short_path(path: str) -> str:
    return path.removeprefix("arguments.")


def _show(value: Json) -> str:
    text = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
