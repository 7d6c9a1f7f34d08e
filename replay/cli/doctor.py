"""`replay doctor`: check everything a run will need before it is needed."""

from __future__ import annotations

import typer

from replay.cli import options as opt
from replay.cli.screen import Screen, render_table

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: replay doctor --json")(doctor)


def doctor(home: opt.Home = None, json: opt.JsonFlag = False) -> int:
    """Check packages, keys, the network guard, the place for stores and the shipped archives."""
    from msgspec import to_builtins

    from replay.wiring.doctor import run_checks

    screen = Screen(json=json)
    checks = list(run_checks(home=home))
    failed = [check for check in checks if check.state == "failed"]
    screen.emit({"ok": not failed, "checks": to_builtins(checks)})
    rows = [(check.state, check.name, check.found, check.next_step) for check in checks]
    screen.say(render_table(("state", "check", "found", "next"), rows))
    screen.say("everything is here" if not failed else f"{len(failed)} checks failed")
    return 1 if failed else 0
