"""`replay import`: upstream data becomes one frozen archive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replay.cli import options as opt
from replay.cli.screen import Screen
from replay.core.types import Json

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("import", epilog="Example: replay import stabletoolbench StableToolBench/ -o stb.replay")(
        import_
    )


def import_(
    benchmark: Annotated[str, typer.Argument(help="Name of the benchmark.")],
    source: Annotated[Path, typer.Argument(help="Folder with the benchmark's upstream files.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Archive to write.")],
    name: Annotated[str, typer.Option(help="Name of the archive [default: the benchmark's].")] = "",
    option: opt.Options = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an archive at that place.")] = False,
    report: Annotated[Path | None, typer.Option(help="Write the whole import report here, as JSON.")] = None,
    json: opt.JsonFlag = False,
) -> int:
    """Read upstream data, report everything found and flagged, and freeze it into one archive."""
    from replay.wiring.importing import ImportTarget, import_archive

    screen = Screen(json=json)
    imported = import_archive(
        benchmark,
        source,
        ImportTarget(archive=output, overwrite=overwrite, report=report),
        name=name,
        options=opt.parse_options(option),
    )
    manifest = imported.manifest
    screen.emit(
        {
            "archive": output.name,
            "root": manifest.root,
            "name": manifest.name,
            "version": manifest.version,
            "rows": dict(manifest.counts),
            "report": imported.report,
        }
    )
    screen.say(f"archive  {output}  {manifest.name} {manifest.version}")
    screen.say(f"root     {manifest.root}")
    screen.say("rows     " + ", ".join(f"{table} {rows}" for table, rows in manifest.counts.items()))
    for line in _report_lines(imported.report, ""):
        screen.say(line)
    return 0


def _report_lines(report: Json, indent: str) -> list[str]:
    """Lay the report out as an indented list; long lists are shown by their count and first items."""
    lines: list[str] = []
    for name, value in report.items():
        if isinstance(value, dict) and value:
            lines += [f"{indent}{name}:", *_report_lines(value, indent + "  ")]
        elif isinstance(value, (list, tuple)) and len(value) > _SHOWN:
            shown = ", ".join(_short(item) for item in value[:_SHOWN])
            lines.append(f"{indent}{name}: {len(value)} ({shown}, ...)")
        elif isinstance(value, (list, tuple)):
            lines.append(f"{indent}{name}: {', '.join(_short(item) for item in value) or 'none'}")
        else:
            lines.append(f"{indent}{name}: {'none' if value in ({}, None) else value}")
    return lines


_SHOWN = 8


def _short(item: Json) -> str:
    text = ", ".join(f"{k}={v}" for k, v in item.items()) if isinstance(item, dict) else str(item)
    return text if len(text) <= 100 else f"{text[:100]}..."
