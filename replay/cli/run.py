"""`replay run`: play or replay a benchmark from a frozen archive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replay.cli import options as opt
from replay.cli.scores import MISS_EXIT, exit_code_of, show_summary
from replay.cli.screen import Screen

if TYPE_CHECKING:
    from replay.wiring.runs import RunReport, RunRequest

__all__ = ["add_to"]

_MODE_HELP = "strict: recorded answers only. replay: also simulate. record: also live."


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog="Example: replay run stabletoolbench --candidate cot --mode strict --jobs 2",
    )(run)


def run(
    archive: opt.Archive,
    candidate: Annotated[str, typer.Option(help="Recorded name, scripted:FILE, or outputs:PATH.")] = "",
    mode: Annotated[str, typer.Option(help=_MODE_HELP)] = "replay",
    tools: Annotated[str | None, typer.Option(help="Mode of the tools alone.")] = None,
    candidate_mode: Annotated[str | None, typer.Option(help="Mode of the candidate alone.")] = None,
    user_mode: Annotated[str | None, typer.Option(help="Mode of the user simulator alone.")] = None,
    judge_mode: Annotated[str | None, typer.Option(help="Mode of the judge alone.")] = None,
    select: opt.Select = None,
    limit: opt.Limit = None,
    trials: Annotated[int, typer.Option(help="Trials of each task.")] = 1,
    jobs: Annotated[int, typer.Option(help="Worker processes; changes nothing but the time.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Run directory [default: runs/NAME-HASH].")] = None,
    protocol: Annotated[str, typer.Option(help="Candidate protocol, for example CoT@1.")] = "",
    rules: Annotated[str, typer.Option(help="Calling rules: compat or strict.")] = "",
    judge: opt.Judge = "",
    judge_runs: Annotated[int | None, typer.Option(help="Verdicts asked for each answer.")] = None,
    reference: opt.Reference = "",
    seed: Annotated[int | None, typer.Option(help="Run seed; every other seed derives from it.")] = None,
    option: opt.Options = None,
    candidate_name: Annotated[str, typer.Option(help="Which candidate of outputs:PATH.")] = "",
    overlay: Annotated[Path | None, typer.Option(help="Overlay of an earlier run to read.")] = None,
    keep_errors: Annotated[bool, typer.Option("--keep-errors", help="Record error answers too.")] = False,
    expect_root: Annotated[str, typer.Option(help="Fail with exit 8 unless this is the run root.")] = "",
    base: opt.Bases = None,
    home: opt.Home = None,
    json: opt.JsonFlag = False,
) -> int:
    """Play or replay a benchmark and score it; the same request resumes an unfinished run."""
    from replay.core.types import Boundary
    from replay.wiring.modes import parse_modes
    from replay.wiring.runs import RunRequest

    overrides = {
        Boundary.TOOLS: tools,
        Boundary.CANDIDATE: candidate_mode,
        Boundary.USER: user_mode,
        Boundary.JUDGE: judge_mode,
    }
    request = RunRequest(
        archive=archive,
        candidate=candidate,
        candidate_name=candidate_name,
        judge=judge,
        modes=parse_modes(mode, overrides),
        select=tuple(select or ()),
        limit=limit,
        trials=trials,
        jobs=jobs,
        out=str(out or ""),
        home=str(home or ""),
        bases=tuple(map(str, base or ())),
        overlay=str(overlay or ""),
        keep_errors=keep_errors,
        protocol=protocol,
        rules=rules,
        judge_runs=judge_runs,
        reference=reference,
        seed=seed,
        options=opt.parse_options(option),
    )
    return _execute(request, Screen(json=json), expect_root)


def _execute(request: RunRequest, screen: Screen, expect_root: str) -> int:
    from replay.wiring.runs import execute_run

    with screen.progress("episodes") as advance:
        report = execute_run(
            request, progress=lambda step: advance(step.done, step.planned, f"task {step.task}")
        )
    screen.emit(report.to_json())
    _show(report, screen)
    return _check(report, request, expect_root)


def _show(report: RunReport, screen: Screen) -> None:
    inputs, roots, guard = report.manifest.inputs, report.manifest.roots, report.manifest.guard
    for name, root in inputs.archives.items():
        screen.say(f"archive    {name}  {root}")
    show_summary(report.summary, screen)
    screen.say(f"network_attempts {guard.network_attempts if guard else 'unknown'}")
    screen.say(f"run root   {roots.run_root if roots else 'none: the run is not finished'}")
    screen.say(f"run        {report.out}")


def _check(report: RunReport, request: RunRequest, expect_root: str) -> int:
    from replay.core.errors import DivergedError, NetworkBlockedError

    found = report.manifest.roots.run_root if report.manifest.roots else "none"
    guard = report.manifest.guard
    if guard is not None and guard.network_attempts:
        raise NetworkBlockedError(
            f"{guard.network_attempts} calls reached for the network; the run is void",
            where=report.out,
            expected="an offline run",
            next_step=f"see {report.out}/timings.jsonl for the episodes",
        )
    if expect_root and found != expect_root:
        raise DivergedError(
            f"run root {found}",
            where=report.out,
            expected=expect_root,
            next_step="replay compare THIS_RUN THE_RECORDED_RUN names the first differing step",
        )
    code = exit_code_of(report.summary)
    return 7 if code == MISS_EXIT and request.modes.records else code
