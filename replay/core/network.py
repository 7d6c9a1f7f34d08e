"""The network guard: in an offline run nothing in this process may reach for the network.

Python announces socket and client calls to *audit hooks* before they happen. A hook cannot be taken out
again, so one hook is put in for the process on first use and switched by the guards that are on; that list is
the one piece of process-wide state of this program, because the interpreter's own list of hooks is.

What it sees: everything that goes through Python's `socket` module (connect, bind, send to an address, name
look-ups) and the standard clients above it, from any thread. What it cannot see: a native library that opens
sockets by itself, and other processes; workers switch on a guard of their own. Unix sockets stay allowed:
they cannot leave the machine, and multiprocessing needs them.
"""

from __future__ import annotations

import sys
import sysconfig
import threading
from pathlib import PurePath
from types import FrameType, TracebackType
from typing import Final, Self

from replay.core.errors import NetworkBlockedError
from replay.core.types import Record

__all__ = ["NetworkAttempt", "NetworkGuard"]

_REFUSED: Final = frozenset(
    {
        "ftplib.connect",
        "http.client.connect",
        "imaplib.open",
        "nntplib.connect",
        "poplib.connect",
        "smtplib.connect",
        "socket.bind",
        "socket.connect",
        "socket.getaddrinfo",
        "socket.gethostbyaddr",
        "socket.gethostbyname",
        "socket.getnameinfo",
        "socket.sendmsg",
        "socket.sendto",
        "telnetlib.Telnet.open",
        "urllib.Request",
    }
)
_HAS_SOCKET_FIRST: Final = frozenset({"socket.bind", "socket.connect", "socket.sendmsg", "socket.sendto"})
_AF_UNIX: Final = 1  # on Linux and macOS; importing socket for it would load the network into every run
_SHOWN_TARGET: Final = 80
_KEPT_ATTEMPTS: Final = 100


class NetworkAttempt(Record, frozen=True, kw_only=True):
    """One refused call."""

    event: str
    """Python's name of the call, for example `socket.connect`."""
    target: str
    """What it was to reach: host and port, name or URL, cut to a line."""
    line: str
    """File name, function and line of the first code outside the standard library, without folders."""


class NetworkGuard:
    """Refuses and counts every network call of this process while it is on.

    A context manager; guards may be nested, and then every one of them counts. The count stays after the
    guard is off, and holds what the caller of a refused call swallowed.
    """

    def __init__(self) -> None:
        self.attempts = 0
        """How many calls were refused."""
        self._first: list[NetworkAttempt] = []

    @property
    def first_attempts(self) -> tuple[NetworkAttempt, ...]:
        """The first refused calls, in order; a loop that tries for ever must not fill the memory."""
        return tuple(self._first)

    def _count(self, attempt: NetworkAttempt) -> None:
        self.attempts += 1
        if len(self._first) < _KEPT_ATTEMPTS:
            self._first.append(attempt)

    def __enter__(self) -> Self:
        """Switch on."""
        with _LOCK:
            _install()
            _ON.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Switch off; the attempts stay."""
        with _LOCK:
            # By identity: leaving in another order than entering must not switch off somebody else's guard.
            _ON[:] = [guard for guard in _ON if guard is not self]


_ON: list[NetworkGuard] = []
_INSTALLED: list[bool] = []
_LOCK: Final = threading.RLock()


def _install() -> None:
    if not _INSTALLED:
        sys.addaudithook(_watch)
        _INSTALLED.append(True)


def _watch(event: str, args: tuple[object, ...]) -> None:
    if not _ON or event not in _REFUSED or _is_local(event, args):
        return
    caller = sys._getframe(1)  # noqa: SLF001  the way to a frame that does not load `inspect` into every run
    attempt = NetworkAttempt(event=event, target=_target(event, args), line=_find_line(caller))
    with _LOCK:
        for guard in _ON:
            guard._count(attempt)  # noqa: SLF001  same module
    raise NetworkBlockedError(
        f"{event} to {attempt.target} was refused",
        where=attempt.line,
        expected="no network in an offline run",
        next_step="record the answer with --mode record, or take the call out",
    )


def _is_local(event: str, args: tuple[object, ...]) -> bool:
    return event in _HAS_SOCKET_FIRST and bool(args) and getattr(args[0], "family", None) == _AF_UNIX


def _target(event: str, args: tuple[object, ...]) -> str:
    named = args[1:] if event in _HAS_SOCKET_FIRST else args
    text = ":".join(_show(part) for part in named[:2] if isinstance(part, (str, bytes, int, tuple)))
    if "://" in text:
        # Only the host of a URL: what follows may hold a key, what comes before it a password.
        text = text.partition("://")[2].split("/")[0].split("?")[0].rpartition("@")[2]
    printable = "".join(char if char.isprintable() else "?" for char in text[:_SHOWN_TARGET])
    return printable or "an unnamed host"


def _show(part: object) -> str:
    if isinstance(part, tuple):
        return ":".join(_show(piece) for piece in part[:2])
    if isinstance(part, bytes):
        return part.decode("utf-8", "replace")
    return str(part)


def _find_line(frame: FrameType | None) -> str:
    """Name the innermost code that is neither the standard library nor this file; else the innermost."""
    innermost = frame
    library = sysconfig.get_path("stdlib")
    while frame is not None:
        name = frame.f_code.co_filename
        from_library = name.startswith("<frozen") or (
            name.startswith(library) and "site-packages" not in name and "dist-packages" not in name
        )
        if not from_library:
            return _line(frame)
        frame = frame.f_back
    return _line(innermost) if innermost is not None else ""


def _line(frame: FrameType) -> str:
    return f"{PurePath(frame.f_code.co_filename).name}:{frame.f_code.co_qualname}:{frame.f_lineno}"
