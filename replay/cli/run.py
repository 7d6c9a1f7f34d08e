"""`replay run`: play or replay a benchmark from a frozen archive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import typer

from replay.cli import options as opt
from replay.cli.scores import MISS_EXIT, exit_code_of, show_summary
from replay.cli.screen import Screen
from replay.core.types import Json

if TYPE_CHECKING:
    from replay.wiring.runs import RunReport, RunRequest

__all__ = ["add_to"]

UPSTREAM_EXIT: Final = 7
"""A miss in record mode: no live upstream could answer."""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog="Example: replay run stabletoolbench --candidate cot --mode strict --jobs 2",
    )(run)


def run(
    archive: opt.Archive,
    candidate: opt.Candidate = "",
    mode: opt.GeneralMode = "replay",
    tools: opt.ToolsMode = None,
    candidate_mode: opt.CandidateMode = None,
    user_mode: opt.UserMode = None,
    judge_mode: opt.JudgeMode = None,
    select: opt.Select = None,
    limit: opt.Limit = None,
    trials: opt.Trials = 1,
    jobs: opt.Jobs = 1,
    out: opt.Out = None,
    protocol: opt.CandidateProtocol = "",
    rules: opt.Rules = "",
    judge: opt.Judge = "",
    judge_runs: opt.JudgeRuns = None,
    reference: opt.Reference = "",
    seed: opt.Seed = None,
    option: opt.Options = None,
    candidate_name: opt.CandidateName = "",
    overlay: opt.Overlay = None,
    keep_errors: opt.KeepErrors = False,
    simulator: opt.SimulatorModel = "",
    judge_model: opt.JudgeModel = "",
    user_model: opt.UserModel = "",
    context: opt.ContextTokens = 4096,
    dialect: opt.Dialect = "auto",
    threads: opt.Threads = 0,
    allow_unpinned: opt.AllowUnpinned = False,
    expect_root: opt.ExpectRoot = "",
    base: opt.Bases = None,
    home: opt.Home = None,
    json: opt.JsonFlag = False,
) -> int:
    """Play or replay a benchmark and score it; the same request resumes an unfinished run."""
    from replay.wiring.modes import parse_modes
    from replay.wiring.runs import RunRequest

    modes = parse_modes(mode, tools=tools, candidate=candidate_mode, user=user_mode, judge=judge_mode)
    asked: dict[str, Json] = {"archive": archive, "candidate": candidate, "judge": judge}
    asked |= {"candidate_name": candidate_name, "protocol": protocol, "rules": rules}
    asked |= {"judge_runs": judge_runs, "reference": reference, "limit": limit, "trials": trials}
    asked |= {"jobs": jobs, "seed": seed, "keep_errors": keep_errors, "allow_unpinned": allow_unpinned}
    asked |= {"simulator_model": simulator, "judge_model": judge_model, "user_model": user_model}
    asked |= {
        "context_tokens": context,
        "threads": threads,
        "dialect": dialect,
        "out": str(out or ""),
        "home": str(home or ""),
    }
    asked |= {"select": tuple(select or ()), "bases": tuple(map(str, base or ()))}
    asked |= {"overlay": str(overlay or ""), "options": opt.parse_options(option)}
    return _execute(RunRequest(**asked, modes=modes), Screen(json=json), expect_root)


def _execute(request: RunRequest, screen: Screen, expect_root: str) -> int:
    from replay.wiring.runs import execute_run

    with screen.progress("episodes") as advance:
        report = execute_run(
            request, progress=lambda step: advance(step.done, step.planned, f"task {step.task}")
        )
    screen.emit(report.to_json())
    _show(report, screen)
    report.check(expect_root=expect_root)
    code = exit_code_of(report.summary)
    return UPSTREAM_EXIT if code == MISS_EXIT and request.modes.records else code


def _show(report: RunReport, screen: Screen) -> None:
    inputs, roots, guard = report.manifest.inputs, report.manifest.roots, report.manifest.guard
    for name, root in inputs.archives.items():
        screen.say(f"archive    {name}  {root}")
    show_summary(report.summary, screen)
    screen.say(f"network_attempts {guard.network_attempts if guard else 'unknown'}")
    screen.say(f"run root   {roots.run_root if roots else 'none: the run is not finished'}")
    screen.say(f"run        {report.out}")
    for outcome, count in report.recorded.items():
        screen.say(f"overlay    {count} {outcome}")
    _show_models(report, screen)
    conflicts = report.recorded.get("conflict")
    if conflicts:
        screen.log(
            f"replay: {conflicts} answers differ from an earlier one of this run to the same request; "
            "the first is kept, and an episode that got another will not replay from the overlay"
        )


def _show_models(report: RunReport, screen: Screen) -> None:
    """Tell what local models cost, on standard error: it differs from run to run."""
    for part, cost in report.cost.items():
        screen.log(
            f"cost {part}: {cost.requests} requests, {cost.prompt_tokens} prompt tokens "
            f"({cost.reused_tokens} reused), {cost.generated_tokens} generated, {cost.seconds:.1f} s"
        )
    unpinned = report.manifest.conditions.get("unpinned")
    if unpinned:
        screen.say(
            f"unpinned   {', '.join(unpinned)}: not the pinned build, may not come out again elsewhere"
        )
