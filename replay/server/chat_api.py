"""`/v1`: models, chat completions and text completions as an OpenAI client wants them.

An answer is a function of the request: ids are derived from it and `created` is 0. A stream is cut at words,
the same way every time, and its pieces go out as soon as they are certain.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from functools import partial
from typing import Final

import msgspec
from starlette.types import Receive, Scope, Send

from replay.core.canonical import digest
from replay.core.errors import CanonicalError, MissError, ModelError, ReplayError
from replay.core.trajectory import CompletionStep, NoteStep
from replay.core.types import Completion, Json, Role
from replay.server.chat_messages import CheckedSchemas
from replay.server.chat_requests import read_chat, read_completion
from replay.server.chat_shapes import ChatShape
from replay.server.chat_talk import ChatSources, ChatTalk, write_event
from replay.server.chat_wishes import ChatWish, WishError
from replay.server.counters import Counters
from replay.server.virtual_api import RequestLog
from replay.server.wire import read_body, send_json

__all__ = ["ChatApi", "ChatSources", "ModelsApi"]

_STREAM: Final = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]


class ModelsApi:
    """GET /v1/models and below."""

    def __init__(self, sources: ChatSources) -> None:
        """List the models of these sources."""
        self._sources = sources

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  ASGI
        """Answer one request."""
        if scope["method"] != "GET":
            await _fail(send, WishError("only GET", "", status=405, code="method_not_allowed"))
            return
        cards = {name: _card(name) for name in self._sources.models()}
        name = scope["path"].removeprefix("/v1/models").removeprefix("/")
        if not name:
            await send_json(send, {"object": "list", "data": list(cards.values())})
        elif name in cards:
            await send_json(send, cards[name])
        else:
            await _fail(send, WishError(f"no model {name!r}", "model", status=404, code="model_not_found"))


class ChatApi:
    """POST /v1/chat/completions, or /v1/completions."""

    def __init__(
        self,
        sources: ChatSources,
        *,
        counters: Counters,
        is_chat: bool = True,
        log: RequestLog | None = None,
        max_body: int,
    ) -> None:
        """Answer from these sources. max_body: bytes of one request."""
        self._sources = sources
        self._counters = counters
        self._is_chat = is_chat
        chat = partial(read_chat, schemas=CheckedSchemas())
        self._read: Callable[[bytes], ChatWish] = chat if is_chat else read_completion
        self._log = log
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] != "POST":
            await _fail(send, WishError("only POST", "", status=405, code="method_not_allowed"))
            return
        body = await read_body(scope, receive, limit=self._max_body)
        try:
            wish = self._read(body)
            await self._answer(wish, receive, send)
        except WishError as error:
            self._counters.add("refused")
            await _fail(send, error)
        except CanonicalError as error:
            self._counters.add("refused")
            await _fail(send, WishError(f"the request cannot be looked up: {error}", "messages"))
        except MissError as error:
            self._miss(error)
            param = error.where or "messages"
            await _fail(send, WishError(str(error), param, status=404, code="replay_miss"))

    async def _answer(self, wish: ChatWish, receive: Receive, send: Send) -> None:
        shape = ChatShape(wish, is_chat=self._is_chat)
        talk = ChatTalk(self._sources, wish, shape)

        def write(completion: Completion) -> None:
            self._write(wish, completion)

        try:
            async with talk.watching(receive):
                if wish.stream:
                    await self._stream(send, talk, write)
                else:
                    await send_json(send, shape.whole(await talk.answer(write)))
                    self._counters.add("completions")
        except ModelError:
            if not talk.has_left:
                raise

    async def _stream(self, send: Send, talk: ChatTalk, write: Callable[[Completion], None]) -> None:
        """Send the events of a stream: nothing before the first, and what fails later is the last of them."""
        is_begun = is_taken = False
        try:
            async with aclosing(talk.events(write)) as events:
                async for event in events:
                    is_taken = False
                    if not is_begun:
                        await send({"type": "http.response.start", "status": 200, "headers": _STREAM})
                    is_begun = True
                    await send({"type": "http.response.body", "body": event, "more_body": True})
                    is_taken = True
        except (asyncio.CancelledError, ReplayError) as error:
            # A client that does not take what there is will not take this either.
            if not is_taken or talk.has_left:
                raise
            self._counters.add("failed")
            what = str(error) if isinstance(error, ReplayError) else "the server stopped first"
            told = {"message": what, "type": "server_error"}
            await send(
                {"type": "http.response.body", "body": write_event({"error": told}), "more_body": True}
            )
        else:
            self._counters.add("refused" if talk.has_failed else "completions")
        await send({"type": "http.response.body", "body": b""})

    def _miss(self, error: MissError) -> None:
        self._counters.add("completion_misses")
        if self._log is not None:
            self._log.write(NoteStep(name="miss", data=error.want), stop="candidate-miss", detail=str(error))

    def _write(self, wish: ChatWish, completion: Completion) -> None:
        if self._log is not None:
            asked = digest("chat-wish", msgspec.to_builtins(wish))
            self._log.write(CompletionStep(role=Role.CANDIDATE, request_digest=asked, completion=completion))


def _card(name: str) -> Json:
    return {"id": name, "object": "model", "created": 0, "owned_by": "replay"}


async def _fail(send: Send, error: WishError) -> None:
    # A client that tries again would only be told the same.
    headers = [(b"x-should-retry", b"false")]
    await send_json(send, {"error": error.to_json()}, status=error.status, headers=headers)
