"""Scores for eyes: compat and strict side by side, each with its denominator and interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from replay.cli.screen import Screen, render_table
from replay.core.types import Json

if TYPE_CHECKING:
    from replay.wiring.summaries import RunSummary

__all__ = ["MISS_EXIT", "exit_code_of", "show_summary"]

MISS_EXIT: Final = 4

_SHOWN: Final = 12


def show_summary(summary: RunSummary, screen: Screen) -> None:
    """Print what was planned, scored and left unscored, the scores, and where the answers came from."""
    unscored = ", ".join(f"{reason} {count}" for reason, count in summary.unscored.items()) or "0"
    screen.say(f"candidate  {summary.candidate}")
    screen.say(f"planned {summary.planned}  scored {summary.scored}  unscored {unscored}")
    header = ("score", "rules", "value", "std", "95 % interval", "n", "planned", "missing", "unsure")
    screen.say(render_table(header, _rows(summary)))
    screen.say(f"provenance {_shares(summary.provenance)}")
    _show_items("items on which compat and strict differ", summary.differing, screen)
    _show_items("tasks with data errors", summary.flagged, screen)


def exit_code_of(summary: RunSummary) -> int:
    """0, or 4 when something that was asked for is not recorded."""
    return MISS_EXIT if any(reason.endswith("-miss") for reason in summary.unscored) else 0


def _rows(summary: RunSummary) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for side in ("compat", "strict"):
        for name, metric in summary.scores.get(side, {}).items():
            rows.append(_row(name, side, metric))
            rows += [_row(f"  {group}", side, part) for group, part in metric.get("groups", {}).items()]
    return rows


def _row(name: str, side: str, metric: Json) -> tuple[str, ...]:
    interval = metric.get("interval")
    counts = (str(metric[field]) for field in ("n", "planned", "missing", "abstained"))
    shown = "-" if interval is None else f"{interval[0]:.1f} .. {interval[1]:.1f}"
    return (name, side, _number(metric.get("value")), _number(metric.get("std")), shown, *counts)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _shares(counts: dict[str, int]) -> str:
    total = sum(counts.values())
    return (
        ", ".join(f"{name} {count} ({count / total:.1%})" for name, count in counts.items()) or "no answers"
    )


def _show_items(title: str, items: tuple[Json, ...], screen: Screen) -> None:
    if not items:
        return
    screen.say(f"{title}: {len(items)}")
    for item in items[:_SHOWN]:
        screen.say(
            "  " + "  ".join(f"{name}={value}" for name, value in item.items() if value not in (None, ""))
        )
    if len(items) > _SHOWN:
        screen.say(f"  and {len(items) - _SHOWN} more, all of them with --json")
