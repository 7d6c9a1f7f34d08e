"""result_summary.json: official numbers of each scenario and plain means by category.

Source: upstream cli/utils.py at 165848b. The mean of THREE_DISTRACTION_TOOLS leaves scrambled variants out;
times and the revision of upstream's checkout are not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from replay.benchmarks.toolsandbox.records import AUGMENTATIONS, Ending, Scenario
from replay.benchmarks.toolsandbox.scoring.evaluation import evaluate_ending
from replay.benchmarks.toolsandbox.scoring.rules import OFFICIAL
from replay.core.types import Json

__all__ = ["scenario_result", "summarize_results"]

_ALL: Final = "ALL_CATEGORIES"
_PLAIN: Final = "THREE_DISTRACTION_TOOLS"


def scenario_result(scenario: Scenario, ending: Ending) -> dict[str, Json]:
    """Tell one scenario's official numbers; of one that ended with an exception, upstream's zeros."""
    found = evaluate_ending(scenario, ending, OFFICIAL)
    kind, _, text = (found.crash or found.refused).partition(": ")
    return {
        "name": scenario.name,
        "categories": list(scenario.categories),
        "traceback": f"{kind}: {text}" if kind else None,
        "exception_type": kind or None,
        "milestone_similarity": found.milestone_similarity,
        "minefield_similarity": found.minefield_similarity,
        "similarity": found.similarity,
        "turn_count": found.turn_count,
        "milestone_mapping": _places(found.milestones),
        "minefield_mapping": _places(found.minefields),
    }


def summarize_results(results: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """Join results and their means."""
    names = sorted({name for result in results for name in result["categories"]})
    by_category: dict[str, Json] = {
        name: _means([result for result in results if _counts(result["categories"], name)]) for name in names
    }
    return {
        "per_scenario_results": list(results),
        "category_aggregated_results": {**by_category, _ALL: _means(results)},
        "git_sha": None,
    }


def _counts(categories: Iterable[str], name: str) -> bool:
    held = set(categories)
    return name in held and (name != _PLAIN or held.isdisjoint(AUGMENTATIONS))


def _means(results: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    count = len(results)
    return {
        name: sum(result[name] for result in results) / count if count else None
        for name in ("similarity", "turn_count")
    }


def _places(placed: Mapping[int, tuple[int, float]]) -> dict[str, Json]:
    return {str(number): list(place) for number, place in placed.items()}
