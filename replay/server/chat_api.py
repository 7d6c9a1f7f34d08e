"""`/v1`: models, chat completions and text completions as an OpenAI client wants them.

An answer is a function of the request: ids are derived from content and `created` is 0. A streamed answer is
complete before its first event goes out; its pieces are cut at words, the same way every time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, Protocol

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from replay.core.canonical import digest
from replay.core.determinism import deterministic_id
from replay.core.errors import MissError
from replay.core.trajectory import CompletionStep, NoteStep
from replay.core.types import Completion, Json, Role
from replay.server.chat_requests import ChatWish, WishError, read_chat, read_completion
from replay.server.counters import Counters
from replay.server.virtual_api import RequestLog
from replay.server.wire import read_body, send_json, to_json

__all__ = ["ChatApi", "ChatSources", "ModelsApi"]

_PIECES: Final = re.compile(r"\s*\S+\s*|\s+")
_STREAM: Final = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
_FINISH: Final = {"refused": "content_filter"}


class ChatSources(Protocol):
    """Who answers."""

    def models(self) -> tuple[str, ...]:
        """Names of the models that can be asked."""
        ...

    def complete(self, wish: ChatWish) -> tuple[Completion, ...]:
        """Answer with as many completions as are wished. Raises MissError; WishError for a foreign model."""
        ...


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
        self._read: Callable[[bytes], ChatWish] = read_chat if is_chat else read_completion
        self._shape = _Shape(is_chat=is_chat)
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
            found = await run_in_threadpool(self._sources.complete, wish)
            _check(found)
        except WishError as error:
            self._counters.add("refused")
            await _fail(send, error)
            return
        except MissError as error:
            self._miss(error)
            await _fail(send, WishError(str(error), "messages", status=404, code="replay_miss"))
            return
        self._counters.add("completions")
        self._write(wish, found)
        if wish.stream:
            await _stream(send, self._shape.chunks(wish, found))
        else:
            await send_json(send, self._shape.whole(wish, found))

    def _miss(self, error: MissError) -> None:
        self._counters.add("completion_misses")
        if self._log is not None:
            self._log.write(NoteStep(name="miss", data=error.want), stop="candidate-miss", detail=str(error))

    def _write(self, wish: ChatWish, found: tuple[Completion, ...]) -> None:
        if self._log is None:
            return
        asked = digest("chat-wish", msgspec.to_builtins(wish))
        for completion in found:
            step = CompletionStep(role=Role.CANDIDATE, request_digest=asked, completion=completion)
            self._log.write(step)


class _Shape:
    """How completions are written for one of the two routes."""

    def __init__(self, *, is_chat: bool) -> None:
        self._is_chat = is_chat
        self._prefix = "chatcmpl" if is_chat else "cmpl"
        self._object = "chat.completion" if is_chat else "text_completion"

    def whole(self, wish: ChatWish, found: tuple[Completion, ...]) -> Json:
        choices = [
            {"index": index, **self._said(completion), "logprobs": None, "finish_reason": _finish(completion)}
            for index, completion in enumerate(found)
        ]
        return {**self._head(wish, found, ""), "choices": choices, "usage": _usage(found)}

    def chunks(self, wish: ChatWish, found: tuple[Completion, ...]) -> Iterator[Json]:
        head = self._head(wish, found, ".chunk" if self._is_chat else "")
        head |= {"usage": None} if wish.with_usage else {}
        for index, completion in enumerate(found):
            for delta in self._deltas(completion):
                choice = {"index": index, **delta, "logprobs": None, "finish_reason": None}
                yield {**head, "choices": [choice]}
            end: dict[str, Json] = {"delta": {}} if self._is_chat else {"text": ""}
            choice = {"index": index, **end, "logprobs": None, "finish_reason": _finish(completion)}
            yield {**head, "choices": [choice]}
        if wish.with_usage:
            yield {**head, "choices": [], "usage": _usage(found)}

    def _head(self, wish: ChatWish, found: tuple[Completion, ...], kind: str) -> dict[str, Json]:
        said = [[c.content, msgspec.to_builtins(c.tool_calls), c.finish] for c in found]
        asked = digest("chat-wish", msgspec.to_builtins(wish))
        return {
            "id": deterministic_id(self._prefix, asked, digest("chat-answer", said)),
            "object": f"{self._object}{kind}",
            "created": 0,
            "model": wish.model,
        }

    def _said(self, completion: Completion) -> dict[str, Json]:
        if not self._is_chat:
            return {"text": completion.content or ""}
        message: dict[str, Json] = {"role": "assistant", "content": completion.content, "refusal": None}
        if completion.tool_calls:
            message["tool_calls"] = [_call(completion, place) for place in range(len(completion.tool_calls))]
        return {"message": message}

    def _deltas(self, completion: Completion) -> Iterator[dict[str, Json]]:
        pieces = _PIECES.findall(completion.content or "")
        if not self._is_chat:
            yield from ({"text": piece} for piece in pieces)
            return
        yield {"delta": {"role": "assistant", "content": None if completion.content is None else ""}}
        yield from ({"delta": {"content": piece}} for piece in pieces)
        for place in range(len(completion.tool_calls)):
            yield {"delta": {"tool_calls": [{"index": place, **_call(completion, place)}]}}


def _call(completion: Completion, place: int) -> dict[str, Json]:
    call = completion.tool_calls[place]
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _finish(completion: Completion) -> str:
    return _FINISH.get(completion.finish, completion.finish)


def _usage(found: tuple[Completion, ...]) -> Json:
    asked = found[0].prompt_tokens if found else 0
    said = sum(completion.completion_tokens for completion in found)
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}


def _card(name: str) -> Json:
    return {"id": name, "object": "model", "created": 0, "owned_by": "replay"}


def _check(found: tuple[Completion, ...]) -> None:
    """Refuse what is no answer: a full context, a schema that cannot constrain. Errors: WishError."""
    for completion in found:
        if completion.finish == "error":
            detail = completion.detail if isinstance(completion.detail, dict) else {}
            kind = str(detail.get("error", "error"))
            code = "context_length_exceeded" if kind == "overflow" else f"model_{kind}"
            raise WishError(f"the model gave no answer: {detail.get('message', kind)}", "messages", code=code)


async def _stream(send: Send, chunks: Iterator[Json]) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": _STREAM})
    for chunk in chunks:
        event = b"data: " + to_json(chunk) + b"\n\n"
        await send({"type": "http.response.body", "body": event, "more_body": True})
    await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})


async def _fail(send: Send, error: WishError) -> None:
    kind = "not_found_error" if error.status == 404 else "invalid_request_error"
    body = {"message": error.message, "type": kind, "param": error.param or None, "code": error.code}
    # A client that tries again would only be told the same.
    await send_json(send, {"error": body}, status=error.status, headers=[(b"x-should-retry", b"false")])
