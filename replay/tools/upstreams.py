"""Live upstreams as data: where they are, how they are asked, and how politely.

One TOML file names them; values that are secret are never in it, only the file or the environment variable
that holds each. Nothing here opens a connection.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from replay.core.determinism import read_environment
from replay.core.errors import InputError
from replay.core.types import Json, Record
from replay.tools.redaction import API_KEYS, CREDENTIALS, PASSWORDS

__all__ = [
    "KINDS",
    "Held",
    "Route",
    "SentAlways",
    "Upstream",
    "describe_upstream",
    "load_upstreams",
    "read_held",
    "read_sent_always",
]

PROXY: Final = "stabletoolbench-proxy"
RAPIDAPI: Final = "rapidapi"
REST: Final = "rest"
OPENAI: Final = "openai"
KINDS: Final = (OPENAI, RAPIDAPI, REST, PROXY)

ASK_AGAIN: Final = "ask-again"
STICKY: Final = "sticky-last"
_REPEATS: Final = (ASK_AGAIN, STICKY)

FILTERS: Final = ("errors", "upstream")

_MAX_FILE_BYTES: Final = 1024 * 1024
_MAX_SECRET_BYTES: Final = 64 * 1024
_METHODS: Final = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PARAMETER: Final = re.compile(r"\{([^{}]*)\}")


class Held(Record, frozen=True, kw_only=True):
    """Where a secret value is held: one of the two."""

    env: str = ""
    """Name of an environment variable."""
    file: str = ""
    """Path of a file, relative to the folder of the TOML file; its text without white space around it."""
    prefix: str = ""
    """What comes before the value in a header, for example `Bearer `."""


class Route(Record, frozen=True, kw_only=True):
    """How the calls of some tools become HTTP requests."""

    tool: str
    """Glob over tool identities."""
    method: str = "GET"
    path: str = "/"
    """Arguments named in braces go here; the others into the query or, for POST, PUT and PATCH, the body."""


class Upstream(Record, frozen=True, kw_only=True):
    """One live upstream."""

    name: str = ""
    kind: str
    base_url: str
    tools: tuple[str, ...] = ("*",)
    """Globs over the tool identities that it answers."""
    routes: tuple[Route, ...] = ()
    headers: dict[str, str | Held] = msgspec.field(default_factory=dict)
    query: dict[str, str | Held] = msgspec.field(default_factory=dict)
    """Sent with every request; never a part of a key."""
    key: Held | None = None
    """The account's key, sent where this kind of upstream wants it."""
    model: str = ""
    """What an OpenAI-compatible upstream calls the model; empty for the upstream's own name."""
    stream: bool = False
    """Ask an OpenAI-compatible upstream for a streamed answer."""
    options: Json = None
    """Further fields of each request to a model; a part of its identity."""
    timeout_s: float = 30.0
    """Units: seconds for one attempt, from the first byte sent to the last one read."""
    retries: int = 3
    backoff_s: float = 0.5
    """Before the first retry; doubled for each further one."""
    max_backoff_s: float = 30.0
    per_second: float = 0.0
    """Requests a second over all workers; 0 for no limit."""
    at_once: int = 4
    """Requests in flight over all workers, at least one for each."""
    repeats: str = STICKY
    """Equal calls of one episode: `sticky-last` keeps the answer, `ask-again` records the next."""
    filter: str = "errors"
    """Which answers of a proxy are failures: those with an `error`, or all that upstream's filter rejects."""
    left_out: tuple[str, ...] = ()
    """Globs of header names that say nothing of what is asked."""
    secret_fields: tuple[str, ...] = ()
    """Further field names whose values are masked."""
    max_body_bytes: int = 16 * 1024 * 1024
    ca_file: str = ""
    """Certificates to trust instead of the system's, relative to the folder of the TOML file."""
    folder: str = ""
    """Folder of the TOML file; set by the loader."""

    def answers(self, tool: str) -> bool:
        """Tell whether a tool's calls go to this upstream."""
        return self.kind != OPENAI and any(fnmatchcase(tool, glob) for glob in self.tools)

    def route_of(self, tool: str) -> Route | None:
        """Return the first route of a tool."""
        return next((route for route in self.routes if fnmatchcase(tool, route.tool)), None)

    def covers(self, tool: str) -> bool:
        """Tell whether a tool's calls become requests here: a proxy needs no route for them."""
        return self.answers(tool) and (self.kind == PROXY or self.route_of(tool) is not None)


