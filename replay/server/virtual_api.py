"""`POST /virtual`: StableToolBench's virtual API server, answered from a sealed store.

Each request stands alone: the same request gets the first recorded answer, whoever asks and however often, as
upstream's cache gives it. So answers may be kept in memory, and any number of workers say the same.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from starlette.types import Receive, Scope, Send

from replay.core.canonical import digest
from replay.core.errors import CanonicalError, MissError
from replay.core.trajectory import CallStep, NoteStep, Step
from replay.core.types import CallRequest, Json, Provenance, ToolCall, ToolResult
from replay.server.counters import Counters
from replay.server.fields import BodyFaultError, read_fields
from replay.server.known import Header
from replay.server.waiting import run_aside
from replay.server.wire import (
    find_header,
    header_of,
    read_body,
    send_answer,
    send_json,
    to_json,
    write_message,
)

__all__ = [
    "MADE_HEADER",
    "MISS_HEADER",
    "CallRules",
    "CallSources",
    "Found",
    "RequestLog",
    "Virtual",
    "write_result",
]

MISS_HEADER: Final = b"x-replay-miss"
"""Holds the key of what was not recorded; a miss is otherwise an answer like any other, with status 200."""

_KEPT_BYTES: Final = 64 * 1024 * 1024
"""Answers that a worker keeps in memory: those of all calls of a large benchmark run, with their requests."""
_LONGEST_KEPT: Final = 256 * 1024
_AS_VALUES: Final = 25
"""Memory of JSON as values, for each byte of its text: an empty list takes that much."""
_KEPT_BESIDE: Final = 512
"""Memory of an answer that is kept, beside its bytes."""
MADE_HEADER: Final = b"x-replay-provenance"
"""Says how an answer that no API gave was made."""

_MADE: Final = (Provenance.SIMULATED, Provenance.GENERATED)
_METHOD: Final = "POST"
_MISSES: Final = "virtual_misses"


Fields = Mapping[str, str | dict[str, Json]]


class CallRules(Protocol):
    """How the benchmark reads a call."""

    def read(self, fields: Fields) -> CallRequest | dict[str, Json]:
        """Make the lookup of a call, or the answer where the rules themselves answer it."""
        ...


class Found(NamedTuple):
    """An answer from records."""

    body: bytes
    """As it is sent."""
    provenance: Provenance
    read: Callable[[], ToolResult]
    """Reads it whole, for whoever writes it down."""


class CallSources(Protocol):
    """Who answers calls."""

    def hit(self, request: CallRequest) -> Found | None:
        """Answer from records, or None. Called on the event loop, so it must not wait for anything."""
        ...

    def resolve(self, request: CallRequest) -> ToolResult:
        """Answer in another way, which may take long. Raises MissError, explained."""
        ...


class RequestLog(Protocol):
    """Where requests are written down."""

    def write(self, step: Step, *, stop: str = "finished", detail: str = "") -> None:
        """Write one request as the one step of its episode."""
        ...


class _Held(NamedTuple):
    body: bytes
    counter: str
    step: Step | None
    """What is written down; nothing for a hit where nobody writes."""
    stop: str = "finished"
    detail: str = ""
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Virtual:
    """The route, as an ASGI application."""

    def __init__(
        self,
        rules: CallRules,
        sources: CallSources,
        *,
        counters: Counters,
        log: RequestLog | None = None,
        max_body: int,
        keeps_misses: bool = True,
    ) -> None:
        """Answer calls by these rules from these sources.

        max_body: bytes of one request.
        keeps_misses: whether a miss stays one; False where somebody is asked again.
        """
        self._rules = rules
        self._sources = sources
        self._counters = counters
        self._log = log
        self._max_body = max_body
        self._keeps_misses = keeps_misses
        self._kept: OrderedDict[tuple[bytes, bytes | None], _Held] = OrderedDict()
        self._kept_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call."""
        if scope["method"] != _METHOD:
            allow = [(b"allow", b"POST")]
            await send_json(send, {"detail": "Method Not Allowed"}, status=405, headers=allow)
            return
        body = await read_body(scope, receive, limit=self._max_body)
        media = header_of(scope, b"content-type")
        held = self._kept.get((body, media))
        if held is None:
            try:
                fields = _read(body, media)
            except BodyFaultError as fault:
                self._counters.add("refused")
                await send_json(send, {"detail": fault.detail}, status=422)
                return
            held = await self._answer(fields)
            if self._keeps_misses or held.counter != _MISSES:
                self._keep((body, media), held)
        self._counters.add(held.counter)
        if self._log is not None and held.step is not None:
            self._log.write(held.step, stop=held.stop, detail=held.detail)
        await send_answer(send, held.body, headers=held.headers)

    def recall(self, headers: Sequence[Header], body: bytes) -> bytes | None:
        """Give the whole HTTP answer to a POST that memory, rules or records answer at once, or None.

        Errors:  those of the records; StoreError when it cannot be written down.
        """
        media = find_header(headers, b"content-type")
        held = self._kept.get((body, media))
        if held is None:
            if len(body) > self._max_body:
                return None
            try:
                found = self._find(_read(body, media))
            except BodyFaultError:
                return None
            if isinstance(found, CallRequest):
                return None
            held = found
            self._keep((body, media), held)
        if self._log is not None and held.step is not None:
            self._log.write(held.step, stop=held.stop, detail=held.detail)
        self._counters.add(held.counter)
        return write_message(held.body, headers=held.headers)

    def _find(self, fields: Fields) -> _Held | CallRequest:
        """Answer from the rules or from records; what neither answers is to be asked for elsewhere."""
        read = self._rules.read(fields)
        if isinstance(read, dict):
            return _by_rule(fields, read)
        try:
            found = self._sources.hit(read)
        except CanonicalError as error:
            return _unhashable(fields, error)
        if found is None:
            return read
        step = None if self._log is None else _step(fields, read, found.read())
        return _Held(found.body, _counter(found.provenance), step, headers=_label(found.provenance))

    async def _answer(self, fields: Fields) -> _Held:
        found = self._find(fields)
        if isinstance(found, _Held):
            return found
        try:
            result = await run_aside(self._sources.resolve, found)
        except MissError as error:
            return _miss(error)
        except CanonicalError as error:
            return _unhashable(fields, error)
        made = _label(result.provenance)
        return _Held(
            write_result(result), _counter(result.provenance), _step(fields, found, result), headers=made
        )

    def _keep(self, place: tuple[bytes, bytes | None], held: _Held) -> None:
        if self._log is None:
            held = held._replace(step=None)
        size = _size_of(place, held)
        if size > _LONGEST_KEPT or place in self._kept:
            return
        self._kept[place] = held
        self._kept_bytes += size
        while self._kept_bytes > _KEPT_BYTES:
            self._kept_bytes -= _size_of(*self._kept.popitem(last=False))


