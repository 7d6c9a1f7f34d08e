"""Recorded REST exchanges for a server: sessions over one archive."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from replay.core.errors import InputError
from replay.core.trajectory import CallStep
from replay.core.types import Provenance, SnapshotKind, ToolCall, ToolResult
from replay.server.http_api import Asked, Found
from replay.tools.exchange import HttpKeys, HttpRequest, write_answer
from replay.tools.exchanges import Exchanges, ExchangeSession
from replay.tools.misses import MissReporter
from replay.wiring.library import Library
from replay.wiring.serving import ServePlan

__all__ = ["ArchiveExchanges"]

_MAX_SESSIONS: Final = 1_000
"""Sessions that are remembered; the one that was quiet for longest starts anew."""


class ArchiveExchanges:
    """Answers REST requests from one archive. Safe to share between threads."""

    def __init__(self, plan: ServePlan, library: Library) -> None:
        """Answer from this archive; upstreams are known by their recorded names or those of the plan."""
        reporter = MissReporter(
            library.store, archive=plan.library.name, tools=library.store.scopes(SnapshotKind.API)
        )
        self._exchanges = Exchanges(library.store, HttpKeys(), reporter)
        self._origins = plan.upstreams
        self._is_alone = plan.workers == 1
        self._sessions: OrderedDict[str, ExchangeSession] = OrderedDict()
        self._lock = threading.Lock()

    def answer(self, asked: Asked) -> Found:
        """Answer one request.

        Errors:  MissError, explained; InputError for a session where several workers serve: each would count
                 for itself.
        """
        request = HttpRequest(
            upstream=self._origins.get(asked.upstream, asked.upstream),
            method=asked.method,
            path=asked.path,
            query=asked.query,
            headers=asked.headers,
            body=asked.body,
        )
        session = self._session(asked.session)
        turn = session.look_up(request)
        if turn.found is None:
            raise session.miss(turn)
        result = ToolResult(
            content=write_answer(turn.found),
            provenance=Provenance.RECORDED,
            lookup="canonical",
            key=turn.key,
        )
        call = ToolCall(id=f"call_{turn.key[7:19]}", name=turn.call.tool, arguments="")
        step = CallStep(call=call, tool=turn.call.tool, result=result)
        return Found(turn.found.status, turn.found.headers, turn.found.parts, step)

    def _session(self, name: str) -> ExchangeSession:
        if not name:
            return self._exchanges.session("served")
        if not self._is_alone:
            raise InputError(
                "a session needs one worker", where=f"X-Replay-Session: {name}", expected="--workers 1"
            )
        with self._lock:
            session = self._sessions.pop(name, None) or self._exchanges.session(name)
            self._sessions[name] = session
            if len(self._sessions) > _MAX_SESSIONS:
                self._sessions.popitem(last=False)
            return session
