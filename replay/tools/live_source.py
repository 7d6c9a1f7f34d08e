"""Tool calls answered by live upstreams: how a call becomes a request, and which answers are answers.

A failure is never an answer: it passes to the next source with its reason, or is recorded as the error that
it was where somebody asked for that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Final, Protocol
from urllib.parse import quote

import msgspec

from replay.core.canonical import canonical_bytes, parse_json
from replay.core.errors import CanonicalError
from replay.core.keys import call_key
from replay.core.protocols import ToolSource
from replay.core.types import CallRequest, Json, Origin, Provenance, RepeatPolicy, ToolResult
from replay.store.journal import Journal
from replay.tools.asking import Asker, LiveFailureError, LiveRequest
from replay.tools.exchange import HttpAnswer
from replay.tools.keys import KeyRecipe
from replay.tools.redaction import MASK
from replay.tools.upstreams import ASK_AGAIN, PROXY, Route, read_held

__all__ = ["AnswerForm", "JournaledSource", "LiveSource", "UpstreamChoice", "request_of"]

CheckRecord = Callable[[Json], str]
"""Says `accept` of a proxy's answer, or why not."""

_WITH_BODY: Final = frozenset({"PATCH", "POST", "PUT"})
_UNAUTHORIZED: Final = frozenset({401, 403, 407})
_PARAMETER_OPEN: Final = "{"


class AnswerForm(Protocol):
    """How a benchmark's calls are answered, where that is not just what an API says."""

    def answer(self, text: str) -> str:
        """Write what an API said."""
        ...

    def failure(self, why: str) -> str:
        """Write why there is no answer."""
        ...


class LiveSource:
    """Asks one upstream. Safe to share between threads."""

    name = "live"

    def __init__(
        self,
        asker: Asker,
        *,
        keep_errors: bool = False,
        check: CheckRecord | None = None,
        form: AnswerForm | None = None,
    ) -> None:
        """Ask through this client.

        keep_errors: return failures as error results instead of raising them.
        check: further rule for answers of a proxy.
        form: what the benchmark makes of an API's own answers; a proxy's have its form already.
        """
        self._asker = asker
        self._form = None if asker.upstream.kind == PROXY else form
        self._keep_errors = keep_errors
        self._check = check

    @property
    def asks_again(self) -> bool:
        """True when equal calls of one episode are asked again."""
        return self._asker.upstream.repeats == ASK_AGAIN

    def answer(self, request: CallRequest, *, occurrence: int) -> ToolResult | None:  # noqa: ARG002
        """Ask, when this upstream answers the tool.

        Errors:  LiveFailureError for everything that is no answer, unless failures are kept.
        """
        upstream = self._asker.upstream
        if not upstream.covers(request.tool):
            return None
        route = upstream.route_of(request.tool)
        try:
            asked = request_of(request, route, self._proxy_key())
            return self._read(self._asker.send(asked))
        except LiveFailureError as failure:
            if not self._keep_errors or failure.kind == "arguments":
                raise
            return self._failed(failure)

    def _proxy_key(self) -> str:
        upstream = self._asker.upstream
        is_proxy = upstream.kind == PROXY and upstream.key is not None
        return read_held(upstream.key, upstream) if is_proxy and upstream.key is not None else ""

    def _read(self, answer: HttpAnswer) -> ToolResult:
        upstream = self._asker.upstream
        kind = _fault_of(answer)
        if kind:
            raise LiveFailureError(kind, f"status {answer.status}", upstream.name, answer)
        text, body = _content(answer, upstream.name, must_be_json=upstream.kind == PROXY)
        fault = self._refusal(body) if upstream.kind == PROXY else ""
        if fault:
            raise LiveFailureError("error", fault, upstream.name, answer)
        return self._result(text if self._form is None else self._form.answer(text))

    def _refusal(self, body: Json) -> str:
        if not isinstance(body, dict) or "error" not in body or "response" not in body:
            return "neither error nor response"
        if body["error"] != "":
            return str(body["error"])[:200]
        verdict = self._check(body) if self._check is not None else "accept"
        return "" if verdict == "accept" else verdict

    def _failed(self, failure: LiveFailureError) -> ToolResult:
        answer = failure.answer
        if self._form is not None:
            text = self._form.failure(failure.what)
        elif answer is not None and answer.body:
            text = answer.body.decode("utf-8", "replace")
        elif self._asker.upstream.kind == PROXY:
            text = json.dumps({"error": failure.what, "response": ""})
        else:
            text = failure.what
        return self._result(text, is_error=True)

    def _result(self, text: str, *, is_error: bool = False) -> ToolResult:
        masked = self._asker.secrets.mask_body(text)
        try:
            body = parse_json(masked)
        except CanonicalError:
            body = masked
        return ToolResult(
            content=masked,
            body=body,
            provenance=Provenance.RECORDED,
            origin=Origin.REAL,
            is_error=is_error,
        )


