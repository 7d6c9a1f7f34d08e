"""The one socket a server owns, and serving on it until somebody says stop.

The socket is bound before the network guard is switched on; from then on accepting on it is all that this
process may do with the network.
"""

from __future__ import annotations

import asyncio
import errno
import importlib.util
import ipaddress
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, Literal

import uvicorn
from starlette.types import ASGIApp

from replay.core.errors import InputError, UsageError
from replay.server.known import Recalls

__all__ = ["bind", "describe", "is_loopback", "make_server", "run_server"]

_BACKLOG: Final = 512
_STOP_SECONDS: Final = 10
"""How long requests in work may take after the stop."""
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine and nothing else."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bind(host: str, port: int, *, allow_remote: bool = False) -> socket.socket:
    """Take a port; 0 takes a free one.

    Errors:  UsageError for a host that other machines reach, unless that was allowed; InputError for a port
             in use, naming it.
    """
    if not allow_remote and not is_loopback(host):
        raise UsageError(
            f"other machines reach {host!r}",
            where="--host",
            expected="a loopback address",
            next_step="--allow-remote serves the whole network, without any password",
        )
    where = "127.0.0.1" if host == "localhost" else host
    family = socket.AF_INET6 if ":" in where else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((where, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise _refused(error, host, port) from None
    listener.set_inheritable(True)
    return listener


def describe(listener: socket.socket) -> str:
    """Write a listener's address as a URL."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run_server(app: ASGIApp, listener: socket.socket, *, started: Callable[[], None] | None = None) -> None:
    """Serve until SIGINT or SIGTERM, then finish what is in work and return.

    started: called when requests are accepted.
    """
    make_server(app, started=started).run(sockets=[listener])


def make_server(app: ASGIApp, *, started: Callable[[], None] | None = None) -> uvicorn.Server:
    """Make a server that is not yet running; setting its `should_exit` stops it as a signal does."""
    config = uvicorn.Config(
        app,
        http=_choose_protocol(app),
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=_STOP_SECONDS,
        backlog=_BACKLOG,
    )
    return _Server(config, started)


def _choose_protocol(app: ASGIApp) -> type[asyncio.Protocol] | Literal["auto"]:
    """Take the protocol that asks the application what it knows by heart; it needs the parser in C."""
    given: object = app
    if not isinstance(given, Recalls) or importlib.util.find_spec("httptools") is None:
        return "auto"
    recalling = importlib.import_module("replay.server.recalling")
    found: type[asyncio.Protocol] = recalling.RecallProtocol
    return found


class _Server(uvicorn.Server):
    """A server that returns when it is told to stop, where uvicorn's would end the process."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._tell = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and tell whoever waits for it."""
        await super().startup(sockets=sockets)
        if self._tell is not None:
            self._tell()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on a signal, and let the caller clean up after it."""
        if threading.current_thread() is not threading.main_thread():
            # Only the main thread may set handlers; whoever serves in another one stops it himself.
            yield
            return

        def stop(_number: int, _frame: FrameType | None) -> None:
            self.force_exit = self.should_exit
            self.should_exit = True

        before = {number: signal.signal(number, stop) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _refused(error: OSError, host: str, port: int) -> InputError:
    if error.errno == errno.EADDRINUSE:
        return InputError(
            f"port {port} is in use",
            where=f"{host}:{port}",
            expected="a free port",
            next_step="--port 0 takes a free one and names it",
        )
    return InputError(f"cannot listen: {error.strerror}", where=f"{host}:{port}", expected="a free port")
