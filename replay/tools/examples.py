"""Recorded answers that a simulator is shown: which ones, in which order, cut to which length.

The rule is fixed and knows nothing of the call: of the tool's recorded calls in order of their keys, at most
five, first those with a real answer, then those of which it is not known whether upstream made them up, and
these are labelled so. What any simulator made up is never an example: one invention must not lead to another.
"""

from __future__ import annotations

import itertools
import threading
from typing import Final

from replay.core.canonical import canonical_bytes
from replay.core.types import (
    Json,
    Key,
    Origin,
    Provenance,
    Record,
    Snapshot,
    SnapshotKind,
    SnapshotStatus,
)
from replay.store.pending import SnapshotReader

__all__ = ["Example", "ExampleBook", "render_examples"]

MAX_EXAMPLES: Final = 5

_CONSIDERED: Final = 2_000
"""Recorded calls of one tool that are looked at, in order of their keys; a few tools have more."""

_MAX_ARGUMENTS: Final = 400
_MAX_ANSWER: Final = 800
"""Characters of one example. Five of them with a documentation fit a context of 4,096 tokens."""

_CUT: Final = " ...[cut]"

_REAL, _UNKNOWN = "real", "unknown"


class Example(Record, frozen=True, kw_only=True):
    """One recorded call and its answer."""

    key: Key
    origin: str
    """`real`, or `unknown` for imported answers that upstream may have made up."""
    arguments: str
    """Canonical JSON, cut to a bounded length like the next."""
    answer: str


class ExampleBook:
    """Chooses the examples of each tool once. Safe to share between threads."""

    def __init__(self, frozen: SnapshotReader) -> None:
        """Choose from these archives; overlays are left out, so that no run changes another one's prompts."""
        self._frozen = frozen
        self._chosen: dict[str, tuple[Example, ...]] = {}
        self._lock = threading.Lock()

    def choose(self, tool: str) -> tuple[Example, ...]:
        """Return the examples of a tool, at most five.

        Errors:  DamagedError when a recorded answer cannot be read.
        """
        with self._lock:
            if tool not in self._chosen:
                self._chosen[tool] = _choose(self._frozen, tool)
            return self._chosen[tool]


def render_examples(examples: tuple[Example, ...]) -> str:
    """Write examples out for a prompt, numbered; those of unknown origin say so."""
    if not examples:
        return "(none)"
    return "\n\n".join(
        f"{number}.{_label(example)} Arguments: {example.arguments}\nAnswer: {example.answer}"
        for number, example in enumerate(examples, start=1)
    )


def _label(example: Example) -> str:
    return "" if example.origin == _REAL else f" (origin {example.origin})"


def _choose(frozen: SnapshotReader, tool: str) -> tuple[Example, ...]:
    found: dict[str, list[Example]] = {_REAL: [], _UNKNOWN: []}
    for key in itertools.islice(frozen.scope(SnapshotKind.API, tool), _CONSIDERED):
        snapshot = frozen.get(key)
        origin = _origin_of(snapshot)
        if snapshot is not None and origin and len(found[origin]) < MAX_EXAMPLES:
            found[origin].append(_read(snapshot, origin))
        if len(found[_REAL]) == MAX_EXAMPLES:
            break
    return tuple((found[_REAL] + found[_UNKNOWN])[:MAX_EXAMPLES])


def _origin_of(snapshot: Snapshot | None) -> str:
    """Tell what kind of example an answer is; empty when it is none."""
    if snapshot is None or snapshot.status is not SnapshotStatus.OK or snapshot.media == "bytes":
        return ""
    if not isinstance(snapshot.request, dict) or "arguments" not in snapshot.request:
        # An answer that only an upstream alias reaches: its arguments are not known as such.
        return ""
    if Provenance.SIMULATED is snapshot.provenance or Origin.SIMULATED is snapshot.origin:
        return ""
    recorded = snapshot.provenance is Provenance.RECORDED and snapshot.origin is None
    return _REAL if recorded or snapshot.origin is Origin.REAL else _UNKNOWN


def _read(snapshot: Snapshot, origin: str) -> Example:
    arguments: Json = snapshot.request["arguments"]
    return Example(
        key=snapshot.key,
        origin=origin,
        arguments=_cut(canonical_bytes(arguments).decode(), _MAX_ARGUMENTS),
        answer=_cut(snapshot.body, _MAX_ANSWER),
    )


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + _CUT
