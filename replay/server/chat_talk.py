"""One chat request in work: a thread that answers it, events that go out meanwhile, a client that may leave.

What is sent is a function of the request. What can go out before the answer is whole is certain by then; a
client that leaves ends the generation, and of an answer that is not whole nothing is written down.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from starlette.types import Receive

from replay.core.errors import ModelError, ReplayError
from replay.core.logprobs import RankedToken
from replay.core.types import Completion, Json
from replay.server.chat_pieces import Cutter, Piece
from replay.server.chat_shapes import ChatShape, calls_of, fault_of, finish_of, tokens_of
from replay.server.chat_wishes import ChatWish, WishError
from replay.server.waiting import run_aside
from replay.server.wire import to_json

__all__ = ["ChatSources", "ChatTalk", "Listener", "write_event"]

Listener = Callable[[str, Sequence[RankedToken]], None]
"""Told which words the current answer begins with, and its ranked tokens; raises ReplayError to end it."""


class ChatSources(Protocol):
    """Who answers."""

    def models(self) -> tuple[str, ...]:
        """Names of the models that can be asked."""
        ...

    def answer(self, wish: ChatWish, listener: Listener) -> Iterator[Completion]:
        """Yield as many completions as are wished, each when it is whole.

        listener: hears the words of the next completion while it is generated.
        Errors:  MissError before the first one; WishError for a foreign model.
        """
        ...


class ChatTalk:
    """One request from its wish to its last event."""

    def __init__(self, sources: ChatSources, wish: ChatWish, shape: ChatShape) -> None:
        """Get ready to answer."""
        self._sources = sources
        self._wish = wish
        self._shape = shape
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._is_begun = False
        self._is_given_up = False
        self.has_left = False
        """True once the client is gone."""
        self.has_failed = False
        """True when a stream ended with an error."""

    @asynccontextmanager
    async def watching(self, receive: Receive) -> AsyncIterator[None]:
        """Notice in this block when the client leaves."""
        watch = asyncio.create_task(self._watch(receive))
        try:
            yield
        finally:
            watch.cancel()
            with suppress(asyncio.CancelledError):
                await watch

    async def answer(self, write: Callable[[Completion], None]) -> list[Completion]:
        """Answer as a whole.

        write: called with each completion once it is whole.
        Errors:  those of the sources; WishError for what is no answer.
        """
        found = await run_aside(self._answer, write)
        if isinstance(found, WishError):
            raise found
        return found

    async def events(self, write: Callable[[Completion], None]) -> AsyncGenerator[bytes, None]:
        """Yield the events of a stream as they become certain.

        Errors:  those of the sources; WishError for what is no answer, before the first event only.
        """
        work = asyncio.create_task(run_aside(self._stream, write))
        is_whole = False
        try:
            while (event := await self._events.get()) is not None:
                yield event
            is_whole = True
        finally:
            if not is_whole:
                await self._give_up(work)
        fault = await work
        if fault is not None:
            raise fault

    async def _give_up(self, work: asyncio.Task[WishError | None]) -> None:
        """Let the thread end with its next token, and wait for that."""
        self._is_given_up = True
        with suppress(ReplayError):
            await work

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.has_left = True

    # ---- in the thread that answers -----------------------------------------------------------------------

    def _answer(self, write: Callable[[Completion], None]) -> list[Completion] | WishError:
        found = []
        try:
            for completion in self._sources.answer(self._wish, lambda _words, _tokens: self._check_client()):
                fault = fault_of(completion)
                if fault is not None:
                    return fault
                write(completion)
                found.append(completion)
                self._check_client()
        except WishError as fault:
            return fault
        return found

    def _stream(self, write: Callable[[Completion], None]) -> WishError | None:
        try:
            for event in self._make_events(write):
                self._send(event)
        except WishError as fault:
            return fault
        finally:
            self._put(None)
        return None

    def _make_events(self, write: Callable[[Completion], None]) -> Iterator[Json]:
        choice = _Choice(0, self._shape)
        found: list[Completion] = []

        def hear(words: str, tokens: Sequence[RankedToken]) -> None:
            self._check_client()
            for event in choice.grow(words, tokens):
                self._send(event)

        try:
            for completion in self._sources.answer(self._wish, hear):
                fault = fault_of(completion)
                if fault is not None:
                    yield from choice.fail(completion)
                    raise fault
                write(completion)
                yield from choice.end(completion)
                found.append(completion)
                choice = _Choice(len(found), self._shape)
                self._check_client()
        except WishError as fault:
            if not self._is_begun:
                raise
            self.has_failed = True
            yield {"error": fault.to_json()}
            return
        if self._wish.with_usage:
            yield self._shape.usage_chunk(found)
        yield None

    def _check_client(self) -> None:
        if self.has_left or self._is_given_up:
            raise ModelError("the client left before its answer was whole")

    def _send(self, event: Json) -> None:
        self._is_begun = True
        self._put(b"data: [DONE]\n\n" if event is None else write_event(event))

    def _put(self, event: bytes | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._events.put_nowait, event)


def write_event(event: Json) -> bytes:
    """Write one event of a stream."""
    return b"data: " + to_json(event) + b"\n\n"


class _Choice:
    """The events of one choice of a stream."""

    def __init__(self, index: int, shape: ChatShape) -> None:
        self._index = index
        self._shape = shape
        self._cutter = Cutter()
        self._is_open = False

    def grow(self, words: str, tokens: Sequence[RankedToken]) -> Iterator[Json]:
        """Write what is certain of an answer that grows."""
        yield from self._write(self._cutter.grow(words, tokens))

    def end(self, completion: Completion) -> Iterator[Json]:
        """Write the rest of a whole answer."""
        tokens = tokens_of(completion)
        if completion.content is not None:
            yield from self._open("")
        yield from self._write(self._cutter.end(completion.content or "", tokens))
        yield from self._open(None)
        if self._shape.is_chat:
            for place, call in enumerate(calls_of(completion)):
                yield self._shape.chunk(self._index, {"tool_calls": [{"index": place, **call}]})
        rest = self._cutter.rest(tokens)
        yield self._shape.chunk(self._index, {}, tokens=rest, finish=finish_of(completion))

    def fail(self, completion: Completion) -> Iterator[Json]:
        """Write the rest of what was said before it turned out to be no answer."""
        yield from self._write(self._cutter.end((completion.content or "").strip(), tokens_of(completion)))

    def _write(self, pieces: Iterator[Piece]) -> Iterator[Json]:
        for piece in pieces:
            yield from self._open("")
            yield self._shape.chunk(self._index, {"content": piece.text}, tokens=piece.tokens)

    def _open(self, content: str | None) -> Iterator[Json]:
        """Begin a chat message, once."""
        if not self._is_open and self._shape.is_chat:
            yield self._shape.chunk(self._index, {"role": "assistant", "content": content})
        self._is_open = True
