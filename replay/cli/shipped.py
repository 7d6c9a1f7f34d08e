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
    from replay.wiring.live import LiveRun
    from replay.wiring.shipped import Place, ShippedRun

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: replay shipped --jobs 2")(shipped)


def shipped(
    jobs: opt.Jobs = 1,
    live: Annotated[
        bool,
        typer.Option("--live", help="Let the local model answer again what it said, and play what is live."),
    ] = False,
    threads: opt.Threads = 0,
    out: Annotated[Path | None, typer.Option(help="Keep the run directories here.")] = None,
    home: opt.Home = None,
    json: opt.JsonFlag = False,
) -> int:
    """Replay every shipped archive in strict mode; exit 8 unless every root is the recorded one."""
    from replay.wiring.shipped import Place

    screen = Screen(json=json)
    with tempfile.TemporaryDirectory(prefix="replay-") as folder:
        place = Place(out=out or Path(folder), home=home, jobs=jobs)
        return _play_live(place, screen, threads) if live else _replay(place, screen)


def _replay(place: Place, screen: Screen) -> int:
    from replay.core.errors import DivergedError
    from replay.wiring.shipped import replay_shipped

    results: list[ShippedRun] = []
    for result in replay_shipped(
        place, starting=lambda run: screen.log(f"[replay] {run.archive}, {run.label}, strict")
    ):
        _show(result, screen)
        results.append(result)
    screen.emit({"ok": all(result.ok for result in results), "runs": [_document(r) for r in results]})
    bad = [result for result in results if not result.ok]
    if bad:
        raise DivergedError(
            f"{len(bad)} of {len(results)} shipped runs do not have their recorded root",
            where=", ".join(f"{r.expected.archive} {r.expected.label}" for r in bad),
            expected="the roots in run-roots.json",
            next_step="replay doctor; then compare the run directories (--out) with those of a good machine",
        )
    screen.say(f"all {len(results)} shipped runs have their recorded roots")
    return 0


def _play_live(place: Place, screen: Screen, threads: int) -> int:
    from msgspec import to_builtins

    from replay.core.errors import DivergedError
    from replay.wiring.live import LiveMachine, live_runs, play_live

    results: list[LiveRun] = []
    for result in play_live(
        live_runs(),
        place,
        LiveMachine(threads=threads),
        starting=lambda run: screen.log(f"[replay] {run.archive}, {run.label}, live"),
    ):
        _show_live(result, screen)
        results.append(result)
    ok = all(result.ok for result in results)
    screen.emit({"ok": ok, "live": [{"ok": run.ok, **to_builtins(run)} for run in results]})
    bad = [result for result in results if not result.ok]
    if bad:
        raise DivergedError(
            f"{len(bad)} of {len(results)} live runs came out differently under the recorded fingerprint",
            where=", ".join(f"{run.expected.archive} {run.expected.label}" for run in bad),
            expected="every frozen answer, and the roots in run-roots.json",
            next_step="replay models verify; replay models fingerprint; then keep the runs with --out",
        )
    screen.say(_sum_up(results))
    return 0


def _sum_up(results: list[LiveRun]) -> str:
    same = [run for run in results if run.state == "same-fingerprint"]
    answers = sum(run.answers for run in same)
    if len(same) == len(results):
        return f"all {answers} answers of {len(results)} live runs came out again, with their recorded roots"
    return (
        f"{len(results) - len(same)} of {len(results)} live runs were recorded with another numeric "
        "fingerprint than this machine's: their frozen answers are served, and need not come out here"
    )


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


def _show_live(run: LiveRun, screen: Screen) -> None:
    screen.say(f"archive    {run.expected.archive}")
    screen.say(f"live       {run.expected.label}; {run.simulated} API answers simulated")
    screen.say(f"model      fingerprint {run.fingerprint}")
    if run.fingerprint != run.recorded_fingerprint:
        screen.say(f"  recorded fingerprint {run.recorded_fingerprint}  another one")
    screen.say(
        f"answers    {run.equal} of {run.answers} equal the frozen ones, "
        f"{run.differing_tokens} of {run.tokens} tokens differ"
    )
    if run.run_root:
        verdict = "equal" if run.run_root == run.expected.run_root else "DIFFERENT"
        screen.say(f"run root   {run.run_root}")
        screen.say(f"  expected {run.expected.run_root}  {verdict}")
    spent = [(cost.prompt_tokens - cost.reused_tokens, cost.generated_tokens) for cost in run.cost.values()]
    read, written = (sum(part) for part in zip(*spent, strict=True)) if spent else (0, 0)
    screen.log(f"[replay] {run.seconds:.0f} s, {read} prompt tokens, {written} generated")
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
