"""Keys that are not there: which other keys of the same call stand for them under the completion tiers.

Source: spec 6.4, last paragraph. The official evaluator asks only whether the other key holds some concrete
value (defect 1). Differs: with `alternative_values` it must hold the expected one, as far as that is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from replay.benchmarks.codexomics.naming import is_marker_text
from replay.benchmarks.codexomics.scoring.values import ValueRules, is_concrete, scalar_matches
from replay.core.types import Json

__all__ = ["accepts_missing"]

_TARGETS: Final = frozenset({"tracks", "track", "visible_tracks"})


def accepts_missing(
    tool: str, key: str, wanted: Json, received: Mapping[str, Json], rules: ValueRules
) -> str:
    """Name the keys of a call that stand for a missing one; empty when none does."""
    if (tool, key) == ("capture_screenshot", "mode"):
        target = received.get("target")
        return "target" if isinstance(target, str) and target.strip().lower() in _TARGETS else ""
    for names, check in _ALTERNATIVES.get((tool, key), ()):
        if all(is_concrete(received.get(name)) for name in names):
            values = [received[name] for name in names]
            if not rules.rules.alternative_values or check(wanted, values, rules):
                return " + ".join(names)
    return ""


def _same_value(wanted: Json, values: list[Json], rules: ValueRules) -> bool:
    return is_marker_text(wanted) or scalar_matches(wanted, values[0], rules)


def _seen_before(_: Json, values: list[Json], rules: ValueRules) -> bool:
    """A tab is the one meant when an earlier result names it so; unknown results decide nothing."""
    return all(rules.flow.shows(value) for value in values)


_Check = Callable[[Json, list[Json], ValueRules], bool]
_ALTERNATIVES: Final[Mapping[tuple[str, str], tuple[tuple[tuple[str, ...], _Check], ...]]] = {
    ("switch_to_tab", "tabId"): ((("tabName",), _seen_before), (("tabIndex",), _seen_before)),
    ("blast_create_quick_db_for_current_genome", "dbName"): ((("genomeName",), _same_value),),
    ("navigate_to_position", "position"): ((("start",), _same_value),),
    ("navigate_to_position", "start"): ((("position",), _same_value),),
    ("export_bed_format", "exportRange"): ((("startPosition", "endPosition"), _seen_before),),
}
