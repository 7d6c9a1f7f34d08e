"""REST exchanges for a server: the services of an archive, the clients' sessions, answers from records."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec

from replay.core.canonical import canonical_bytes
from replay.core.errors import DamagedError, InputError, MissError, RecordMissError
from replay.core.trajectory import CallStep
from replay.core.types import Json, Mode, Provenance, Record, SnapshotKind, ToolCall, ToolResult
from replay.server.http_api import Asked, Found
from replay.tools.exchange import HttpAnswer, HttpKeys, HttpRequest, write_answer
from replay.tools.exchanges import Exchanges, ExchangeSession, Turn
from replay.tools.masking import DECLARED, Secrets
from replay.tools.misses import MissReporter
from replay.tools.redaction import scrub
from replay.tools.upstreams import Upstream, load_upstreams, read_sent_always
from replay.wiring.library import Library
from replay.wiring.serving.server import ServePlan

__all__ = ["ArchiveExchanges", "Service", "Services", "Visit", "found_answer"]

_MOST: Final = 1_000
"""Sessions and names of services that are remembered: clients may make up any number of them.

The session that was quiet for longest starts anew.
"""

_Name = TypeVar("_Name")
_Thing = TypeVar("_Thing")

_RULES: Final = "upstreams"
"""Table of what is particular to the keys of a service; id = name."""


class KeyRules(Record, frozen=True, kw_only=True):
    """What is particular to the keys of one service: told when it is recorded, held to ever after."""

    name: str
    left_out: tuple[str, ...] = ()
    """Globs of header names that say nothing of what is asked."""
    secret_fields: tuple[str, ...] = ()


class Service(NamedTuple):
    """One service: its exchanges, and what must not be stored of it."""

    exchanges: Exchanges
    secrets: Secrets


class Visit(NamedTuple):
    """One request on its way."""

    service: Service
    session: ExchangeSession
    request: HttpRequest

    def look_up(self) -> Turn:
        """Take the next turn of this request in its session."""
        return self.session.look_up(self.request)


class Services:
    """All services that clients may name. Safe to share between threads."""

    def __init__(self, plan: ServePlan, library: Library) -> None:
        """Know what the archive says of its services and, where a file was named, what that says.

        Errors:  InputError when the file and the archive do not say the same of one.
        """
        self._plan = plan
        self._library = library
        self._reporter = MissReporter(
            library.store,
            archive=plan.library.name,
            tools=library.store.scopes(SnapshotKind.API),
            error=RecordMissError if plan.mode is Mode.RECORD else MissError,
        )
        file = plan.upstream_file
        self._described = load_upstreams(Path(file), needs_routes=False) if file else {}
        self._sessions: OrderedDict[tuple[str, str], ExchangeSession] = OrderedDict()
        self._services: OrderedDict[str, Service] = OrderedDict()
        self._lock = threading.Lock()
        for upstream in self._described.values():
            self._agree(upstream)

    @property
    def described(self) -> Mapping[str, Upstream]:
        """The upstreams of the file, by name."""
        return self._described

    def visit(self, asked: Asked) -> Visit:
        """Find the service and the session of a request.

        Errors:  InputError for a session where several workers serve: each would count for itself.
        """
        if asked.session and self._plan.workers > 1:
            where = f"X-Replay-Session: {asked.session}"
            raise InputError("a session needs one worker", where=where, expected="--workers 1")
        request = HttpRequest(
            upstream=self._plan.upstreams.get(asked.upstream, asked.upstream),
            method=asked.method,
            path=asked.path,
            query=asked.query,
            headers=asked.headers,
            body=asked.body,
        )
        with self._lock:
            service = self._service(asked.upstream)
            session = self._session(service, asked)
        return Visit(service, session, request)

    def _session(self, service: Service, asked: Asked) -> ExchangeSession:
        if not asked.session:
            return service.exchanges.session("served")
        place = (asked.upstream, asked.session)
        session = self._sessions.pop(place, None) or service.exchanges.session(asked.session)
        _remember(self._sessions, place, session)
        return session

    def _service(self, name: str) -> Service:
        service = self._services.pop(name, None) or self._open(name)
        _remember(self._services, name, service)
        return service

    def _open(self, name: str) -> Service:
        upstream = self._described.get(name)
        rules = self._rules(name) or (KeyRules(name=name) if upstream is None else _rules_in(upstream))
        values = () if upstream is None else read_sent_always(upstream).secrets
        secrets = Secrets(values, fields=rules.secret_fields)
        exchanges = Exchanges(
            self._library.store,
            HttpKeys(left_out=rules.left_out, mask=partial(_mask, secrets)),
            self._reporter,
            overlay=None if self._library.store.overlay is None else self._library.store,
            keep_errors=self._plan.keep_errors,
            secrets=secrets,
        )
        return Service(exchanges, secrets)

    def _rules(self, name: str) -> KeyRules | None:
        row = self._library.store.row(_RULES, name)
        try:
            return None if row is None else msgspec.json.decode(row, type=KeyRules)
        except msgspec.DecodeError as error:
            raise DamagedError(f"the rules of {name!r} are none: {error}", where=f"table {_RULES}") from None

    def _agree(self, upstream: Upstream) -> None:
        """Write down what is particular to a service, and hold to what was written before."""
        rules = _rules_in(upstream)
        held, overlay = self._rules(upstream.name), self._library.store.overlay
        if held not in (None, rules):
            raise InputError(
                f"upstream.{upstream.name} has other left_out or secret_fields than what was recorded of it",
                where=self._plan.library.name,
                expected=canonical_bytes(msgspec.to_builtins(held)).decode(),
                next_step="record it under another name",
            )
        if held is None and overlay is not None:
            overlay.put_table(_RULES, [(rules.name, canonical_bytes(msgspec.to_builtins(rules)))])


class ArchiveExchanges:
    """Answers REST requests from one archive. Safe to share between threads."""

    def __init__(self, services: Services) -> None:
        """Answer for these services."""
        self._services = services

    def answer(self, asked: Asked) -> Found:
        """Answer one request. Raises MissError, explained."""
        visit = self._services.visit(asked)
        turn = visit.look_up()
        if turn.found is None:
            raise visit.session.miss(turn)
        return found_answer(turn, turn.found)


def found_answer(turn: Turn, answer: HttpAnswer, *, counter: str = "http_hits") -> Found:
    """Make what a client gets of a recorded answer."""
    result = ToolResult(
        content=write_answer(answer), provenance=Provenance.RECORDED, lookup="canonical", key=turn.key
    )
    call = ToolCall(id=f"call_{turn.key[7:19]}", name=turn.call.tool, arguments="")
    step = CallStep(call=call, tool=turn.call.tool, result=result)
    return Found(answer.status, answer.headers, answer.parts, step, (counter,))


def _rules_in(upstream: Upstream) -> KeyRules:
    return KeyRules(name=upstream.name, left_out=upstream.left_out, secret_fields=upstream.secret_fields)


def _remember(held: OrderedDict[_Name, _Thing], name: _Name, thing: _Thing) -> None:
    """Put a thing last, and forget the one that was not asked for the longest."""
    held[name] = thing
    if len(held) > _MOST:
        held.popitem(last=False)


def _mask(secrets: Secrets, value: Json) -> Json:
    """Take out known values and those of the fields that a file names; the others are the recipe's."""
    return scrub(secrets.mask_json(value), (rule for rule in secrets.rules if rule.name == DECLARED))
