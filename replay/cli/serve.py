"""`replay serve`: an archive for programs that speak HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from replay.cli import options as opt
from replay.cli.exits import CHECK_EXIT
from replay.cli.screen import Screen, freezing_line
from replay.core.types import Json

if TYPE_CHECKING:
    from replay.wiring.serving.server import ServeRequest

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: replay serve stabletoolbench --port 8080")(serve)


def serve(
    archive: opt.Archive,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8080,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Listen on an address that other machines reach.")
    ] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A further name that the Host header may hold; may be repeated.")
    ] = None,
    mode: Annotated[
        str,
        typer.Option(help="strict: recorded answers only. replay: also simulate. record: ask upstreams too."),
    ] = "replay",
    rules: Annotated[str, typer.Option(help="Calling rules of /virtual: compat or strict.")] = "compat",
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that serve.")] = 1,
    log: Annotated[
        Path | None, typer.Option(help="Folder that becomes a run directory of all requests.")
    ] = None,
    max_body: Annotated[int, typer.Option(min=1, help="Bytes of one request.")] = 16 * 1024 * 1024,
    max_requests: Annotated[int, typer.Option(min=1, help="Requests in work at once, a worker.")] = 256,
    read_timeout: Annotated[
        float, typer.Option(min=0.01, help="Seconds in which a client sends the next part, or takes it.")
    ] = 30.0,
    model: Annotated[
        list[str] | None, typer.Option(help="A local model to serve at /v1; may be repeated.")
    ] = None,
    simulator: opt.SimulatorModel = "",
    upstream: Annotated[
        list[str] | None,
        typer.Option(
            help="TOML file of live upstreams, for record mode. NAME=ORIGIN: serve exchanges recorded from "
            "ORIGIN at /http/NAME/. May be repeated."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder that record mode writes new answers to, as an overlay.")
    ] = None,
    keep_errors: opt.KeepErrors = False,
    context: opt.ContextTokens = 4096,
    threads: opt.Threads = 0,
    allow_unpinned: opt.AllowUnpinned = False,
    base: opt.Bases = None,
    home: opt.Home = None,
    json: opt.JsonFlag = False,
) -> int:
    """Serve an archive over HTTP: /virtual, /v1 and /http, whichever it has answers for."""
    return _execute(_request(locals()), Screen(json=json))


_NAMES: Final = {
    "allow_host": "allow_hosts",
    "base": "bases",
    "context": "context_tokens",
    "model": "models",
    "read_timeout": "read_timeout_s",
    "simulator": "simulator_model",
    "upstream": "upstreams",
}
"""Options whose word differs from the request's."""


def _request(words: dict[str, Any]) -> ServeRequest:
    """Turn the command's words, by parameter, into what is to be served."""
    from replay.wiring.modes import parse_mode
    from replay.wiring.serving.server import ServeRequest

    asked = {
        _NAMES.get(name, name): _plain(word)
        for name, word in words.items()
        if word is not None and name not in ("json", "mode")
    }
    return ServeRequest(**asked, mode=parse_mode(words["mode"]))


def _plain(word: Any) -> Any:
    """Write paths as text and lists as tuples, as a request holds them."""
    if isinstance(word, list):
        return tuple(map(str, word))
    return str(word) if isinstance(word, Path) else word


def _execute(request: ServeRequest, screen: Screen) -> int:
    from replay.wiring.library import find_archive
    from replay.wiring.serving.server import serve as run

    def tell(facts: dict[str, Json]) -> None:
        screen.emit(facts)
        screen.say(f"serving    {facts['archive']} at {facts['address']}, mode {facts['mode']}")
        if not find_archive(request.archive).exists():
            # Only record mode comes here, and a misspelt name would record everything anew.
            screen.log(f"replay: there is no {request.archive} yet: a new archive of HTTP exchanges is begun")
        screen.flush()

    report = run(request, tell=tell, note=lambda line: screen.log(f"replay: {line}"))
    if report.log:
        screen.say(f"log        {report.log}")
    if not report.overlay:
        return 0
    screen.say(f"overlay    {report.overlay}  {report.recorded} new")
    if not report.recorded:
        screen.log("replay: nothing was recorded; what was asked for was recorded before, or it failed")
        return CHECK_EXIT
    base = find_archive(request.archive) if report.has_base else None
    screen.say(freezing_line(report.overlay, base))
    return 0
