"""`replay score`: score what another harness produced, one line an item."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replay.cli import options as opt
from replay.cli.scores import exit_code_of, show_summary
from replay.cli.screen import Screen
from replay.core.errors import UsageError

if TYPE_CHECKING:
    from replay.core.types import Json
    from replay.wiring.runs import RunRequest

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog="Example: replay score stabletoolbench stb.replay --outputs converted/my_model --json",
    )(score)


def score(
    benchmark: Annotated[str, typer.Argument(help="Name of the benchmark.")],
    archive: opt.Archive,
    outputs: Annotated[
        Path | None, typer.Option(help="Files of another harness, in any form the benchmark knows.")
    ] = None,
    candidate: Annotated[
        str,
        typer.Option(
            "--candidate",
            "--candidate-name",
            help="Which candidate of the outputs, or one whose outputs the archive holds.",
        ),
    ] = "",
    select: opt.Select = None,
    limit: opt.Limit = None,
    rules: opt.Rules = "",
    judge: opt.Judge = "",
    judge_runs: opt.JudgeRuns = None,
    reference: opt.Reference = "",
    option: opt.Options = None,
    base: opt.Bases = None,
    home: opt.Home = None,
    json: opt.JsonFlag = False,
) -> int:
    """Score outputs item by item, officially (compat) and as the paper means it (strict).

    A file of single cases, lines with `category`, `id` and `model_output`, is scored line by line.
    """
    from replay.wiring.modes import STRICT
    from replay.wiring.runs import RunRequest

    request = RunRequest(
        archive=archive,
        candidate=f"outputs:{outputs or ''}",
        candidate_name=candidate,
        judge=judge,
        modes=STRICT,
        select=tuple(select or ()),
        limit=limit,
        home=str(home or ""),
        bases=tuple(map(str, base or ())),
        rules=rules,
        judge_runs=judge_runs,
        reference=reference,
        options=opt.parse_options(option),
    )
    return _execute(request, benchmark, outputs, Screen(json=json))


def _show_cases(lines: tuple[Json, ...], screen: Screen) -> int:
    """One line a case, the counts last; 1 when a verdict is not the expected one or a line has none."""
    for line in lines:
        screen.emit(line)
    counts = lines[-1]
    for line in lines[:-1]:
        if "error" in line or line.get("agrees") is False:
            screen.say(f"line {line['line']}  {line.get('error') or line['verdict']}")
    screen.say(f"cases {counts['cases']}  agree {counts['agree']} of {counts['with_expected_verdict']}")
    return 1 if counts["disagree"] or counts["cannot_be_scored"] else 0


def _refuse_choice(request: RunRequest, outputs: Path | None) -> None:
    """Refuse to choose tasks where single cases are scored, all of them: nobody must believe otherwise."""
    given = {"--select": request.select, "--limit": request.limit, "--candidate": request.candidate_name}
    idle = [name for name, value in given.items() if value]
    if idle:
        raise UsageError(
            f"{', '.join(idle)} means nothing for a file of single cases",
            where=outputs.name if outputs else "",
            expected="every line of it is scored",
        )


def _execute(request: RunRequest, benchmark: str, outputs: Path | None, screen: Screen) -> int:
    from msgspec import to_builtins

    from replay.wiring.scoring import item_line, score_case_file, score_outputs

    cases = None if outputs is None else score_case_file(request, outputs, benchmark=benchmark)
    if cases is not None:
        _refuse_choice(request, outputs)
        return _show_cases(cases, screen)
    with screen.progress("scoring") as advance:
        scored = score_outputs(request, benchmark=benchmark, each=lambda _, done, total: advance(done, total))
    for item in scored.items:
        screen.emit(item_line(item, benchmark))
    screen.emit({"summary": True, "archives": scored.archives, **to_builtins(scored.summary)})
    for name, root in scored.archives.items():
        screen.say(f"archive    {name}  {root}")
    show_summary(scored.summary, screen)
    return exit_code_of(scored.summary)
