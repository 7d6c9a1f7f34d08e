"""`replay score`: score what another harness produced, one line an item."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replay.cli import options as opt
from replay.cli.scores import exit_code_of, show_summary
from replay.cli.screen import Screen

if TYPE_CHECKING:
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
    """Score outputs item by item, officially (compat) and as the paper means it (strict)."""
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
    return _execute(request, benchmark, Screen(json=json))


def _execute(request: RunRequest, benchmark: str, screen: Screen) -> int:
    from msgspec import to_builtins

    from replay.wiring.scoring import item_line, score_outputs

    with screen.progress("scoring") as advance:
        scored = score_outputs(request, benchmark=benchmark, each=lambda _, done, total: advance(done, total))
    for item in scored.items:
        screen.emit(item_line(item, benchmark))
    screen.emit({"summary": True, "archives": scored.archives, **to_builtins(scored.summary)})
    for name, root in scored.archives.items():
        screen.say(f"archive    {name}  {root}")
    show_summary(scored.summary, screen)
    return exit_code_of(scored.summary)
