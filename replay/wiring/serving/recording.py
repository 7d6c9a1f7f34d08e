"""REST exchanges of live services, recorded as they pass: a reverse proxy that remembers.

Of equal requests in flight one is sent. What comes back is masked, on disk, and only then the client's, who
gets what a replay will give. A failure is passed on as what it is and is no answer, unless errors are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

import msgspec

from replay.core.canonical import canonical_bytes
from replay.core.errors import InputError
from replay.core.trajectory import NoteStep
from replay.server.http_api import FAILURE_HEADER, PREFIX, Asked, Found
from replay.tools.asking import Asker, LiveFailureError, LiveRequest
from replay.tools.exchange import HttpAnswer
from replay.tools.exchanges import Turn
from replay.tools.flights import SingleFlight
from replay.tools.masking import Secrets
from replay.tools.redaction import MASK
from replay.tools.upstreams import Upstream, read_sent_always
from replay.wiring.serving.exchanges import Services, Visit, found_answer
from replay.wiring.upstreams import open_asker

__all__ = ["RecordingExchanges", "check_answer", "live_request"]

_BETWEEN: Final = frozenset(
    {"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect", "host"}
    | {"content-length", "accept-encoding", "proxy-authorization", "proxy-connection"}
)
"""Headers of the connection between this client and this server: not sent on."""

_SLASH: Final = re.compile(r"[/\\]")
"""Some services read the one as the other, and either where it is written with a percent sign."""
_ADDRESSES: Final = frozenset({"location", "content-location"})
_OF_PLACE: Final = frozenset({"domain", "path", "secure", "samesite"})
"""What binds a cookie to the upstream's address."""
_UNAUTHORIZED: Final = frozenset({401, 403, 407})
_RECORDED: Final = "recorded"
_NOT_WHOLE: Final = 502
_TOO_LATE: Final = 504
_FAILED: Final = ("http_misses", "upstream_failures")


class RecordingExchanges:
    """Answers REST requests from records, and asks live services for the others. Safe to share."""

    def __init__(self, services: Services, *, keep_errors: bool) -> None:
        """Ask the upstreams of the services' file.

        Errors:  MissingExtraError without the HTTP client; InputError when a secret is not to be had.
        """
        self._services = services
        self._keep_errors = keep_errors
        self._flights = SingleFlight()
        self._askers: Mapping[str, Asker] = {
            name: open_asker(upstream) for name, upstream in services.described.items()
        }

    def answer(self, asked: Asked) -> Found:
        """Answer one request. Raises MissError, explained, for a service that no upstream stands for."""
        visit = self._services.visit(asked)
        with self._flights.holding(visit.service.exchanges.keyed_call(visit.request).key):
            turn = visit.look_up()
            if turn.found is not None:
                return found_answer(turn, turn.found)
            is_kept = False
            try:
                found = self._ask(asked, visit, turn)
                is_kept = _RECORDED in found.counters
            finally:
                if not is_kept:
                    visit.session.give_back(turn)
            return found

    def _ask(self, asked: Asked, visit: Visit, turn: Turn) -> Found:
        asker = self._askers.get(asked.upstream)
        if asker is None:
            names = ", ".join(sorted(self._askers)) or "none"
            raise visit.session.miss(turn, refused={"upstream": f"there are only: {names}"})
        cookies: list[tuple[str, str]] = []
        try:
            said = asker.send(live_request(asked, asker.upstream))
            check_answer(said, asker.upstream.name)
            answer, cookies = (
                _redirect_here(said, asker.upstream, asked.upstream),
                _cookies(said, asked.upstream),
            )
        except LiveFailureError as failure:
            answer = _show_failure(failure, asker.secrets)
            if not self._keep_errors:
                shown = visit.session.shown(turn, asker.secrets.mask_answer(answer))
                return _failed(shown, failure, visit, turn)
        kept = visit.session.record(turn, answer)
        found = found_answer(turn, kept, counter=_RECORDED)
        return found._replace(headers=(*found.headers, *cookies))


