"""Options that several commands share, so that one word means one thing everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replay.core.errors import UsageError
from replay.core.types import Json

__all__ = [
    "Archive",
    "Bases",
    "Home",
    "JsonFlag",
    "Judge",
    "Limit",
    "Options",
    "Reference",
    "Select",
    "parse_options",
]

Archive = Annotated[
    str, typer.Argument(help="A .replay file, or the name of a shipped archive or its benchmark.")
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, errors included.")]
Home = Annotated[
    Path | None,
    typer.Option("--home", help="Folder for rebuildable stores [default: $REPLAY_HOME or the user cache]."),
]
Bases = Annotated[
    list[Path] | None, typer.Option("--base", help="A base archive of a layered one; may be repeated.")
]
Select = Annotated[
    list[str] | None,
    typer.Option("--select", help="Glob over task id, split or split/id; may be repeated."),
]
Limit = Annotated[int | None, typer.Option("--limit", help="At most so many tasks.")]
Judge = Annotated[str, typer.Option("--judge", help="Name of the judge whose recorded verdicts are read.")]
Reference = Annotated[
    str, typer.Option("--reference", help="Candidate whose outputs preferences compare with.")
]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", help="NAME=VALUE of the benchmark (VALUE is JSON or text); may be repeated."),
]


def parse_options(words: list[str] | None) -> dict[str, Json]:
    """Read NAME=VALUE words; a value that is no JSON is text. Errors: UsageError."""
    from replay.core.canonical import parse_json
    from replay.core.errors import CanonicalError

    options: dict[str, Json] = {}
    for word in words or ():
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"option {word!r} has no value", where="--option", expected="NAME=VALUE")
        try:
            options[name] = parse_json(value)
        except CanonicalError:
            options[name] = value
    return options
