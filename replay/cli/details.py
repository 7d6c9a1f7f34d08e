"""What stands behind a figure, one line each: its scope, its baselines, and what it is made of.

A summary holds them under `detail`; the names are those of the benchmarks, and a detail without a line here
is in `--json`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from replay.cli.screen import Screen, count_of
from replay.core.types import Json

if TYPE_CHECKING:
    from replay.wiring.summaries import RunSummary

__all__ = ["show_details"]

_SCOPE_WIDTH: Final = 32
"""Characters of a part of a scope; digests are longer, and told apart by fewer."""

_SHOWN: Final = 6
"""Names of one list; all of them with --json."""


def show_details(summary: RunSummary, screen: Screen) -> None:
    """Print scope, baselines and details of every figure that has some."""
    metrics = list(_metrics(summary))
    scope = next((detail["scope"] for _, detail in metrics if detail.get("scope")), None)
    if scope is not None:
        # Figures of another scope must not be put beside these.
        shown = ", ".join(f"{name} {str(value)[:_SCOPE_WIDTH]}" for name, value in sorted(scope.items()))
        screen.say(f"scope      {shown}")
    for title, detail in metrics:
        baselines = detail.get("baselines")
        if isinstance(baselines, dict) and baselines:
            shown = ", ".join(f"{name} {value:.1f}" for name, value in sorted(baselines.items()))
            screen.say(f"baselines  {title}: {shown}")
    for title, detail in metrics:
        parts = list(_parts(detail))
        if parts:
            screen.say(f"details    {title}: {'; '.join(parts)}")


def _metrics(summary: RunSummary) -> Iterator[tuple[str, dict[str, Json]]]:
    """Every metric that has details: name with its rules, details."""
    for side, metrics in summary.scores.items():
        for name, metric in metrics.items():
            if isinstance(metric.get("detail"), dict):
                yield f"{name} ({side})", metric["detail"]


def _parts(detail: Mapping[str, Json]) -> Iterator[str]:
    if detail.get("undetermined"):
        yield f"undetermined {detail['undetermined']} ({detail['undetermined_share']:.1f} %)"
    if detail.get("bounds"):
        yield "bounds {:.1f} .. {:.1f}".format(*detail["bounds"])
    for name in ("results", "errors"):
        if detail.get(name):
            yield f"{name} " + _listed([f"{what} {count}" for what, count in detail[name].items()])
    if detail.get("withheld"):
        yield f"no value: {detail['withheld']}"
    missing = detail.get("missing_categories")
    if missing:
        kinds = count_of(len(missing), "kind")
        yield f"no task is planned of {kinds} ({_listed(missing)}): strict has no value then, compat takes 0"
    weighed = {name: detail.get(f"by_{name}") for name in ("sessions", "turns")}
    if all(value is not None for value in weighed.values()):
        yield ", ".join(f"weighed by {name} {value:.1f}" for name, value in weighed.items())


def _listed(words: list[str]) -> str:
    more = len(words) - _SHOWN
    return ", ".join(words[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
