"""What is asked of a live upstream, and how it fails: data that needs no network client."""

from __future__ import annotations

from typing import Protocol

from replay.core.errors import UpstreamError
from replay.core.types import Record
from replay.tools.exchange import HttpAnswer
from replay.tools.masking import Secrets
from replay.tools.upstreams import Upstream

__all__ = ["Asker", "LiveFailureError", "LiveRequest"]


class LiveRequest(Record, frozen=True, kw_only=True):
    """One request to an upstream, below its base address."""

    method: str
    path: str = ""
    """Begins with `/`, with its percent signs; empty for the base address itself."""
    query: tuple[tuple[str, str], ...] = ()
    query_text: str = ""
    """A query that is sent as it stands, before `query`."""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class LiveFailureError(UpstreamError):
    """An upstream that gave no answer; `kind` says in one word how it failed.

    rate-limited, server-error, timeout, cut-body, protocol, connect, tls, too-large, redirected,
    unauthorized, not-json, not-text, error (the answer says itself that it is none), arguments (the call
    cannot be asked).
    """

    def __init__(self, kind: str, detail: str, upstream: str, answer: HttpAnswer | None = None) -> None:
        """Keep the kind; `answer` is what came back whole, where something did."""
        super().__init__(
            f"{kind}: {detail}",
            where=f"upstream {upstream}",
            next_step="ask again, a run that is finished in a new --out folder; "
            "--keep-errors records failures as failures",
        )
        self.kind = kind
        self.answer = answer


class Asker(Protocol):
    """Asks one upstream (LiveClient)."""

    @property
    def upstream(self) -> Upstream:
        """What is asked."""
        ...

    @property
    def secrets(self) -> Secrets:
        """What must not be stored of what comes back."""
        ...

    def send(self, asked: LiveRequest) -> HttpAnswer:
        """Return a whole answer. Raises LiveFailureError."""
        ...
