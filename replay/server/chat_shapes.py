"""Answers as an OpenAI client wants them: whole or in chunks, for chat and for text completions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from replay.core.canonical import digest
from replay.core.determinism import deterministic_id
from replay.core.logprobs import RankedToken, read_logprobs
from replay.core.types import Completion, Json
from replay.server.chat_pieces import Placed, place_tokens
from replay.server.chat_wishes import ChatWish, WishError

__all__ = ["ChatShape", "calls_of", "fault_of", "finish_of", "tokens_of"]

_FINISH: Final = {"refused": "content_filter"}


class ChatShape:
    """How the answer to one request is written. Its id is a function of the request alone."""

    def __init__(self, wish: ChatWish, *, is_chat: bool) -> None:
        """Write for a chat client, or for one of text completions."""
        self.is_chat = is_chat
        self._wish = wish
        prefix = "chatcmpl" if is_chat else "cmpl"
        self._id = deterministic_id(prefix, digest("chat-wish", msgspec.to_builtins(wish)))

    def whole(self, found: Sequence[Completion]) -> Json:
        """Write the whole answer."""
        choices = [
            {
                "index": index,
                **self._said(completion),
                "logprobs": self._ranks_of(completion),
                "finish_reason": finish_of(completion),
            }
            for index, completion in enumerate(found)
        ]
        kind = "chat.completion" if self.is_chat else "text_completion"
        return {**self._head(kind), "choices": choices, "usage": _usage(found)}

    def chunk(
        self, index: int, delta: dict[str, Json], *, tokens: Sequence[Placed] = (), finish: str | None = None
    ) -> Json:
        """Write one event of a stream.

        delta: what is new of a chat message; of a text its one member `content`.
        """
        told = {"delta": delta} if self.is_chat else {"text": delta.get("content") or ""}
        ranks = self._ranks(tokens) if tokens else None
        choice = {"index": index, **told, "logprobs": ranks, "finish_reason": finish}
        return {**self._chunk_head(), "choices": [choice]}

    def usage_chunk(self, found: Sequence[Completion]) -> Json:
        """Write the last event of a stream that shows its usage."""
        return {**self._chunk_head(), "choices": [], "usage": _usage(found)}

    def _ranks_of(self, completion: Completion) -> Json:
        if self._wish.top_logprobs is None:
            return None
        return self._ranks(place_tokens(completion.content or "", tokens_of(completion)))

    def _ranks(self, tokens: Sequence[Placed]) -> Json:
        """Write log-probabilities, with as many alternatives as are wanted; None where none are."""
        top = self._wish.top_logprobs
        if top is None:
            return None
        if self.is_chat:
            return {"content": [_rank(placed.token, top) for placed in tokens], "refusal": None}
        return {
            "tokens": [_name(placed.token.piece) for placed in tokens],
            "token_logprobs": [placed.token.logprob for placed in tokens],
            "top_logprobs": [_named(placed.token, top) for placed in tokens] if top else None,
            "text_offset": [placed.offset for placed in tokens],
        }

    def _head(self, kind: str) -> dict[str, Json]:
        return {"id": self._id, "object": kind, "created": 0, "model": self._wish.model}

    def _chunk_head(self) -> dict[str, Json]:
        head = self._head("chat.completion.chunk" if self.is_chat else "text_completion")
        return head | ({"usage": None} if self._wish.with_usage else {})

    def _said(self, completion: Completion) -> dict[str, Json]:
        if not self.is_chat:
            return {"text": completion.content or ""}
        message: dict[str, Json] = {"role": "assistant", "content": completion.content, "refusal": None}
        if completion.tool_calls:
            message["tool_calls"] = calls_of(completion)
        return {"message": message}


def fault_of(completion: Completion) -> WishError | None:
    """Say why a completion is no answer: a full context, a schema that cannot constrain; None when it is."""
    if completion.finish != "error":
        return None
    detail = completion.detail if isinstance(completion.detail, dict) else {}
    kind = str(detail.get("error", "error"))
    code = "context_length_exceeded" if kind == "overflow" else f"model_{kind}"
    return WishError(f"the model gave no answer: {detail.get('message', kind)}", "messages", code=code)


def finish_of(completion: Completion) -> str:
    """Name the reason why an answer ends."""
    return _FINISH.get(completion.finish, completion.finish)


def calls_of(completion: Completion) -> list[Json]:
    """Write the calls of an answer."""
    return [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in completion.tool_calls
    ]


def tokens_of(completion: Completion) -> tuple[RankedToken, ...]:
    """Read the tokens of an answer that was asked for log-probabilities."""
    held = read_logprobs(completion.detail)
    return () if held is None else held.tokens


def _rank(token: RankedToken, top: int) -> Json:
    others = [_ranked(piece, value) for piece, value in token.top[:top]]
    return {**_ranked(token.piece, token.logprob), "top_logprobs": others}


def _ranked(piece: bytes, value: float) -> dict[str, Json]:
    return {"token": _name(piece), "bytes": list(piece), "logprob": value}


def _named(token: RankedToken, top: int) -> Json:
    """Write alternatives by name; of two with one name the likelier stays."""
    return {_name(piece): value for piece, value in reversed(token.top[:top])}


def _name(piece: bytes) -> str:
    """Write a token as text, or its bytes where they are no whole characters."""
    try:
        return piece.decode("utf-8")
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in piece)


def _usage(found: Sequence[Completion]) -> Json:
    asked = found[0].prompt_tokens if found else 0
    said = sum(completion.completion_tokens for completion in found)
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
