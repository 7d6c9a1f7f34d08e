"""One archive of exchanges, and the clients that are answered from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from replay.core.types import Mode, RepeatPolicy
from replay.tools.exchanges import ExchangeSession
from replay.wiring.exchanges import ExchangeBook, ExchangePlan, open_exchanges
from replay.wiring.modes import parse_mode

if TYPE_CHECKING:
    import httpx
    from requests.adapters import BaseAdapter

    from replay.testing.httpx_transport import AsyncReplayTransport, ReplayTransport
    from replay.testing.requests_adapter import ReplayAdapter

__all__ = ["Recording", "open_recording"]


class Recording:
    """An opened archive. Each transport or adapter counts its own repeats of a request."""

    def __init__(
        self, book: ExchangeBook, *, name: str = "client", upstream: str = "", repeats: str = ""
    ) -> None:
        """Answer from this book.

        name: shown in misses.
        upstream: name that stands for the origin in keys, so that another host with the same API is answered
            too; empty for the origin itself.
        repeats: `once` or `sticky-last` (the default): what a request gets after its last recorded answer.
        """
        self._book = book
        self._name = name
        self._upstream = upstream
        self._repeats = RepeatPolicy(repeats or RepeatPolicy.STICKY_LAST)

    @property
    def mode(self) -> Mode:
        """strict, replay or record."""
        return self._book.plan.mode

    @property
    def recorded(self) -> int:
        """How many answers were recorded so far."""
        return self._book.exchanges.recorded

    def transport(self, live: httpx.BaseTransport | None = None) -> ReplayTransport:
        """Make a transport for `httpx.Client`; `live` sends what record mode has to ask for."""
        from replay.testing.httpx_transport import ReplayTransport  # noqa: PLC0415  httpx is an extra

        return ReplayTransport(self._session(), self._upstream, live=live, records=self._records)

    def async_transport(self, live: httpx.AsyncBaseTransport | None = None) -> AsyncReplayTransport:
        """Make a transport for `httpx.AsyncClient`."""
        from replay.testing.httpx_transport import AsyncReplayTransport  # noqa: PLC0415

        return AsyncReplayTransport(self._session(), self._upstream, live=live, records=self._records)

    def adapter(self, live: BaseAdapter | None = None) -> ReplayAdapter:
        """Make an adapter to mount in a `requests.Session`; `live` sends what record mode has to ask for."""
        from replay.testing.requests_adapter import ReplayAdapter  # noqa: PLC0415  requests is an extra

        return ReplayAdapter(self._session(), self._upstream, live=live, records=self._records)

    @property
    def _records(self) -> bool:
        return self.mode is Mode.RECORD

    def _session(self) -> ExchangeSession:
        return self._book.exchanges.session(self._name, repeats=self._repeats)


@contextmanager
def open_recording(
    archive: str | Path,
    *,
    mode: str = "replay",
    upstream: str = "",
    repeats: str = "",
    left_out: Iterable[str] = (),
    keep_errors: bool = False,
) -> Iterator[Recording]:
    """Open an archive of exchanges; in record mode it is made, or added to, when the block ends well.

    left_out: globs of header names that say nothing of what is asked, beside the declared ones.
    keep_errors: also record answers 429 and 5xx.
    Errors:  InputError when there is nothing to replay or nothing was recorded; UsageError for another mode.
    """
    plan = ExchangePlan(
        archive=str(archive),
        mode=parse_mode(mode, option="mode"),
        left_out=tuple(left_out),
        keep_errors=keep_errors,
    )
    with open_exchanges(plan) as book:
        yield Recording(book, upstream=upstream, repeats=repeats)
