"""`replay shipped`: replay every shipped archive and compare with the recorded run roots."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replay.cli import options as opt
from replay.cli.scores import show_summary
from replay.cli.screen import Screen
from replay.core.types import Json

if TYPE_CHECKING:
    from replay.wiring.shipped import ShippedRun

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: replay shipped --jobs 2")(shipped)


def shipped(
    jobs: opt.Jobs = 1,
    out: Annotated[Path | None, typer.Option(help="Keep the run directories here.")] = None,
    home: opt.Home = None,
    json: opt.JsonFlag = False,
) -> int:
    """Replay every shipped archive in strict mode; exit 8 unless every root is the recorded one."""
    screen = Screen(json=json)
    if out is not None:
        return _replay(out, screen, jobs, home)
    with tempfile.TemporaryDirectory(prefix="replay-") as folder:
        return _replay(Path(folder), screen, jobs, home)


def _replay(out: Path, screen: Screen, jobs: int, home: Path | None) -> int:
    from replay.core.errors import DivergedError
    from replay.wiring.shipped import Place, replay_shipped

    results: list[ShippedRun] = []
    for result in replay_shipped(
        Place(out=out, home=home, jobs=jobs),
        starting=lambda run: screen.log(f"[replay] {run.archive}, candidate {run.candidate}, strict"),
    ):
        _show(result, screen)
        results.append(result)
    screen.emit({"ok": all(result.ok for result in results), "runs": [_document(r) for r in results]})
    bad = [result for result in results if not result.ok]
    if bad:
        raise DivergedError(
            f"{len(bad)} of {len(results)} shipped runs do not have their recorded root",
            where=", ".join(f"{r.expected.archive} {r.expected.candidate}" for r in bad),
            expected="the roots in run-roots.json",
            next_step="replay doctor; then compare the run directories (--out) with those of a good machine",
        )
    screen.say(f"all {len(results)} shipped runs have their recorded roots")
    return 0


def _show(result: ShippedRun, screen: Screen) -> None:
    expected, roots = result.expected, result.report.manifest.roots
    guard = result.report.manifest.guard
    screen.say(f"archive    {expected.archive}")
    screen.say(f"  root     {result.archive_root}")
    screen.say(f"  expected {expected.archive_root}")
    show_summary(result.report.summary, screen, groups=False)
    screen.say(f"network_attempts {guard.network_attempts if guard else 'unknown'}")
    screen.say(f"run root   {roots.run_root if roots else 'none'}")
    screen.say(f"  expected {expected.run_root}  {'equal' if result.ok else 'DIFFERENT'}")
    screen.say("")


def _document(result: ShippedRun) -> dict[str, Json]:
    return {
        "archive": result.expected.archive,
        "archive_root": result.archive_root,
        "expected_archive_root": result.expected.archive_root,
        "expected_run_root": result.expected.run_root,
        "ok": result.ok,
        **result.report.to_json(),
    }