def live_request(asked: Asked, upstream: Upstream) -> LiveRequest:
    """Make the request that is sent on: method, path, query, body as they came, and the client's headers.

    Errors:  InputError for a path that would leave the upstream's base address; LiveFailureError (kind
             `arguments`) for one with a mask, which must never be sent as a value.
    """
    if any(part in {".", ".."} for part in _SLASH.split(unquote(asked.path))):
        raise InputError(f"path {asked.path!r:.200}", expected="no . and .. among its parts")
    named = {
        word.strip().lower()
        for name, value in asked.headers
        if name.lower() == "connection"
        for word in value.split(",")
    }
    left = _BETWEEN | named | read_sent_always(upstream).headers.keys()
    request = LiveRequest(
        method=asked.method,
        path=asked.path,
        query_text=asked.query,
        headers=tuple((name, value) for name, value in asked.headers if name.lower() not in left),
        body=asked.body,
    )
    texts = (unquote(asked.path), unquote(asked.query), *(value for _, value in request.headers))
    if MASK.encode() in asked.body or any(MASK in text for text in texts):
        what = f"a masked secret cannot be asked; give upstream.{upstream.name} one of its own in the file"
        raise LiveFailureError("arguments", what, upstream.name)
    return request


def _cookies(answer: HttpAnswer, name: str) -> list[tuple[str, str]]:
    """Let a client that asked live have its session; cookies are neither kept nor a part of any key."""
    found = []
    for header, value in answer.headers:
        if header.lower() == "set-cookie":
            pair, *attributes = (part.strip() for part in value.split(";"))
            kept = [each for each in attributes if each.partition("=")[0].strip().lower() not in _OF_PLACE]
            found.append(("set-cookie", "; ".join([pair, *kept, f"Path={PREFIX}{name}"])))
    return found


def _redirect_here(answer: HttpAnswer, upstream: Upstream, name: str) -> HttpAnswer:
    """Let an address at the upstream lead back here: a client that follows it must not leave the proxy."""
    base = upstream.base_url.rstrip("/")

    def settle(header: str, value: str) -> str:
        is_there = header.lower() in _ADDRESSES and re.match(re.escape(base) + r"(?=[/?#]|$)", value)
        return f"{PREFIX}{name}{value[len(base) :]}" if is_there else value

    return msgspec.structs.replace(answer, headers=tuple((n, settle(n, v)) for n, v in answer.headers))


def check_answer(answer: HttpAnswer, upstream: str) -> None:
    """Tell refused credentials, broken protocols and cut bodies from answers; 404 is what an API says."""
    if answer.status in _UNAUTHORIZED:
        raise LiveFailureError("unauthorized", f"status {answer.status}", upstream, answer)
    if answer.status < 200:
        raise LiveFailureError("protocol", f"status {answer.status}", upstream, answer)
    if _is_cut_json(answer):
        # Its length was announced too short: on the wire the answer was whole.
        raise LiveFailureError("cut-body", "the body ends before its JSON does", upstream)


def _is_cut_json(answer: HttpAnswer) -> bool:
    """Tell JSON that stops in the middle from what is JSON in its own way (NaN, several lines, nothing)."""
    kind = dict(answer.headers).get("content-type", "").partition(";")[0].strip().lower()
    text = answer.body.decode("utf-8", "replace").rstrip()
    if not text or answer.cuts or (kind != "application/json" and not kind.endswith("+json")):
        return False
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos >= len(text) or error.msg.startswith("Unterminated")
    except RecursionError:
        return False
    return False


def _show_failure(failure: LiveFailureError, secrets: Secrets) -> HttpAnswer:
    """Make what a client gets of a failure: what the service said, where it said something whole."""
    answer = failure.answer
    if answer is None or answer.status < 200:
        said = canonical_bytes({"detail": secrets.mask_text(str(failure)), "failure": failure.kind})
        status = _TOO_LATE if failure.kind == "timeout" else _NOT_WHOLE
        answer = HttpAnswer(status=status, headers=(("content-type", "application/json"),), body=said)
    return msgspec.structs.replace(answer, headers=(*answer.headers, (FAILURE_HEADER, failure.kind)))


def _failed(answer: HttpAnswer, failure: LiveFailureError, visit: Visit, turn: Turn) -> Found:
    error = visit.session.miss(turn, refused={"upstream": failure.what})
    note = NoteStep(name="miss", data=error.want)
    return Found(answer.status, answer.headers, answer.parts, note, _FAILED, "tool-miss", str(error))
