"""`replay verify`, `compare`, `explain`, `misses`, `export`: looking at what is there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replay.cli import options as opt
from replay.cli.screen import Screen, count_of, render_table
from replay.core.errors import UsageError
from replay.core.types import Json

if TYPE_CHECKING:
    from replay.wiring.recomputing import Recomputed
    from replay.wiring.reopening import RunSources

__all__ = ["add_to", "report_archive"]

_SHOWN_FINDINGS = 20


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: replay verify runs/my-run --recompute")(verify)
    app.command(epilog="Example: replay compare runs/a runs/b")(compare)
    app.command(epilog="Example: replay explain runs/my-run 588")(explain)
    app.command(epilog="Example: replay misses runs/my-run -o want-list.json")(misses)
    app.command(epilog="Example: replay export runs/my-run --form converted -o answers/")(export)


def verify(
    path: Annotated[Path, typer.Argument(help="A .replay file or a run directory.")],
    sample: Annotated[float | None, typer.Option(help="Archives: check only this share (0..1).")] = None,
    recompute: Annotated[
        bool,
        typer.Option(
            "--recompute",
            help="Compute generated answers again where their model is here; runs: play every episode again.",
        ),
    ] = False,
    key: Annotated[
        list[Path] | None, typer.Option(help="Archives: public key that must have signed.")
    ] = None,
    archive: opt.RunArchive = "",
    candidate: opt.RunCandidate = "",
    overlay: opt.RunOverlay = None,
    base: opt.Bases = None,
    home: opt.Home = None,
    json: opt.JsonFlag = False,
) -> int:
    """Check an archive or a run: re-hash everything, score again, recompute on request."""
    from replay.wiring.reopening import RunSources

    screen = Screen(json=json)
    if path.is_dir():
        _refuse(path, "a run", {"--sample": sample is not None, "--key": key})
        sources = RunSources(
            archive=archive, bases=tuple(base or ()), overlay=overlay, candidate=candidate, home=home
        )
        return _verify_run(path, screen, sources, recompute=recompute)
    of_runs: dict[str, object] = {"--archive": archive, "--candidate": candidate, "--overlay": overlay}
    of_runs["--base"] = base
    _refuse(path, "an archive", of_runs)
    return report_archive(path, screen, sample=sample, keys=tuple(key or ()), recompute=recompute, home=home)


def compare(
    left: Annotated[Path, typer.Argument(help="A run directory.")],
    right: Annotated[Path, typer.Argument(help="Another run directory.")],
    content: Annotated[
        bool,
        typer.Option(
            "--content",
            help="Exit 0 when every step, verdict and score is the same, whatever the "
            "inputs: a live run and a strict run of the layer frozen from it.",
        ),
    ] = False,
    json: opt.JsonFlag = False,
) -> int:
    """Compare two runs: first differing step, changed verdicts, metric deltas; exit 1 when they differ."""
    from replay.wiring.comparing import compare_runs

    screen = Screen(json=json)
    found = compare_runs(left, right)
    screen.emit(found.to_json())
    screen.say(f"left   {found.left_root}")
    screen.say(f"right  {found.right_root}")
    for line in found.lines():
        screen.say(line)
    return 0 if found.is_same or (content and found.same_content) else 1


def explain(
    place: Annotated[str, typer.Argument(help="A run directory, or an archive.")],
    what: Annotated[str, typer.Argument(help="A task id of the run, or a key of the archive.")],
    trial: Annotated[int, typer.Option(min=0, help="Which trial of the task.")] = 0,
    home: opt.Home = None,
    json: opt.JsonFlag = False,
) -> int:
    """Show how an answer came about: key and preimage, source, provenance, verdicts and their evidence."""
    from replay.wiring.explaining import explain_key, explain_task

    screen = Screen(json=json)
    if Path(place).is_dir():
        document = explain_task(Path(place), what, trial=trial)
    else:
        document = explain_key(place, what, home=home)
    screen.emit(document)
    for line in _lines(document, ""):
        screen.say(line)
    return 0


def misses(
    run: Annotated[Path, typer.Argument(help="A run directory.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the want list here, as JSON.")
    ] = None,
    json: opt.JsonFlag = False,
) -> int:
    """List what a run missed: what a connected site should record. Exit 4 when there is anything."""
    from replay.wiring.documents import write_document
    from replay.wiring.explaining import list_misses

    screen = Screen(json=json)
    document = list_misses(run)
    if output is not None:
        write_document(output, document)
        screen.log(f"want list written: {len(document['wants'])} entries")
    screen.emit(document)
    for want in document["wants"]:
        screen.say(f"task {want['task']} trial {want['trial']}  {want['stop']}: {want['detail']}")
    screen.say(f"{len(document['wants'])} misses")
    return 4 if document["wants"] else 0


def export(
    run: Annotated[Path, typer.Argument(help="A run directory.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to.")],
    form: Annotated[str, typer.Option(help="Form of the files; a wrong name lists all.")] = "",
    archive: opt.RunArchive = "",
    base: opt.Bases = None,
    home: opt.Home = None,
    json: opt.JsonFlag = False,
) -> int:
    """Write a run's outcomes in the benchmark's own file forms, for its upstream tools."""
    from replay.wiring.explaining import export_run
    from replay.wiring.reopening import RunSources

    screen = Screen(json=json)
    files = export_run(
        run, output, RunSources(archive=archive, bases=tuple(base or ()), home=home), form=form
    )
    screen.emit({"files": [path.relative_to(output).as_posix() for path in files]})
    screen.say(f"{count_of(len(files), 'file')} in {output}")
    return 0


def report_archive(
    path: Path,
    screen: Screen,
    *,
    sample: float | None,
    keys: tuple[Path, ...],
    recompute: bool = False,
    home: Path | None = None,
) -> int:
    """Verify an archive and its signatures and print every finding; 5 when damaged, 1 when not signed."""
    from msgspec import to_builtins

    from replay.wiring.archives import check_archive, recompute_archive

    checked = check_archive(path, sample=sample, keys=keys)
    if recompute:
        with screen.progress("answers") as advance:
            checked = recompute_archive(checked, path, sample=sample, home=home, progress=advance)
    report, signed = checked.report, checked.signatures
    document = {**to_builtins(report), "ok": report.ok}
    if signed is not None:
        document["signature"] = to_builtins(signed)
    if checked.answers is not None:
        document["answers"] = to_builtins(checked.answers)
    screen.emit(document)
    screen.say(f"{report.name} {report.version}  {report.root}")
    screen.say(f"{report.rows_checked} of {report.rows_total} rows checked: {report.covered}")
    for finding in report.findings[:_SHOWN_FINDINGS]:
        screen.say(f"damaged: {finding.member} {finding.record} {finding.what}".replace("  ", " "))
    if len(report.findings) > _SHOWN_FINDINGS:
        screen.say(f"and {len(report.findings) - _SHOWN_FINDINGS} more findings, all of them with --json")
    if signed is not None:
        screen.say("signatures hold" if signed.valid else "signatures do not hold")
        for reason in signed.reasons:
            screen.say(f"  {reason}")
    if checked.answers is not None:
        _show_answers(checked.answers, screen)
    # An archive that the wrong people signed is whole, and not ok.
    whole = "ok" if checked.exit_code == 0 else "what was checked is as frozen, but see above"
    screen.say(whole if report.ok else count_of(len(report.findings), "finding"))
    return checked.exit_code


def _refuse(path: Path, what: str, options: dict[str, object]) -> None:
    """Refuse options that would be without effect: nobody must believe that something was checked."""
    given = [name for name, value in options.items() if value]
    if given:
        raise UsageError(
            f"{', '.join(given)} means nothing for {what}", where=str(path), next_step="replay verify --help"
        )


def _verify_run(path: Path, screen: Screen, sources: RunSources, *, recompute: bool) -> int:
    from replay.wiring.checking import check_run

    with screen.progress("episodes") as advance:
        found = check_run(path, sources, recompute=recompute, progress=advance)
    screen.emit(found.to_json())
    screen.say(f"run root {found.root}")
    screen.say(
        f"{count_of(found.episodes, 'episode')} re-hashed, {found.rescored} scored again, "
        f"{found.recomputed} played again"
    )
    if found.not_rescored:
        screen.say(f"not scored again: {found.not_rescored}")
    if recompute:
        _show_answers(found.answers, screen)
    named = (*found.findings, *found.diverged)
    rows = [(item.member, item.record, item.what) for item in named[:_SHOWN_FINDINGS]]
    if rows:
        screen.say(render_table(("file", "record", "finding"), rows))
    if len(named) > _SHOWN_FINDINGS:
        screen.say(f"and {len(named) - _SHOWN_FINDINGS} more, all of them with --json")
    findings, diverged = len(found.findings), len(found.diverged)
    counts = f"{count_of(findings, 'finding')}, {count_of(diverged, 'episode')} came out differently"
    if found.answers.differ:
        counts += f", and so did {count_of(len(found.answers.differ), 'generated answer')}"
    screen.say("ok" if found.ok else counts)
    return found.exit_code


def _show_answers(answers: Recomputed, screen: Screen) -> None:
    """Say which generated answers were computed again here, and why the others could not be."""
    screen.say(f"{answers.recomputed} of {answers.generated} generated answers computed again")
    for reason, count in answers.elsewhere.items():
        screen.say(f"  {count} not here: {reason}")
    for finding in answers.differ[:_SHOWN_FINDINGS]:
        screen.say(f"  {finding.record} {finding.what}")


def _lines(value: Json, indent: str) -> list[str]:
    """Lay a document out for eyes, one leaf a line."""
    if isinstance(value, dict):
        pairs = [(f"{name}:", item) for name, item in value.items()]
    elif isinstance(value, (list, tuple)):
        pairs = [("-", item) for item in value]
    else:
        return [f"{indent}{_leaf(value)}"]
    lines: list[str] = []
    for head, item in pairs:
        if isinstance(item, (dict, list, tuple)) and item:
            lines += [f"{indent}{head}", *_lines(item, indent + "  ")]
        else:
            lines.append(f"{indent}{head} {_leaf(item)}".rstrip())
    return lines


def _leaf(value: Json) -> str:
    """One value as it would stand in JSON, texts without their quotes; what is empty is a dash."""
    if value is None or value in ({}, [], ()):
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)
