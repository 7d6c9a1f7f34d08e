"""`replay serve`: an archive for programs that speak HTTP."""

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
        str, typer.Option(help="strict: recorded answers only. replay: also simulate.")
    ] = "replay",
    rules: Annotated[str, typer.Option(help="Calling rules of /virtual: compat or strict.")] = "compat",
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that serve.")] = 1,
    log: Annotated[
        Path | None, typer.Option(help="Folder that becomes a run directory of all requests.")
    ] = None,
    max_body: Annotated[int, typer.Option(min=1, help="Bytes of one request.")] = 16 * 1024 * 1024,
    max_requests: Annotated[int, typer.Option(min=1, help="Requests in work at once, a worker.")] = 256,
    model: Annotated[
        list[str] | None, typer.Option(help="A local model to serve at /v1; may be repeated.")
    ] = None,
    simulator: opt.SimulatorModel = "",
    upstream: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=ORIGIN: serve exchanges recorded from ORIGIN at /http/NAME/; may be repeated."
        ),
    ] = None,
    context: opt.ContextTokens = 4096,
    threads: opt.Threads = 0,
    allow_unpinned: opt.AllowUnpinned = False,
    base: opt.Bases = None,
    home: opt.Home = None,
    json: opt.JsonFlag = False,
) -> int:
    """Serve an archive over HTTP: /virtual, /v1 and /http, whichever it has answers for."""
    from replay.wiring.modes import parse_mode
    from replay.wiring.serving import ServeRequest
    from replay.wiring.serving import serve as run

    screen = Screen(json=json)

    def tell(facts: dict[str, Json]) -> None:
        screen.emit(facts)
        screen.say(f"serving    {facts['archive']} at {facts['address']}")
        screen.flush()

    request = ServeRequest(
        archive=archive,
        host=host,
        port=port,
        allow_remote=allow_remote,
        allow_hosts=tuple(allow_host or ()),
        mode=parse_mode(mode),
        rules=rules,
        workers=workers,
        log=str(log) if log else "",
        max_body=max_body,
        max_requests=max_requests,
        models=tuple(model or ()),
        simulator_model=simulator,
        upstreams=tuple(upstream or ()),
        home=str(home) if home else "",
        bases=tuple(map(str, base or ())),
        context_tokens=context,
        threads=threads,
        allow_unpinned=allow_unpinned,
    )
    folder = run(request, tell=tell)
    if folder is not None:
        screen.say(f"log        {folder}")
    return 0