class JournaledSource:
    """Keeps what another source says the moment it says it, and asks each question once over all workers."""

    def __init__(self, inner: ToolSource, journal: Journal, recipe: KeyRecipe) -> None:
        """Keep the answers of `inner`; errors that it returns are kept too."""
        self.name = inner.name
        self._inner = inner
        self._journal = journal
        self._recipe = recipe

    def answer(self, request: CallRequest, *, occurrence: int) -> ToolResult | None:
        """Return what was said to this repeat of the call before, else ask. Failures are not kept."""
        key = call_key(self._recipe.apply(request))
        with self._journal.holding(key):
            held = self._journal.read(key, occurrence)
            if held is not None:
                return msgspec.convert(held, ToolResult)
            result = self._inner.answer(request, occurrence=occurrence)
            if result is not None:
                self._journal.write(key, occurrence, msgspec.to_builtins(result))
            return result


class UpstreamChoice:
    """Several upstreams as one source: the first that answers a tool is asked."""

    name = "live"

    def __init__(self, sources: Sequence[LiveSource]) -> None:
        """Ask them in this order."""
        self._sources = tuple(sources)

    @property
    def repeats(self) -> RepeatPolicy | None:
        """What record mode does with equal calls, where an upstream says it; None leaves it to the tools."""
        return RepeatPolicy.ONCE if any(source.asks_again for source in self._sources) else None

    def answer(self, request: CallRequest, *, occurrence: int) -> ToolResult | None:
        """Ask the upstream of this tool; None when there is none. Raises LiveFailureError."""
        for source in self._sources:
            result = source.answer(request, occurrence=occurrence)
            if result is not None:
                return result
        return None


def request_of(request: CallRequest, route: Route | None, key: str = "") -> LiveRequest:
    """Make the HTTP request of a call: by its route, or as the proxy of StableToolBench wants it.

    Errors:  LiveFailureError (kind `arguments`) for arguments that no request can be made of, masks among
             them: a mask must never be sent as a value.
    """
    if _holds_mask(request.arguments):
        raise LiveFailureError("arguments", "a masked secret cannot be asked", request.tool)
    if route is None:
        return _for_proxy(request, key)
    if not isinstance(request.arguments, dict):
        raise LiveFailureError("arguments", "they are no object", request.tool)
    path, rest = _fill(route.path, request)
    if route.method in _WITH_BODY:
        headers = (("content-type", "application/json"),)
        return LiveRequest(method=route.method, path=path, headers=headers, body=canonical_bytes(rest))
    pairs = [(name, text) for name, value in rest.items() for text in _texts(value)]
    return LiveRequest(method=route.method, path=path, query=tuple(pairs))


def _for_proxy(request: CallRequest, key: str) -> LiveRequest:
    """Source: server/main.py at aa4ed9f: names as the cache spells them, the tool's cut at `_for_`."""
    parts = request.tool.split("/")
    if len(parts) != 3:
        raise LiveFailureError("arguments", "not CATEGORY/TOOL/API", request.tool)
    category, tool, api = parts
    body = {
        "category": category,
        "tool_name": tool.split("_for_")[0],
        "api_name": api,
        "tool_input": request.arguments,
        "strip": "",
        "toolbench_key": key,
    }
    headers = (("content-type", "application/json"), ("accept", "application/json"), ("toolbench_key", key))
    return LiveRequest(method="POST", headers=headers if key else headers[:2], body=json.dumps(body).encode())


def _fill(path: str, request: CallRequest) -> tuple[str, dict[str, Json]]:
    rest = dict(request.arguments)
    filled: list[str] = []
    for index, piece in enumerate(path.split(_PARAMETER_OPEN)):
        name, _, after = piece.partition("}") if index else ("", "", piece)
        if index:
            value = rest.pop(name, None)
            if value is None or isinstance(value, (dict, list)):
                raise LiveFailureError("arguments", f"{name!r} is needed in the path", request.tool)
            text = quote(_texts(value)[0], safe="")
            if text in {"", ".", ".."}:
                raise LiveFailureError("arguments", f"{name!r} is no part of a path", request.tool)
            filled.append(text)
        filled.append(after)
    return "".join(filled), rest


def _texts(value: Json) -> list[str]:
    """Write a value as query fields: a list repeats its field, null leaves it out."""
    if value is None:
        return []
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    if isinstance(value, str):
        return [value]
    return [canonical_bytes(value).decode()]


def _holds_mask(value: Json) -> bool:
    if isinstance(value, dict):
        return MASK in value or any(_holds_mask(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return any(_holds_mask(item) for item in value)
    return isinstance(value, str) and MASK in value


def _fault_of(answer: HttpAnswer) -> str:
    """Name a status that is no answer; 404 and its like are what an API says."""
    if answer.status in _UNAUTHORIZED:
        return "unauthorized"
    if answer.status < 200:
        return "protocol"
    return "redirected" if 300 <= answer.status < 400 else ""


def _content(answer: HttpAnswer, name: str, *, must_be_json: bool) -> tuple[str, Json]:
    try:
        text = answer.body.decode("utf-8")
    except UnicodeDecodeError:
        raise LiveFailureError("not-text", "the body is not UTF-8", name, answer) from None
    kind = dict(answer.headers).get("content-type", "").partition(";")[0].strip().lower()
    if not must_be_json and kind != "application/json" and not kind.endswith("+json"):
        return text, text
    try:
        return text, json.loads(text) if must_be_json else parse_json(text)
    except (ValueError, RecursionError, CanonicalError):
        if answer.body or must_be_json:
            # A body that was cut or runs on is most often seen by this.
            raise LiveFailureError(
                "not-json", "the body is not the JSON it says it is", name, answer
            ) from None
        return text, text
