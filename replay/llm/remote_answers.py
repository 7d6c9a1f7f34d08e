"""What an OpenAI-compatible API answered, read strictly: one document, or the events of a stream joined."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import msgspec

from replay.core.logprobs import NO_CHANCE, RankedToken
from replay.core.types import Json, Record

__all__ = ["RemoteAnswer", "RemoteCall", "read_answer_text", "read_events", "read_ranks"]

_MAX_CALLS: Final = 128
_DONE: Final = "[DONE]"


class RemoteCall(Record, frozen=True, kw_only=True):
    """One call, its id empty where the upstream gave none."""

    id: str = ""
    name: str
    arguments: str


class RemoteAnswer(Record, frozen=True, kw_only=True):
    """The first choice of an answer."""

    content: str | None
    refusal: str = ""
    calls: tuple[RemoteCall, ...] = ()
    finish: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    ranks: tuple[Json, ...] | None = None
    """Log-probabilities of the tokens of the text as they came; None where there were none."""


class _Rank(msgspec.Struct):
    token: str
    logprob: float
    bytes: list[int] | None = None


class _TokenRank(_Rank):
    top_logprobs: list[_Rank] | None = None


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: Json = None


class _Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Part(msgspec.Struct):
    text: str | None = None


class _Message(msgspec.Struct):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    index: int = 0
    message: _Message | None = None
    delta: _Message | None = None
    finish_reason: str | None = None
    logprobs: Json = None


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Document(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Json = None


def read_answer_text(raw: bytes) -> RemoteAnswer | str:
    """Read a whole answer; a text says what is wrong with it."""
    document = _decode(raw)
    if isinstance(document, str):
        return document
    choice = next(iter(document.choices or ()), None)
    if choice is None or choice.message is None:
        return _without_choice(document)
    message, usage = choice.message, document.usage or _Usage()
    calls = [_call(call) for call in message.tool_calls or ()]
    faults = [call for call in calls if isinstance(call, str)]
    if faults or len(calls) > _MAX_CALLS:
        return faults[0] if faults else f"{len(calls)} calls"
    return RemoteAnswer(
        content=_text(message.content),
        refusal=message.refusal or "",
        calls=tuple(call for call in calls if isinstance(call, RemoteCall)),
        finish=choice.finish_reason or "none",
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        ranks=_ranks(choice),
    )


def read_ranks(ranks: tuple[Json, ...] | None) -> tuple[RankedToken, ...] | str:
    """Read log-probabilities of tokens; a text says what is wrong with them."""
    if ranks is None:
        return "log-probabilities were asked for and none came"
    try:
        found = msgspec.convert(ranks, list[_TokenRank])
        return tuple(
            RankedToken(
                piece=_piece(rank),
                logprob=max(rank.logprob, NO_CHANCE),
                top=tuple(
                    (_piece(other), max(other.logprob, NO_CHANCE)) for other in rank.top_logprobs or ()
                ),
            )
            for rank in found
        )
    except ValueError as error:
        return f"log-probabilities that are none: {error}"[:300]


def read_events(raw: bytes) -> RemoteAnswer | str:
    """Join the events of a stream; a text says what is wrong with it. A stream without its end is cut."""
    joined = _Joined()
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return "the stream is not UTF-8"
    for data in _data_of(text):
        if data == _DONE:
            joined.is_done = True
            break
        fault = joined.add(data)
        if fault:
            return fault
    return joined.read()


class _Joined:
    """A message that grows with each event."""

    def __init__(self) -> None:
        self.is_done = False
        self._content: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int, tuple[list[str], list[str], list[str]]] = {}
        self._finish = ""
        self._usage = _Usage()
        self._ranks: list[Json] | None = None

    def add(self, data: str) -> str:
        """Add one event; return what is wrong with it, or nothing."""
        document = _decode(data.encode())
        if isinstance(document, str):
            return document
        if document.error is not None:
            return _without_choice(document)
        self._usage = document.usage or self._usage
        for choice in document.choices or ():
            if choice.index == 0:
                self._finish = choice.finish_reason or self._finish
                self._add_ranks(choice)
                self._add_delta(choice.delta or _Message())
        return "" if len(self._calls) <= _MAX_CALLS else f"more than {_MAX_CALLS} calls"

    def read(self) -> RemoteAnswer | str:
        """Return the whole message, or what is missing."""
        if not self._finish:
            return "the stream was cut" if not self.is_done else "the stream has no finish reason"
        calls = [
            RemoteCall(id="".join(ids), name="".join(names), arguments="".join(parts))
            for _, (ids, names, parts) in sorted(self._calls.items())
        ]
        if any(not call.name for call in calls):
            return "a call without a name"
        return RemoteAnswer(
            content="".join(self._content) if self._content else None,
            refusal="".join(self._refusal),
            calls=tuple(calls),
            finish=self._finish,
            prompt_tokens=self._usage.prompt_tokens,
            completion_tokens=self._usage.completion_tokens,
            ranks=None if self._ranks is None else tuple(self._ranks),
        )

    def _add_ranks(self, choice: _Choice) -> None:
        ranks = _ranks(choice)
        if ranks is not None:
            self._ranks = self._ranks or []
            self._ranks += ranks

    def _add_delta(self, delta: _Message) -> None:
        text = _text(delta.content)
        self._content += [text] if text is not None else []
        self._refusal += [delta.refusal] if delta.refusal else []
        for position, call in enumerate(delta.tool_calls or ()):
            index = position if call.index is None else call.index
            ids, names, parts = self._calls.setdefault(index, ([], [], []))
            ids += [call.id] if call.id and not ids else []
            function = call.function or _Function()
            # Some servers repeat the name with every event; it is never sent in pieces.
            names += [function.name] if function.name and not names else []
            parts += [_arguments(function.arguments)] if function.arguments is not None else []


def _data_of(text: str) -> Iterator[str]:
    """Yield the data of each event; lines of one event are joined, comments and other fields left out."""
    lines: list[str] = []
    for line in [*text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""]:
        if line.startswith("data:"):
            lines.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and lines:
            yield "\n".join(lines)
            lines = []


def _decode(raw: bytes) -> _Document | str:
    try:
        return msgspec.json.decode(raw, type=_Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return f"not a chat answer: {error}"[:300]


def _ranks(choice: _Choice) -> tuple[Json, ...] | None:
    content = choice.logprobs.get("content") if isinstance(choice.logprobs, dict) else None
    return tuple(content) if isinstance(content, list) else None


def _piece(rank: _Rank) -> bytes:
    return rank.token.encode("utf-8") if rank.bytes is None else bytes(rank.bytes)


def _without_choice(document: _Document) -> str:
    error = document.error
    said = error.get("message") if isinstance(error, dict) else error
    return f"the upstream said {said!s:.200}" if said else "no choice in the answer"


def _text(content: str | list[_Part] | None) -> str | None:
    if isinstance(content, list):
        return "".join(part.text or "" for part in content)
    return content


def _call(call: _Call) -> RemoteCall | str:
    function = call.function or _Function()
    if not function.name:
        return "a call without a name"
    return RemoteCall(id=call.id or "", name=function.name, arguments=_arguments(function.arguments))


def _arguments(value: Json) -> str:
    """Arguments as text; some servers send the object itself."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