def _size_of(place: tuple[bytes, bytes | None], held: _Held) -> int:
    size = len(place[0]) + len(held.body) + _KEPT_BESIDE
    if held.step is None:
        return size
    # What is written down holds the answer twice more, as text and as value; of a miss it holds the call.
    return size + (_AS_VALUES * len(place[0]) if held.counter == _MISSES else 2 * len(held.body))


def _label(provenance: Provenance) -> tuple[tuple[bytes, bytes], ...]:
    """Say of an answer that it was made up; what was recorded has the original's bytes and no more."""
    return ((MADE_HEADER, provenance.value.encode()),) if provenance in _MADE else ()


def _read(body: bytes, media: bytes | None) -> Fields:
    return read_fields(body, None if media is None else media.decode("latin-1"))


def _unhashable(fields: Fields, error: CanonicalError) -> _Held:
    return _by_rule(fields, {"error": f"Tool input refused: {error}", "response": ""})


def _counter(provenance: Provenance) -> str:
    return "virtual_simulated" if provenance in _MADE else "virtual_hits"


def _step(fields: Fields, read: CallRequest, result: ToolResult) -> CallStep:
    return CallStep(call=read.call or _written(fields), tool=read.tool, result=result)


def _by_rule(fields: Fields, answer: dict[str, Json]) -> _Held:
    text = to_json(answer).decode()
    result = ToolResult(content=text, provenance=Provenance.WORLD, is_error=bool(answer.get("error")))
    step = CallStep(call=_written(fields), tool="", result=result)
    return _Held(text.encode(), "virtual_errors", step)


def _miss(error: MissError) -> _Held:
    want = error.want
    key = want.get("key", "") if isinstance(want, dict) else ""
    answer = {"error": f"Replay miss error: {error}", "response": ""}
    step = NoteStep(name="miss", data=want)
    headers = ((MISS_HEADER, str(key).encode()),)
    return _Held(to_json(answer), _MISSES, step, "tool-miss", str(error), headers)


def _written(fields: Fields) -> ToolCall:
    """The call as the client wrote it, without its key, which is a secret."""
    given = fields["tool_input"]
    text = given if isinstance(given, str) else _as_text(given)
    name = "/".join(str(fields[part]) for part in ("category", "tool_name", "api_name"))
    return ToolCall(id=f"call_{digest('virtual-call', [name, text])[7:19]}", name=name, arguments=text)


def _as_text(given: Json) -> str:
    try:
        return to_json(given).decode()
    except ValueError:  # NaN, which clients in Python write though JSON has none
        return json.dumps(given, separators=(",", ":"))


def write_result(result: ToolResult) -> bytes:
    """Write what is sent: a recorded JSON value, or what upstream's parser makes of a recorded text.

    A text that is no JSON is sent as a JSON string; so is one whose value no JSON can carry (NaN).
    """
    body = result.body
    if isinstance(body, dict) and body.keys() == {"base64"}:
        return to_json(result.content)
    if not isinstance(body, str) or body != result.content:
        return to_json(body)
    try:
        return to_json(json.loads(body))
    except (ValueError, RecursionError):
        return to_json(body)