class SentAlways(NamedTuple):
    """What goes with every request of an upstream."""

    headers: dict[str, str]
    """Names in lower case."""
    query: dict[str, str]
    secrets: tuple[str, ...]
    """The values among them that must not be stored."""


class _File(Record, frozen=True, kw_only=True):
    upstream: dict[str, Upstream]


def load_upstreams(path: Path, *, needs_routes: bool = True) -> dict[str, Upstream]:
    """Read the upstreams of a TOML file, by name.

    needs_routes: whether calls become requests by routes; False where requests come as they are.
    Errors:  InputError naming file, upstream and field; a secret that is written in the file is one.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        raise InputError(
            f"upstreams cannot be read: {error.strerror}", where=str(path), expected="a TOML file"
        ) from None
    if len(text) > _MAX_FILE_BYTES:
        raise InputError(
            "the file is too large", where=path.name, expected=f"at most {_MAX_FILE_BYTES} bytes"
        )
    try:
        found = msgspec.convert(tomllib.loads(text.decode()), _File).upstream
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError, RecursionError) as error:
        raise InputError(
            f"not a list of upstreams: {error}",
            where=path.name,
            expected="tables [upstream.NAME] with kind and base_url",
        ) from None
    if not found:
        raise InputError("no upstream", where=path.name, expected="a table [upstream.NAME]")
    folder = str(path.parent)
    return {
        name: _check(
            msgspec.structs.replace(upstream, name=name, folder=folder), path.name, needs_routes=needs_routes
        )
        for name, upstream in found.items()
    }


def read_held(value: str | Held, upstream: Upstream) -> str:
    """Return a value, read from where it is held; a file is looked for beside the file of the upstream.

    Errors:  InputError naming upstream and variable or file, never its content.
    """
    if isinstance(value, str):
        return value
    if value.env:
        found = read_environment(value.env).strip()
        where = f"environment variable {value.env}"
    else:
        path = Path(upstream.folder) / value.file
        found, where = _read_file(path), f"file {path}"
    if not found or not found.isprintable():
        raise InputError(
            "a secret is not to be had",
            where=f"upstream.{upstream.name}, {where}",
            expected="one line of text",
        )
    return value.prefix + found


def describe_upstream(upstream: Upstream) -> Json:
    """Say what decides an upstream's answers, for the inputs of a run: no secret and no path."""
    return {
        "name": upstream.name,
        "kind": upstream.kind,
        "base_url": upstream.base_url,
        "tools": list(upstream.tools),
        "routes": msgspec.to_builtins(upstream.routes),
        "repeats": upstream.repeats,
        "filter": upstream.filter,
    }


def read_sent_always(upstream: Upstream) -> SentAlways:
    """Read what goes with every request of an upstream, its key among it.

    Errors:  InputError when a secret is not to be had.
    """
    values: list[str] = []

    def read_all(held: Mapping[str, str | Held]) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, value in held.items():
            found[name] = text = read_held(value, upstream)
            if isinstance(value, Held):
                values.append(text.removeprefix(value.prefix))
        return found

    headers, query = read_all(upstream.headers), read_all(upstream.query)
    headers = {name.lower(): value for name, value in headers.items()}
    if upstream.key is not None:
        key = read_held(upstream.key, upstream)
        values.append(key.removeprefix(upstream.key.prefix))
        if upstream.kind == RAPIDAPI:
            headers.setdefault("x-rapidapi-key", key)
        elif upstream.kind == OPENAI:
            headers.setdefault("authorization", key if upstream.key.prefix else f"Bearer {key}")
    if upstream.kind == RAPIDAPI:
        headers.setdefault("x-rapidapi-host", urlsplit(upstream.base_url).netloc)
    return SentAlways(headers, query, tuple(values))


