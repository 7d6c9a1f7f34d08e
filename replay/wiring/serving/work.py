"""`replay serve` at work: an archive, the routes that fit it, one process or several.

A worker opens its own stores over the same sealed files and switches on its own network guard after its
listener is there. What all workers share is the listener and a table of counters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableSequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec
from starlette.types import ASGIApp

from replay.core.network import NetworkGuard
from replay.core.types import Json, Mode
from replay.server.application import make_application
from replay.server.counters import Counters
from replay.server.gate import Bounds
from replay.server.listening import bind, describe, run_server
from replay.tools.exchange import HTTP
from replay.wiring.library import Library
from replay.wiring.serving.crew import run_crew, stop_with_parent
from replay.wiring.serving.overlay import open_served, overlay_path
from replay.wiring.serving.request_log import LogFolder
from replay.wiring.serving.routes import make_chat_routes, make_http_routes, make_virtual_routes
from replay.wiring.serving.server import STABLETOOLBENCH, ServePlan, ServeReport, ServeRequest
from replay.wiring.serving.watch import StoreWatch

__all__ = ["open_routes", "run", "run_worker", "serve_worker"]


def run(
    request: ServeRequest,
    plan: ServePlan,
    *,
    tell: Callable[[dict[str, Json]], None],
    note: Callable[[str], None],
) -> ServeReport:
    """Serve until SIGINT or SIGTERM.

    Errors:  InputError for a port in use or a log that is taken.
    """
    log = LogFolder(Path(plan.log)) if plan.log else None
    listener = bind(request.host, request.port, allow_remote=request.allow_remote)
    plan = msgspec.structs.replace(plan, hosts=(*plan.hosts, *_own_names(request.host)))
    facts: dict[str, Json] = {
        "address": describe(listener),
        "archive": plan.library.name,
        "mode": plan.mode.value,
        "workers": plan.workers,
    }
    try:
        if plan.workers == 1:
            counted = run_worker(plan, listener, log=log, started=lambda: tell(facts))
        else:
            work = (msgspec.to_builtins(plan), listener)
            counted = run_crew(serve_worker, work, plan.workers, started=lambda: tell(facts), note=note)
    finally:
        listener.close()
    folder = None if log is None else _finish(log, plan, counted)
    return ServeReport(
        log="" if folder is None else str(folder),
        overlay=str(overlay_path(plan)) if plan.mode is Mode.RECORD else "",
        recorded=counted["recorded"],
        has_base=bool(plan.library.stores),
    )


def _finish(log: LogFolder, plan: ServePlan, counted: dict[str, int]) -> Path | None:
    """Make a run of the log."""
    return log.finish(
        benchmark=plan.library.benchmark,
        archives={plan.library.name: str(plan.library.root)} if plan.library.root else {},
        attempts=counted["network_attempts"],
        is_recording=plan.mode is Mode.RECORD,
    )


def serve_worker(spec: Json, listener: Any, worker: int, table: MutableSequence[int]) -> None:
    """Run one of several workers; called in a process of its own."""
    plan = msgspec.convert(spec, ServePlan)
    # The parent has made the folder, and looked whether it is free.
    log = LogFolder(Path(plan.log)) if plan.log else None
    stop_with_parent()
    run_worker(plan, listener, log=log, worker=worker, table=table)


def run_worker(
    plan: ServePlan,
    listener: Any,
    *,
    log: LogFolder | None = None,
    worker: int = 0,
    table: MutableSequence[int] | None = None,
    started: Callable[[], None] | None = None,
) -> dict[str, int]:
    """Serve in this process until it is told to stop; return what was counted."""
    with ExitStack() as stack:
        library = stack.enter_context(open_served(plan))
        # Record mode is asked for by name, and so is each upstream; else nothing leaves this process.
        asks_upstreams = plan.mode is Mode.RECORD and bool(plan.upstream_file)
        guard = None if asks_upstreams else stack.enter_context(NetworkGuard())
        counters = Counters(table, worker=worker, attempts=lambda: 0 if guard is None else guard.attempts)
        app = stack.enter_context(open_routes(plan, library, counters, log=log, worker=worker))
        run_server(app, listener, started=started)
        return counters.read()
    raise AssertionError  # the with block always returns


@contextmanager
def open_routes(
    plan: ServePlan, library: Library, counters: Counters, *, log: LogFolder | None = None, worker: int = 0
) -> Iterator[ASGIApp]:
    """Build the application of one worker: the routes that the archive and the models allow."""
    with ExitStack() as stack:
        steps = None if log is None else log.open(worker)
        if steps is not None:
            stack.callback(steps.close)
        routes: dict[str, Any] = {}
        if plan.library.benchmark == STABLETOOLBENCH:
            routes |= make_virtual_routes(plan, library, counters, steps, stack)
        if plan.library.benchmark == HTTP:
            routes |= make_http_routes(plan, library, counters, steps)
        routes |= make_chat_routes(plan, library, counters, steps, stack)
        watch = stack.enter_context(StoreWatch(plan.library.stores))
        health = {
            "archive": plan.library.name,
            "root": str(plan.library.root),
            "benchmark": plan.library.benchmark,
            "mode": plan.mode.value,
            "routes": sorted(routes),
        }
        bounds = Bounds(
            plan.hosts,
            plan.max_requests,
            plan.read_timeout_s,
            lends_keys=plan.mode is Mode.RECORD,
        )
        yield make_application(routes, counters=counters, health=health, bounds=bounds, check=watch.check)


def _own_names(host: str) -> tuple[str, ...]:
    named = f"[{host}]" if ":" in host else host
    return ("127.0.0.1", "localhost", "[::1]", named)
