"""Answers that are known by heart, given before a request becomes work for the application.

A request whose answer a worker keeps in memory needs no task, no scope and no messages: its bytes are written
as soon as its body is whole. Everything else goes on to uvicorn as if nobody had looked: what is not a plain
POST with a short body, or not known. What is built on of uvicorn's protocol are its parser callbacks and
whether its last answer is out; the bytes on the wire are the same either way, which a test compares.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, cast

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from replay.server.known import WHOLE, Header, Recalls

__all__ = ["RecallProtocol"]

_METHOD: Final = b"POST"
_LONGEST: Final = 256 * 1024
"""Bodies over it are left to the application as they come."""
_WAIT_S: Final = 0.1
"""How long a body may take to be whole before the application, which has bounds of its own, watches it."""
_MOST_UNSENT: Final = 64 * 1024
"""Bytes of answers that wait to be written; whoever asks for more at once is served one after another."""


Recall = Callable[[bytes, Sequence[Header], bytes], bytes | None]


class RecallProtocol(HttpToolsProtocol):
    """One connection of an application that recalls."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        app = cast("Recalls", config.app)
        self._recall: Recall = app.recall
        self._paths: Collection[bytes] = app.recalled
        self._head: list[Header] = []
        self._waits: bool = False
        self._parts: list[bytes] = []
        self._length: int = 0
        self._answers: list[bytes] = []
        self._unsent: int = 0
        self._late: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        """Read on; a body that is not whole by now may take a moment, and no longer."""
        super().data_received(data)
        if self._waits and self._late is None:
            self._late = self.loop.call_later(_WAIT_S, self._hand_over)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget what was waited for."""
        self._stop_waiting()
        self._answers.clear()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Let a request that has begun be answered."""
        self._flush()
        if self._waits:
            self._hand_over()
        super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """Let what was asked before what is no HTTP be answered before it."""
        self._flush()
        super().send_400_response(msg)

    def on_headers_complete(self) -> None:
        """Wait for the body where its answer may be known, else start the application."""
        # A known answer before it in the same packet has begun the time in which a next request must come.
        self._unset_keepalive_if_required()
        if self._is_plain():
            self._waits, self._parts, self._length = True, [], 0
        else:
            super().on_headers_complete()
        # What comes behind the body in the form of headers is none: the request has those it began with.
        self._head, self.headers = self.headers, []

    def on_body(self, body: bytes) -> None:
        """Keep a part of a body that is waited for."""
        if not self._waits:
            super().on_body(body)
            return
        self._parts.append(body)
        self._length += len(body)
        if self._length > _LONGEST:
            self._hand_over()

    def on_message_complete(self) -> None:
        """Write the answer that is known, or hand the request over whole."""
        if self._waits:
            answer = self._recall(self.url, self._head, b"".join(self._parts))
            if answer is not None:
                self._write(answer)
                return
            self.scope["extensions"] = {WHOLE: {}}
            self._hand_over()
        super().on_message_complete()

    def _is_plain(self) -> bool:
        parser = self.parser
        return (
            self.url in self._paths
            and (self.cycle is None or self.cycle.response_complete)
            and parser.get_method() == _METHOD
            and parser.get_http_version() == "1.1"
            and parser.should_keep_alive()
            and not parser.should_upgrade()
            and not self.expect_100_continue
            and not self.flow.write_paused
            and self._unsent < _MOST_UNSENT
        )

    def _hand_over(self) -> None:
        """Start the application on what has come so far."""
        self._stop_waiting()
        super().on_headers_complete()
        for part in self._parts:
            super().on_body(part)

    def _write(self, answer: bytes) -> None:
        """Write once every connection that has something was read.

        A client that is woken for each answer alone costs both sides more than the answer does.
        """
        self._stop_waiting()
        if not self._answers:
            self.loop.call_soon(self._flush)
        self._answers.append(answer)
        self._unsent += len(answer)
        self.server_state.total_requests += 1
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def _flush(self) -> None:
        if self._answers:
            self.transport.write(b"".join(self._answers))
            self._answers.clear()
            self._unsent = 0

    def _stop_waiting(self) -> None:
        self._waits = False
        if self._late is not None:
            self._late.cancel()
            self._late = None