def _read_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_SECRET_BYTES).decode().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _check(upstream: Upstream, file: str, *, needs_routes: bool) -> Upstream:
    where = f"{file}, upstream.{upstream.name}"
    if not _NAME.fullmatch(upstream.name):
        raise InputError(f"name {upstream.name!r}", where=where, expected="letters, digits and . _ -")
    _check_choice("kind", upstream.kind, KINDS, where)
    _check_choice("repeats", upstream.repeats, _REPEATS, where)
    _check_choice("filter", upstream.filter, FILTERS, where)
    _check_url(upstream.base_url, where)
    _check_numbers(upstream, where)
    for part in ("headers", "query"):
        _check_values(getattr(upstream, part), f"{where}.{part}")
    for held in [upstream.key] if upstream.key else []:
        _check_held(held, f"{where}.key")
    for number, route in enumerate(upstream.routes):
        _check_route(route, f"{where}.routes[{number}]")
    if needs_routes and upstream.kind in {REST, RAPIDAPI} and not upstream.routes:
        raise InputError("no routes", where=where, expected="at least one [[upstream.NAME.routes]]")
    return upstream


def _check_choice(field: str, value: str, allowed: Iterable[str], where: str) -> None:
    if value not in allowed:
        raise InputError(f"unknown {field} {value!r}", where=where, expected=f"one of: {', '.join(allowed)}")


def _check_url(url: str, where: str) -> None:
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_usable = False
        parts = urlsplit("")
    if not is_usable or parts.query or parts.fragment or not url.isprintable():
        raise InputError(
            f"base_url {url!r:.200}", where=where, expected="http(s)://HOST[:PORT][/PATH] without query"
        )
    if parts.username is not None or parts.password is not None:
        raise InputError(
            "base_url holds a user name or password",
            where=where,
            expected="a header that is held in a file or an environment variable",
        )


def _check_numbers(upstream: Upstream, where: str) -> None:
    limits: Mapping[str, tuple[float, float]] = {
        "timeout_s": (0.001, 3600),
        "retries": (0, 20),
        "backoff_s": (0, 600),
        "max_backoff_s": (0, 3600),
        "per_second": (0, 10_000),
        "at_once": (1, 256),
        "max_body_bytes": (1, 16 * 1024 * 1024),
    }
    for field, (low, high) in limits.items():
        value = getattr(upstream, field)
        if not low <= value <= high:
            raise InputError(f"{field} = {value}", where=where, expected=f"{low} to {high}")


def _check_values(values: Mapping[str, str | Held], where: str) -> None:
    for name, value in values.items():
        place = f"{where}.{name}"
        if isinstance(value, Held):
            _check_held(value, place)
        elif any(rule.covers(name) for rule in (CREDENTIALS, API_KEYS, PASSWORDS)):
            raise InputError(
                "a secret is written in the file",
                where=place,
                expected='where it is held: {env = "NAME"} or {file = "PATH"}',
            )
        if not name.isprintable() or (isinstance(value, str) and not value.isprintable()):
            raise InputError("a control character", where=place, expected="printable text")


def _check_held(held: Held, where: str) -> None:
    if bool(held.env) == bool(held.file):
        raise InputError("a secret has no one place", where=where, expected="either env or file")


def _check_route(route: Route, where: str) -> None:
    _check_choice("method", route.method, _METHODS, where)
    if not route.path.startswith("/") or "?" in route.path or not route.path.isprintable():
        raise InputError(f"path {route.path!r:.200}", where=where, expected="/PATH without query")
    if any(not name for name in _PARAMETER.findall(route.path)):
        raise InputError("braces without a name", where=where, expected="{ARGUMENT}")
    if set("{}") & set(_PARAMETER.sub("", route.path)):
        raise InputError(f"an unpaired brace in {route.path!r:.200}", where=where, expected="{ARGUMENT}")
