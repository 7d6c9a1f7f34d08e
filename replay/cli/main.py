"""The command `replay`: commands, the error boundary, exit codes.

Commands import what they need when they run, so that `replay --help` stays under 0.3 s.
"""

from __future__ import annotations

import functools
import io
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import typer

from replay import __version__
from replay.cli import archive, checks, doctor, imports, models, run, score, serve, shipped
from replay.cli.screen import Screen
from replay.core.errors import InternalError, ReplayError, UsageError

__all__ = ["app", "main"]

INTERRUPTED: Final = 130
"""Exit code after Ctrl-C, as shells have it."""

app = typer.Typer(
    name="replay",
    help="Replay frozen LLM tool-use benchmarks offline, with the same bits every time.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(value: bool) -> None:
    if value:
        sys.stdout.write(f"replay {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Replay frozen LLM tool-use benchmarks offline, with the same bits every time."""
    del version


for _module in (run, score, checks, imports, shipped, serve, doctor):
    _module.add_to(app)
app.add_typer(archive.app, name="archive")
app.add_typer(models.app, name="models")


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code; the console script's entry point exits with it."""
    words = sys.argv[1:] if arguments is None else arguments
    screen = Screen(json="--json" in words)
    try:
        code = _invoke(words)
        screen.flush()
    except ReplayError as error:
        screen.fail(error)
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        screen.log("replay: interrupted; a run directory can be resumed by the same command")
        return INTERRUPTED
    except typer.exceptions.TyperException as error:
        screen.fail(_usage(error))
        return UsageError.exit_code
    except Exception as error:  # noqa: BLE001  the one boundary where a bug becomes a message
        screen.fail(_bug(error))
        return InternalError.exit_code
    return code if isinstance(code, int) else 0


@functools.cache
def _command() -> Callable[..., object]:
    """The commands with their options, worked out once however many lines are run in one process."""
    return typer.main.get_command(app)


def _invoke(words: list[str]) -> object:
    code = _command()(args=words, prog_name=app.info.name, standalone_mode=False)
    if code == INTERRUPTED:
        # typer has caught Ctrl-C and made an exit of it.
        raise KeyboardInterrupt
    return code


def _usage(error: typer.exceptions.TyperException) -> UsageError:
    context = getattr(error, "ctx", None)
    if context is None:
        return UsageError(error.format_message().rstrip("."), next_step="replay --help")
    commands = list(getattr(context.command, "commands", ()))
    return UsageError(
        error.format_message().rstrip("."),
        expected=f"one of: {', '.join(commands)}" if commands else "",
        next_step=f"{context.command_path} --help",
    )


def _bug(error: Exception) -> InternalError:
    """Say what broke and where, without a path of this machine."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames[-3:]]
    return InternalError(
        f"internal error, {type(error).__name__}: {error}",
        where=" < ".join(reversed(places)),
        next_step="this is our bug: please report it with this line and the command",
    )


def script() -> None:
    """Run as the console script; what is printed is UTF-8 whatever the locale: the same bytes everywhere."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A path that is no UTF-8 goes out as the bytes it came in as.
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    raise SystemExit(main())
