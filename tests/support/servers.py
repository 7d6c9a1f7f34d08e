"""A server over an archive for tests: in this process, on a real loopback port, stopped at the end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import msgspec

from replay.core.types import Json
from replay.server.counters import Counters
from replay.server.gate import LOOPBACK_NAMES
from replay.server.listening import bind, describe, make_server
from replay.wiring.serving.overlay import open_served
from replay.wiring.serving.request_log import LogFolder
from replay.wiring.serving.server import ServeRequest, prepare_server
from replay.wiring.serving.work import open_routes

__all__ = ["Served", "serving"]


class Served(NamedTuple):
    """A running server."""

    url: str
    client: httpx.Client
    counters: Counters

    def call(self, **fields: Json) -> httpx.Response:
        """Ask /virtual with the six fields, those given changed."""
        whole = {"category": "News, Media", "tool_name": "gazette_stream", "api_name": "top_headlines"}
        whole |= {"tool_input": '{"topic": "harbour"}', "strip": "", "toolbench_key": "planted-key"}
        return self.client.post("/virtual", json={**whole, **fields})


@contextmanager
def serving(request: ServeRequest, *, log: LogFolder | None = None) -> Iterator[Served]:
    """Serve until the block ends."""
    plan = prepare_server(request)
    plan = msgspec.structs.replace(plan, hosts=tuple(LOOPBACK_NAMES))
    with ExitStack() as stack:
        library = stack.enter_context(open_served(plan))
        counters = Counters()
        app = stack.enter_context(open_routes(plan, library, counters, log=log))
        listener = stack.enter_context(bind("127.0.0.1", 0))
        ready = threading.Event()
        server = make_server(app, started=ready.set)
        thread = threading.Thread(target=lambda: server.run(sockets=[listener]))
        thread.start()
        try:
            assert ready.wait(20), "the server did not start"
            url = describe(listener)
            yield Served(url, stack.enter_context(httpx.Client(base_url=url)), counters)
        finally:
            server.should_exit = True
            thread.join(20)


def request_for(archive: str, home: Path, **words: Json) -> ServeRequest:
    """Ask to serve an archive, its stores in this folder."""
    return ServeRequest(**{"archive": archive, "home": str(home), "port": 0, **words})
