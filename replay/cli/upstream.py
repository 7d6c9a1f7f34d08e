"""`replay run --want` and `--check-upstream`: upstreams asked without a candidate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import to_builtins

from replay.cli.exits import CHECK_EXIT, UPSTREAM_EXIT

if TYPE_CHECKING:
    from replay.cli.screen import Screen
    from replay.wiring.requests import RunRequest

__all__ = ["compare_live", "record_wanted"]


def record_wanted(request: RunRequest, want: Path, screen: Screen) -> int:
    """Record the calls of a want list; exit 7 when one got no answer, 1 when none is new."""
    from replay.wiring.upstream_calls import record_wants

    report = record_wants(request, want)
    screen.emit({**to_builtins(report), "overlay": str(Path(request.out) / "overlay")})
    for tool, reason in report.failed:
        screen.say(f"failed     {tool}: {reason}")
    for outcome, count in report.recorded.items():
        screen.say(f"overlay    {count} {outcome}")
    if report.not_calls:
        screen.say(f"left out   {report.not_calls} wants of completions or verdicts: run with their model")
    screen.say(f"{report.new} of {report.wanted} wanted answers are new")
    if report.failed:
        return UPSTREAM_EXIT
    return 0 if report.new else CHECK_EXIT


def compare_live(request: RunRequest, screen: Screen) -> int:
    """Compare recorded answers with live ones; exit 1 if one differs or none was asked, 7 if one failed."""
    from replay.wiring.upstream_calls import check_upstream

    report = check_upstream(request)
    differs, failed = report.count("differs"), report.count("failed")
    screen.emit({**to_builtins(report), "same": report.count("same"), "differs": differs, "failed": failed})
    for item in report.items:
        if item.state == "differs":
            screen.say(f"differs    {item.tool} {item.key} at {item.where}")
            screen.say(f"           recorded {item.recorded}")
            screen.say(f"           live     {item.live}")
        elif item.state == "failed":
            screen.say(f"failed     {item.tool} {item.key}: {item.where}")
    screen.say(
        f"{report.count('same')} same, {differs} differ, {failed} failed, {report.left_out} not asked; "
        "nothing was written"
    )
    if not report.items:
        screen.log(
            "replay: nothing was compared: no upstream of the file gives an answer that is recorded here"
        )
        return CHECK_EXIT
    return CHECK_EXIT if differs else UPSTREAM_EXIT if failed else 0
