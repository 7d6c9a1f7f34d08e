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
from typing import Final

from replay.core.canonical import MAX_DEPTH
from replay.core.errors import CanonicalError
from replay.core.types import Json, Record

__all__ = ["API_KEYS", "CREDENTIALS", "MASK", "PASSWORDS", "Redaction", "find_secrets", "is_mask", "scrub"]

MASK: Final = "$redacted"

_Place = tuple[int, "_Place", Json] | None
"""Where a value lies: how deep, in what, under which name or number; None at the top."""

_SEPARATORS: Final = str.maketrans("", "", "-_. ")


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
        return self.has(_plain(field))

    def has(self, plain: str) -> bool:
        """Tell the same of a field in the spelling of the rules."""
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
    return _scrub(value, kept, None) if kept else value


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


def _scrub(value: Json, rules: tuple[Redaction, ...], place: _Place) -> Json:
    if isinstance(value, str):
        return _scrub_text(value, rules) if "=" in value or " " in value else value
    if value is None or isinstance(value, (int, float)):
        return value
    if place is not None and place[0] >= MAX_DEPTH:
        raise CanonicalError(
            "too deeply nested", where=_write_place(place), expected=f"at most {MAX_DEPTH} levels"
        )
    depth = 1 if place is None else place[0] + 1
    if isinstance(value, dict):
        return {name: _scrub_field(name, item, rules, (depth, place, name)) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_scrub(item, rules, (depth, place, index)) for index, item in enumerate(value)]
    return value


def _scrub_field(name: Json, value: Json, rules: tuple[Redaction, ...], place: _Place) -> Json:
    if isinstance(name, str) and value not in (None, "") and not isinstance(value, bool):
        plain = _plain(name)
        for rule in rules:
            if rule.has(plain):
                return value if is_mask(value) else {MASK: {"rule": rule.name, "type": _type_name(value)}}
    return _scrub(value, rules, place)


def _write_place(place: _Place) -> str:
    parts: list[str] = []
    while place is not None:
        _, place, step = place
        parts.append(f"[{step}]" if isinstance(step, int) else f".{step}")
    return "$" + "".join(reversed(parts))


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
