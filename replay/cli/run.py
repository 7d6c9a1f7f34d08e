"""`replay run`: play or replay a benchmark from a frozen archive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from replay.cli import options as opt
from replay.cli.exits import CHECK_EXIT, MISS_EXIT, UPSTREAM_EXIT
from replay.cli.scores import exit_code_of, show_summary
from replay.cli.screen import Screen, count_of, freezing_line
from replay.cli.upstream import compare_live, record_wanted
from replay.core.errors import UsageError

if TYPE_CHECKING:
    from replay.core.types import Json
    from replay.wiring.runs import RunReport, RunRequest

__all__ = ["add_to"]

_MOST_TOOLS: Final = 5


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
    upstream: opt.UpstreamFile = None,
    want: opt.WantList = None,
    check_upstream: opt.CheckUpstream = False,
    keep_errors: opt.KeepErrors = False,
    without: opt.Without = None,
    fresh: opt.Fresh = False,
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
    request, screen = _request(locals()), Screen(json=json)
    if want is not None and check_upstream:
        raise UsageError("--want records and --check-upstream does not", expected="one of the two")
    if want is not None:
        return record_wanted(request, want, screen)
    return compare_live(request, screen) if check_upstream else _execute(request, screen, expect_root)


_MODES: Final = ("tools", "candidate_mode", "user_mode", "judge_mode")
_NOT_ASKED: Final = ("mode", "json", "expect_root", "option", "want", "check_upstream")
_NAMES: Final = {
    "simulator": "simulator_model",
    "context": "context_tokens",
    "base": "bases",
}
"""Options whose word differs from the request's."""


def _request(words: dict[str, Any]) -> RunRequest:
    """Turn the command's words, by parameter, into what the run is asked for."""
    from replay.wiring.modes import parse_modes
    from replay.wiring.runs import RunRequest

    boundaries = {name.removesuffix("_mode"): words[name] for name in _MODES}
    modes = parse_modes(words["mode"], **boundaries)
    asked = {
        _NAMES.get(name, name): _plain(word)
        for name, word in words.items()
        if word is not None and name not in (*_MODES, *_NOT_ASKED)
    }
    return RunRequest(**asked, modes=modes, options=opt.parse_options(words["option"]))


def _plain(word: Any) -> Any:
    """Write paths as text and lists as tuples, as a request holds them."""
    if isinstance(word, list):
        return tuple(map(str, word))
    return str(word) if isinstance(word, Path) else word


def _execute(request: RunRequest, screen: Screen, expect_root: str) -> int:
    from replay.wiring.runs import execute_run

    with screen.progress("episodes") as advance:
        report = execute_run(
            request, progress=lambda step: advance(step.done, step.planned, f"task {step.task}")
        )
    if report.kept:
        kept = count_of(report.kept, "episode")
        screen.log(f"replay: {kept} of {report.out} kept as played before; a new --out folder plays anew")
    screen.emit(report.to_json())
    _show(report, request.archive, screen)
    _show_misses(report, request.archive, screen)
    report.check(expect_root=expect_root)
    code = exit_code_of(report.summary)
    if code == MISS_EXIT and request.modes.records:
        _show_uncovered(report, request.upstream, screen)
        return UPSTREAM_EXIT
    if not code and request.upstream and not report.has_recorded:
        screen.log("replay: nothing was recorded; everything the run asked for was recorded before")
        return CHECK_EXIT
    return code


def _show(report: RunReport, archive: str, screen: Screen) -> None:
    from replay.wiring.library import find_archive

    inputs, roots, guard = report.manifest.inputs, report.manifest.roots, report.manifest.guard
    for name, root in inputs.archives.items():
        screen.say(f"archive    {name}  {root}")
    for line in _settings(report):
        screen.say(line)
    show_summary(report.summary, screen)
    screen.say(f"network_attempts {guard.network_attempts if guard else 'unknown'}")
    screen.say(f"run root   {roots.run_root if roots else 'none: the run is not finished'}")
    screen.say(f"run        {report.out}")
    for outcome, count in report.recorded.items():
        screen.say(f"overlay    {count} {outcome}")
    if report.recorded:
        screen.say(freezing_line(f"{report.out}/overlay", find_archive(archive)))
    _show_models(report, screen)
    conflicts = report.recorded.get("conflict")
    if conflicts:
        screen.log(
            f"replay: {conflicts} answers differ from an earlier one of this run to the same request; "
            "the first is kept, and an episode that got another will not replay from the overlay"
        )


def _settings(report: RunReport) -> Iterator[str]:
    """Tell what was played by: a recorded candidate brings its own along."""
    settings = report.manifest.inputs.settings
    yield f"settings   protocol {settings.protocol or 'none'}, rules {settings.rules}, seed {settings.seed}"
    if settings.options:
        yield "options    " + ", ".join(
            f"{name} {_word(value)}" for name, value in sorted(settings.options.items())
        )


def _word(value: Json) -> str:
    """Write a value as it is given to --option: a text bare, all else as JSON."""
    import msgspec

    return value if isinstance(value, str) and value else msgspec.json.encode(value).decode()


def _show_misses(report: RunReport, archive: str, screen: Screen) -> None:
    """Say where the misses are listed, and how a user is named where one was missed."""
    users = report.summary.unscored.get("user-miss")
    if users:
        missing = count_of(users, "episode")
        screen.say(f"user       missing in {missing}: name one with --user-model; those recorded:")
        screen.say(f"           replay archive list {archive} --table users")
    code = exit_code_of(report.summary)
    if code == MISS_EXIT:
        screen.say(f"misses     replay misses {report.out}")
    if code == CHECK_EXIT:
        screen.say(f"reasons    replay explain {report.out} TASK")


def _show_models(report: RunReport, screen: Screen) -> None:
    """Tell what local models cost, on standard error: it differs from run to run."""
    for part, cost in report.cost.items():
        screen.log(
            f"cost {part}: {cost.requests} requests, {cost.prompt_tokens} prompt tokens "
            f"({cost.reused_tokens} reused), {cost.generated_tokens} generated, {cost.seconds:.1f} s"
        )
        if cost.overflowed:
            screen.log(
                f"context {part}: {cost.overflowed} of {cost.requests} requests had no room in it, "
                "so they have no answer; --context takes more"
            )
    unpinned = report.manifest.conditions.get("unpinned")
    if unpinned:
        screen.say(
            f"unpinned   {', '.join(unpinned)}: not the pinned build, may not come out again elsewhere"
        )


def _show_uncovered(report: RunReport, upstream: str, screen: Screen) -> None:
    """Name the missed tools that were asked of nobody: recording again would miss them again."""
    from replay.wiring.upstream_calls import list_uncovered

    tools = list_uncovered(Path(report.out), Path(upstream)) if upstream else ()
    for tool in tools[:_MOST_TOOLS]:
        screen.log(f"replay: no upstream of {upstream} answers {tool}: no `tools` and `routes` cover it")
    if len(tools) > _MOST_TOOLS:
        screen.log(f"replay: and {count_of(len(tools) - _MOST_TOOLS, 'tool')} more")
