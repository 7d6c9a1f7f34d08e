"""What is known of earlier results when a call is judged: where a value could have come from.

Only the corrected evaluator asks. Nothing known means nothing can be held against the call; the official
evaluator never knows anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from replay.benchmarks.codexomics.naming import parse_reference, placeholder_name
from replay.benchmarks.codexomics.records import ObservedCall
from replay.benchmarks.codexomics.scoring.coercion import is_same
from replay.core.types import Json, Record

__all__ = ["NO_FLOW", "Flow", "flow_before", "leaves"]

_MAX_LEAVES: Final = 10_000
_MAX_DEPTH: Final = 50


class Flow(Record, frozen=True, kw_only=True):
    """Results of earlier calls and facts of the session at its start."""

    results: tuple[tuple[str, Json], ...] = ()
    """Folded tool name and result, in order."""
    facts: dict[str, Json] = msgspec.field(default_factory=dict)
    """Values of placeholders that the fixture fixes, such as current_chromosome."""
    toggled: bool | None = None
    """What the judged call's own result says of a track's visibility; None when it says nothing."""

    def allows(self, marker: str, value: Json) -> bool:
        """Tell whether a value may be what a placeholder or reference stands for."""
        reference = parse_reference(marker)
        if reference is not None:
            known = list(self._values(*reference))
            return not known or any(_agrees(item, value) for item in known)
        name = placeholder_name(marker)
        if name in self.facts:
            return _agrees(self.facts[name], value)
        if name == "created_annotation_id":
            return self.shows(value, "create_annotation")
        return True

    def shows(self, value: Json, tool: str = "") -> bool:
        """Tell whether earlier results (of one tool) hold a value; True when none is known."""
        known = [result for name, result in self.results if not tool or name == tool]
        return not known or any(_agrees(leaf, value) for result in known for leaf in leaves(result))

    def _values(self, tool: str, path: str) -> Iterator[Json]:
        for name, result in self.results:
            if name == tool:
                found = _find(result, path.split("."))
                if found is not None:
                    yield found


NO_FLOW: Final = Flow()


def flow_before(calls: tuple[ObservedCall, ...], index: int, facts: dict[str, Json]) -> Flow:
    """Collect what the calls before one have answered."""
    results = tuple((call.key, call.result) for call in calls[:index] if call.has_result)
    own = calls[index].result if index < len(calls) else None
    visible = own.get("visible") if isinstance(own, dict) else None
    return Flow(results=results, facts=facts, toggled=visible if isinstance(visible, bool) else None)


def leaves(value: Json, depth: int = 0) -> Iterator[Json]:
    """Every value inside a result that is no object, and every list as a whole."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, dict):
        for item in value.values():
            yield from leaves(item, depth + 1)
    elif isinstance(value, list):
        yield value
        for item in value[:_MAX_LEAVES]:
            yield from leaves(item, depth + 1)
    else:
        yield value


def _find(result: Json, path: list[str]) -> Json:
    """Follow a path; a first part that is not there is looked for one object deeper, as answers wrap data."""
    value = result
    for place, part in enumerate(path):
        if not isinstance(value, dict):
            return None
        if part not in value and place == 0:
            inner = [item for item in value.values() if isinstance(item, dict) and part in item]
            value = inner[0] if inner else value
        if part not in value:
            return None
        value = value[part]
    return value


def _agrees(known: Json, value: Json) -> bool:
    if isinstance(known, str) and isinstance(value, str):
        return known.strip().lower() == value.strip().lower()
    if isinstance(known, (int, float)) and isinstance(value, str):
        return str(known) == value.strip()
    return is_same(known, value)
