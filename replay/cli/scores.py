"""Scores for eyes: compat and strict side by side, each with its denominator and interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from replay.cli.details import show_details
from replay.cli.exits import CHECK_EXIT, MISS_EXIT
from replay.cli.screen import Screen, count_of, render_table
from replay.core.types import Json

if TYPE_CHECKING:
    from replay.wiring.summaries import RunSummary

__all__ = ["exit_code_of", "show_summary"]

_SHOWN: Final = 6
"""Tasks named a kind; all of them with --json."""


def show_summary(summary: RunSummary, screen: Screen, *, groups: bool = True) -> None:
    """Print what was planned, scored and left unscored, the scores, and where the answers came from."""
    unscored = ", ".join(f"{reason} {count}" for reason, count in summary.unscored.items()) or "0"
    screen.say(f"candidate  {summary.candidate}")
    screen.say(f"planned {summary.planned}  scored {summary.scored}  unscored {unscored}")
    if exit_code_of(summary) == CHECK_EXIT:
        screen.log(f"replay: nothing was scored: {unscored}")
    header = ("score", "rules", "value", "std", "95 % interval", "n", "planned", "missing", "unsure")
    screen.say(render_table(header, _rows(summary, groups=groups)))
    show_details(summary, screen)
    screen.say(f"provenance {_shares(summary.provenance)}")
    _show_differing(summary, screen)
    _show_flagged(summary, screen)


def exit_code_of(summary: RunSummary) -> int:
    """0; 4 when something that was asked for is not recorded; 1 when nothing at all could be scored."""
    if any(reason.endswith("-miss") for reason in summary.unscored):
        return MISS_EXIT
    return CHECK_EXIT if summary.planned and not summary.scored else 0


def _rows(summary: RunSummary, *, groups: bool) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for side in ("compat", "strict"):
        for name, metric in summary.scores.get(side, {}).items():
            rows.append(_row(name, side, metric))
            parts = metric.get("groups", {}).items() if groups else ()
            # A group without any score says nothing that the missing column above does not.
            rows += [_row(f"  {group}", side, part) for group, part in parts if part["value"] is not None]
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


def _show_differing(summary: RunSummary, screen: Screen) -> None:
    """Count the items by metric and reason, and name the first tasks of each."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for item in summary.differing:
        kinds.setdefault((item["metric"], item["difference"]), []).append(item["task"])
    if kinds:
        tasks = len({item["task"] for item in summary.differing})
        screen.say(f"compat and strict differ on {count_of(tasks, 'task')}:")
    for (metric, reason), named in sorted(kinds.items()):
        screen.say(f"  {metric}  {reason}  {len(named)}: {_first(named)}")


def _show_flagged(summary: RunSummary, screen: Screen) -> None:
    kinds: dict[str, list[str]] = {}
    for item in summary.flagged:
        for flag in item["flags"]:
            kinds.setdefault(flag, []).append(item["task"])
    if kinds:
        screen.say(f"{count_of(len(summary.flagged), 'task')} with data errors or oddities:")
    for flag, named in sorted(kinds.items()):
        screen.say(f"  {flag}  {len(named)}: {_first(named)}")


def _first(tasks: list[str]) -> str:
    return ", ".join(tasks[:_SHOWN]) + (", ..." if len(tasks) > _SHOWN else "")
