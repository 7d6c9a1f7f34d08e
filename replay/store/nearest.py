"""The recorded requests nearest to one that was not found, and field by field how they differ.

Distance is a sum over the leaves of the two requests, each leaf at most 1, never a distance of whole texts:
one long drifted string must not outweigh three wrong fields. Work is bounded; the same store and request
always give the same answer. Nothing here ever answers a request.
"""

from __future__ import annotations

import itertools
import math
from typing import Final

from replay.core.types import Json, Key, Record, SnapshotKind
from replay.store.pending import SnapshotReader

__all__ = ["LeafDifference", "NearRequest", "Nearest", "find_nearest"]

_MAX_LEAVES: Final = 512
"""Leaves of one request that are compared; the rest of a very long conversation is left out."""

_MAX_TEXT: Final = 400
"""Characters of a text that are shown, and from which likeness is taken."""

_WHOLE: Final = 60
"""Texts up to this length are shown from their beginning."""

_LEAD: Final = 20
"""Characters shown before the first one that differs."""

_ABSENT: Final = object()


class LeafDifference(Record, frozen=True, kw_only=True):
    """One leaf on which the asked request and a recorded one differ."""

    path: str
    asked: Json
    """None when `missing` is `asked`."""
    recorded: Json
    missing: str = ""
    """`asked` or `recorded` when that side has no such leaf."""


class NearRequest(Record, frozen=True, kw_only=True):
    """One recorded request near the asked one."""

    key: Key
    distance: float
    agree: tuple[str, ...]
    """Paths of equal leaves."""
    differ: tuple[LeafDifference, ...]


class Nearest(Record, frozen=True, kw_only=True):
    """What a scope holds near a request."""

    considered: int
    """How many recorded requests were compared."""
    more: bool
    """True when the scope holds more than were compared."""
    near: tuple[NearRequest, ...]
    """Nearest first; equal distances by key."""


def find_nearest(
    reader: SnapshotReader,
    kind: SnapshotKind,
    scope: str,
    *,
    asked: Json,
    limit: int = 3,
    consider: int = 500,
) -> Nearest:
    """Compare a request with the recorded ones of its scope, in key order, at most `consider` of them.

    Shape:   `asked` is a preimage or the part of one under the same names (`arguments` alone will do).
    Errors:  DamagedError when a recorded request cannot be read.
    """
    wanted = _leaves(asked)
    keys = list(itertools.islice(reader.scope(kind, scope), consider + 1))
    near: list[NearRequest] = []
    for key in keys[:consider]:
        snapshot = reader.get(key)
        if snapshot is not None and isinstance(snapshot.request, dict):
            part = {name: snapshot.request[name] for name in asked if name in snapshot.request}
            near.append(_compare(key, wanted, _leaves(part)))
    near.sort(key=lambda found: (found.distance, found.key))
    return Nearest(considered=min(len(keys), consider), more=len(keys) > consider, near=tuple(near[:limit]))


def _compare(key: Key, asked: dict[str, Json], recorded: dict[str, Json]) -> NearRequest:
    agree: list[str] = []
    differ: list[LeafDifference] = []
    costs: list[float] = []
    for path in sorted(asked.keys() | recorded.keys()):
        ours, theirs = asked.get(path, _ABSENT), recorded.get(path, _ABSENT)
        cost = _leaf_distance(ours, theirs)
        if cost == 0.0:
            agree.append(path)
            continue
        costs.append(cost)
        differ.append(
            LeafDifference(
                path=path,
                asked=None if ours is _ABSENT else _excerpt(ours, theirs),
                recorded=None if theirs is _ABSENT else _excerpt(theirs, ours),
                missing="asked" if ours is _ABSENT else "recorded" if theirs is _ABSENT else "",
            )
        )
    return NearRequest(key=key, distance=round(math.fsum(costs), 4), agree=tuple(agree), differ=tuple(differ))


def _leaf_distance(ours: Json, theirs: Json) -> float:
    if ours is _ABSENT or theirs is _ABSENT:
        return 1.0
    same_kind = isinstance(ours, bool) == isinstance(theirs, bool)
    if same_kind and ours == theirs:
        return 0.0
    if isinstance(ours, str) and isinstance(theirs, str):
        return 0.1 + 0.8 * (1.0 - _likeness(ours[:_MAX_TEXT], theirs[:_MAX_TEXT]))
    numbers = (int, float)
    return 0.5 if same_kind and isinstance(ours, numbers) and isinstance(theirs, numbers) else 1.0


def _excerpt(value: Json, other: Json) -> Json:
    """Cut a long text to where it begins to differ from the other one."""
    if not isinstance(value, str) or len(value) <= _WHOLE:
        return value
    start = 0
    if isinstance(other, str):
        pairs = enumerate(zip(value, other, strict=False))
        shared = next((index for index, (a, b) in pairs if a != b), min(len(value), len(other)))
        start = max(0, shared - _LEAD)
    return ("..." if start else "") + value[start : start + _MAX_TEXT]


def _likeness(ours: str, theirs: str) -> float:
    left, right = _pairs(ours.casefold()), _pairs(theirs.casefold())
    union = len(left | right)
    return len(left & right) / union if union else 1.0


def _pairs(text: str) -> set[str]:
    return {text[index : index + 2] for index in range(max(1, len(text) - 1))}


def _leaves(value: Json) -> dict[str, Json]:
    found: dict[str, Json] = {}
    # An explicit stack keeps hostile nesting off the interpreter's own.
    stack: list[tuple[str, Json]] = [("", value)]
    while stack and len(found) < _MAX_LEAVES:
        path, item = stack.pop()
        if isinstance(item, dict) and item:
            children = [(f"{path}.{name}" if path else str(name), item[name]) for name in sorted(item)]
            stack.extend(reversed(children))
        elif isinstance(item, (list, tuple)) and item:
            stack.extend(reversed([(f"{path}[{index}]", child) for index, child in enumerate(item)]))
        else:
            # An empty tuple and the empty list it was read back as are one JSON value.
            found[path] = [] if isinstance(item, tuple) else item
    return found
