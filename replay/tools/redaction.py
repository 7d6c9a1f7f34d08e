"""Which fields are secrets, and what stands in their place: one function for the stored and the lookup side.

Rules go by field name, never by the look of a value, so tool-call ids, hashes and timestamps are left alone.
A mask is a typed placeholder that no API could mistake for a value. Scrubbing twice gives what scrubbing once
gave; that is what makes the scrubbed stored request and the scrubbed lookup meet.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from functools import lru_cache
from operator import is_
from typing import Final

import msgspec

from replay.core.canonical import MAX_DEPTH
from replay.core.errors import CanonicalError
from replay.core.types import Json, Record

__all__ = ["API_KEYS", "CREDENTIALS", "MASK", "PASSWORDS", "Redaction", "find_secrets", "is_mask", "scrub"]

MASK: Final = "$redacted"

_SEPARATORS: Final = str.maketrans("", "", "-_. ")
_SEPARATOR_BYTES: Final = b"-_. "
_ENCODER: Final = msgspec.json.Encoder()


class Redaction(Record, frozen=True, kw_only=True):
    """One declared rule: these fields are secrets, because."""

    name: str
    """Shown in the mask."""
    fields: frozenset[str]
    """Lower case, without `-`, `_`, `.` and spaces."""
    suffixes: tuple[str, ...] = ()
    """Endings that make a field one of these, in the same spelling."""
    reason: str

    def covers(self, field: str) -> bool:
        """Tell whether a field of this spelling falls under the rule."""
        plain = _plain(field)
        return plain in self.fields or (bool(self.suffixes) and plain.endswith(self.suffixes))


CREDENTIALS: Final = Redaction(
    name="credentials",
    fields=frozenset(
        {"authorization", "proxyauthorization", "cookie", "setcookie", "accesstoken", "refreshtoken"}
        | {"authtoken", "bearertoken", "clientsecret", "sessiontoken", "idtoken"}
    ),
    reason="sent with a request to say who asks; belongs to the person who recorded, not to the call",
)
API_KEYS: Final = Redaction(
    name="api-key",
    fields=frozenset({"apitoken", "apisecret", "secretkey", "toolbenchkey", "subscriptionkey"}),
    suffixes=("apikey",),
    reason="a paid account's key; any key gives the same answer",
)
PASSWORDS: Final = Redaction(
    name="password",
    fields=frozenset({"password", "passwd", "passphrase"}),
    reason="left out where no tool of the benchmark takes a password as data",
)

# `name=value` in a query string, and an Authorization header written out as text. Nothing shorter: "Basic
# knowledge" is no credential, and masking a word of a question would merge different calls.
_PAIR: Final = re.compile(r"(?:^|(?<=[?&;\s]))([A-Za-z0-9_.-]{1,64})=([^&;#\s\"'<>]+)")
_HEADER: Final = re.compile(
    r"\b(authorization[\"']? {0,4}[:=] {0,4}[\"']?(?:bearer|basic|token) {1,4})([A-Za-z0-9+/=._~-]+)",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def _plain(field: str) -> str:
    """Spell a field name as rules do; the same names come with every call."""
    return field.lower().translate(_SEPARATORS)


def scrub(value: Json, rules: Iterable[Redaction]) -> Json:
    """Replace every secret by a typed placeholder; everything else is returned as it is.

    Errors:  CanonicalError with the JSON path when the value is nested deeper than canonical JSON allows.
    """
    kept = tuple(rules)
    if not kept or not _may_hold(value, kept):
        return value
    try:
        return _scrub(value, kept, MAX_DEPTH)
    except _TooDeepError:
        place = _find_too_deep(value, MAX_DEPTH, "$")
        expected = f"at most {MAX_DEPTH} levels"
        raise CanonicalError("too deeply nested", where=place or "$", expected=expected) from None


def is_mask(value: Json) -> bool:
    """Tell whether a value is a placeholder that `scrub` wrote."""
    return isinstance(value, dict) and set(value) == {MASK}


def find_secrets(value: Json, rules: Iterable[Redaction]) -> list[str]:
    """List the texts that `scrub` would mask, each once, in order: fields of objects and pairs in texts."""
    kept = tuple(rules)
    found: dict[str, None] = {}
    waiting: deque[tuple[Json, bool]] = deque([(value, False)])
    while waiting:
        item, is_secret = waiting.popleft()
        if isinstance(item, dict):
            waiting.extend(
                (held, is_secret or any(rule.covers(str(name)) for rule in kept))
                for name, held in item.items()
            )
        elif isinstance(item, (list, tuple)):
            waiting.extend((held, is_secret) for held in item)
        elif isinstance(item, str) and item:
            found |= dict.fromkeys([item] if is_secret else _secrets_in_text(item, kept))
    found.pop(MASK, None)
    return list(found)


def _secrets_in_text(text: str, rules: tuple[Redaction, ...]) -> list[str]:
    pairs = [match.groups() for match in _PAIR.finditer(text)] if "=" in text else []
    found = [held for name, held in pairs if any(rule.covers(name) for rule in rules)]
    return found + ([match.group(2) for match in _HEADER.finditer(text)] if " " in text else [])


def _may_hold(value: Json, rules: tuple[Redaction, ...]) -> bool:
    """Look whether the spelling of a secret's name occurs in a value at all, which it seldom does.

    Names and texts of plain ASCII stand in its JSON as they are, so what is not found there is nowhere.
    """
    try:
        written = _ENCODER.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return True
    if not written.isascii() or written.count(b"[") + written.count(b"{") > MAX_DEPTH:
        return True
    plain = written.lower().translate(None, _SEPARATOR_BYTES).decode("ascii")
    for needle in _needles(rules):  # noqa: SIM110  a generator would take as long as all the looking
        if needle in plain:
            return True
    return False


@lru_cache(maxsize=64)
def _needles(rules: tuple[Redaction, ...]) -> tuple[str, ...]:
    """Collect what every covered name has in it: fields and endings, but for those that hold another."""
    kept: list[str] = []
    for text in sorted({text for rule in rules for text in (*rule.fields, *rule.suffixes)}, key=len):
        if not any(shorter in text for shorter in kept):
            kept.append(text)
    return tuple(kept)


class _TooDeepError(Exception):
    """A value is nested too deeply; where, is looked up afterwards, for this is rare."""


def _scrub(value: Json, rules: tuple[Redaction, ...], room: int) -> Json:
    """Scrub a value; what holds no secret comes back as the object it was. `room`: levels that may follow."""
    if isinstance(value, str):
        return _scrub_text(value, rules) if "=" in value or " " in value else value
    is_object = isinstance(value, dict)
    if not is_object and not isinstance(value, (list, tuple)):
        return value
    if not room:
        raise _TooDeepError
    if is_object:
        return _scrub_object(value, rules, room - 1)
    scrubbed = [_scrub(item, rules, room - 1) for item in value]
    return value if isinstance(value, list) and all(map(is_, value, scrubbed)) else scrubbed


def _scrub_object(value: dict[Json, Json], rules: tuple[Redaction, ...], room: int) -> dict[Json, Json]:
    scrubbed = value
    for name, item in value.items():
        if item is None or item is True or item is False or item == "":
            continue
        rule = _covering(name, rules) if isinstance(name, str) else None
        if rule is None:
            kept = _scrub(item, rules, room)
        else:
            kept = item if is_mask(item) else {MASK: {"rule": rule.name, "type": _type_name(item)}}
        if kept is not item:
            scrubbed = value.copy() if scrubbed is value else scrubbed
            scrubbed[name] = kept
    return scrubbed


def _covering(field: str, rules: tuple[Redaction, ...]) -> Redaction | None:
    plain = _plain(field)
    for rule in rules:
        if plain in rule.fields or (rule.suffixes and plain.endswith(rule.suffixes)):
            return rule
    return None


def _find_too_deep(value: Json, room: int, path: str) -> str | None:
    """Name the first value, in the order they are written, that no room is left for."""
    if not isinstance(value, (dict, list, tuple)):
        return None
    if not room:
        return path
    pairs = (
        ((f"{path}.{name}", item) for name, item in value.items())
        if isinstance(value, dict)
        else ((f"{path}[{index}]", item) for index, item in enumerate(value))
    )
    found = (_find_too_deep(item, room - 1, place) for place, item in pairs)
    return next((place for place in found if place is not None), None)


def _scrub_text(text: str, rules: tuple[Redaction, ...]) -> str:
    if "=" in text:
        text = _PAIR.sub(lambda match: _mask_pair(match, rules), text)
    if " " in text and any(rule.covers("authorization") for rule in rules):
        text = _HEADER.sub(rf"\1{MASK}", text)
    return text


def _mask_pair(match: re.Match[str], rules: tuple[Redaction, ...]) -> str:
    name = match.group(1)
    return f"{name}={MASK}" if any(rule.covers(name) for rule in rules) else match.group(0)


def _type_name(value: Json) -> str:
    if isinstance(value, str):
        return "string"
    if isinstance(value, (int, float)):
        return "number"
    return "object" if isinstance(value, dict) else "array"
