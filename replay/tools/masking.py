"""Secrets in texts that are stored: known values and the values of secret fields, however they are written.

Field rules say which values are secrets (redaction.py); here those values are then found wherever they are:
as they stand, percent-encoded, in base64 at any offset, escaped in JSON, and cut over the deltas of a stream.
Everything else keeps its bytes.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from urllib.parse import quote, quote_plus

import msgspec

from replay.core.canonical import parse_json
from replay.core.errors import CanonicalError
from replay.core.types import Json
from replay.tools.exchange import HttpAnswer
from replay.tools.redaction import API_KEYS, CREDENTIALS, MASK, PASSWORDS, Redaction, find_secrets, scrub
from replay.tools.stream_masking import cut_events, is_stream, mask_events

__all__ = ["DECLARED", "Secrets", "tells"]

DECLARED: Final = "declared"
"""Name of the rule for fields that an upstream's file names."""

_SHORTEST: Final = 6
"""Characters of a value that may be looked for everywhere; shorter ones occur by chance."""

_TELLING: Final = 8
"""The same for a value that was found behind the name of a field."""

_FIELD: Final = re.compile(
    r"""(?P<head>"(?P<name>[^"\\]{1,128})"\s*:\s*)(?P<value>"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*)"""
)
_NUMBER: Final = re.compile(r'":\s*-?\d')

_NUMERIC: Final = re.compile(r"-?\d[\d.eE+-]*")
_STRING_OR_NUMBER: Final = re.compile(rf'"(?:[^"\\]|\\.)*"|{_NUMERIC.pattern}')

_HOLDS_JSON: Final = re.compile(r"(?:\A|\ndata:)\s*[{\[]|\Adata:\s*[{\[]")

_URLS: Final = frozenset({"location", "content-location", "link", "refresh"})


_ONE: Final = "[A-Za-z0-9+/_-]?"
"""At most one character of base64, of either alphabet."""


class _Spelling(NamedTuple):
    """One way in which a value is written."""

    text: str
    before: str = ""
    """Pattern of what goes with it, like the next."""
    after: str = ""


class Secrets:
    """Values that must not be stored. Safe to share."""

    def __init__(self, values: Iterable[str] = (), *, fields: Iterable[str] = ()) -> None:
        """Look for these values, and for those of fields that the declared rules or `fields` name."""
        own = frozenset(field.lower().translate(str.maketrans("", "", "-_. ")) for field in fields)
        self.rules: tuple[Redaction, ...] = (CREDENTIALS, API_KEYS, PASSWORDS)
        if own:
            self.rules += (Redaction(name=DECLARED, fields=own, reason="named by the upstream's file"),)
        long = {value for value in values if len(value) >= _SHORTEST and value not in MASK}
        self._values = tuple(sorted(long))
        self._written = _written_as(self._values)

    @property
    def is_empty(self) -> bool:
        """True when no value is known; field rules hold all the same."""
        return not self._values

    def mask_text(self, text: str) -> str:
        """Put the mask where a known value stands in a text, in any of its spellings."""
        return _replace(text, self._written)

    def mask_json(self, value: Json) -> Json:
        """Put the mask into every text of a value, names included."""
        if self.is_empty:
            return value
        if isinstance(value, str):
            return self.mask_text(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return MASK if any(known in str(value) for known in self._values) else value
        if isinstance(value, dict):
            return {self.mask_text(name): self.mask_json(item) for name, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.mask_json(item) for item in value]
        return value

    def mask_body(self, text: str) -> str:
        """Mask known values and those of secret fields in an answer's text; other bytes stay as they are."""
        found = _fields_in(text, self.rules)
        return _replace_in_json(_mask_in_place(text, found, self.rules), self._with(found))

    def mask_answer(self, answer: HttpAnswer) -> HttpAnswer:
        """Mask an answer as it is stored: headers, body, and events one by one."""
        headers = tuple((name, self._mask_header(name, value)) for name, value in answer.headers)
        try:
            text = answer.body.decode("utf-8")
        except UnicodeDecodeError:
            return msgspec.structs.replace(answer, headers=headers, body=self._mask_bytes(answer.body))
        if not answer.cuts and not is_stream(answer.headers):
            return msgspec.structs.replace(answer, headers=headers, body=self.mask_body(text).encode())
        return msgspec.structs.replace(self._mask_stream(answer), headers=headers)

    def _mask_stream(self, answer: HttpAnswer) -> HttpAnswer:
        """Mask event by event, wherever packets ended; their ends are kept where nothing is masked."""
        whole = msgspec.structs.replace(answer, cuts=cut_events(answer.body))
        events = [part.decode("utf-8", "surrogateescape") for part in whole.parts]
        found = [value for event in events for value in _event_fields(event, self.rules)]
        written, telling = self._with(found), [value for value in found if tells(value)]
        plain = [_replace_in_json(_mask_in_place(event, found, self.rules), written) for event in events]
        masked = mask_events(plain, (*self._values, *telling))
        if masked == events:
            return answer
        parts = [event.encode("utf-8", "surrogateescape") for event in masked]
        cuts = tuple(len(part) for part in parts[: len(whole.cuts)]) if answer.cuts else ()
        return msgspec.structs.replace(answer, body=b"".join(parts), cuts=cuts)

    def _mask_header(self, name: str, value: str) -> str:
        if any(rule.covers(name) for rule in self.rules):
            return MASK
        masked = self.mask_text(value)
        return _replace(masked, _written_as(find_secrets(masked, self.rules))) if name in _URLS else masked

    def _mask_bytes(self, body: bytes) -> bytes:
        for spelled in self._written:
            body = body.replace(spelled.text.encode(), MASK.encode())
        return body

    def _with(self, found: Iterable[str]) -> tuple[_Spelling, ...]:
        more = {value for value in found if tells(value)}
        return (*self._written, *_written_as(more)) if more else self._written


def tells(value: str) -> bool:
    """Tell whether a field's value may be looked for everywhere: `string` and `required` are just words."""
    return len(value) >= _TELLING and not value.isalpha() and value not in MASK


def _mask_in_place(text: str, found: Iterable[str], rules: tuple[Redaction, ...]) -> str:
    """Mask what stands right behind the name of a secret field, however short it is."""
    if not any(found) and not _NUMBER.search(text):
        return text

    def mask(match: re.Match[str]) -> str:
        head, name, value = match.group("head"), match.group("name"), match.group("value")
        is_secret = value not in {'""', f'"{MASK}"'} and any(rule.covers(name) for rule in rules)
        return f'{head}"{MASK}"' if is_secret else match.group()

    return str(scrub(_FIELD.sub(mask, text), rules))


def _fields_in(text: str, rules: Iterable[Redaction]) -> list[str]:
    if not text[:1].isspace() and text[:1] not in "{[":
        return find_secrets(text, rules)
    try:
        return find_secrets(parse_json(text), rules)
    except CanonicalError:
        return find_secrets(text, rules)


def _event_fields(event: str, rules: Iterable[Redaction]) -> Iterator[str]:
    for line in event.splitlines():
        name, _, data = line.partition(":")
        if name == "data":
            yield from _fields_in(data.strip(), rules)


def _written_as(values: Iterable[str]) -> tuple[_Spelling, ...]:
    """Every way in which values are written, the longest first."""
    found: set[_Spelling] = set()
    for value in values:
        plain = {value, quote(value, safe=""), quote_plus(value), json.dumps(value)[1:-1]}
        plain.add(json.dumps(value, ensure_ascii=False)[1:-1])
        if len(value) >= _SHORTEST:
            found.update(_in_base64(value.encode()))
            plain |= {value.encode().hex(), value.encode().hex().upper()}
        found |= {_Spelling(text) for text in plain}
    return tuple(sorted(found, key=lambda spelled: (-len(spelled.text), spelled)))


def _in_base64(value: bytes) -> Iterator[_Spelling]:
    """The characters that a value alone decides, at each of the three offsets and in both alphabets.

    Those at the edges hold bits of it too, so they go with it.
    """
    for offset in range(3):
        whole = base64.b64encode(b"\0" * offset + value).decode()
        skipped = (0, 2, 3)[offset]
        bits = (offset + len(value)) * 8
        part = whole[skipped : bits // 6]
        for text in (part, part.replace("+", "-").replace("/", "_")):
            yield _Spelling(text, before=_ONE if offset else "", after=f"{_ONE if bits % 6 else ''}={{0,2}}")


def _replace_in_json(text: str, written: tuple[_Spelling, ...]) -> str:
    """Mask as `_replace` does, and a number as a whole: JSON, or an event that holds some, stays JSON."""
    numbers = [spelled.text for spelled in written if _NUMERIC.fullmatch(spelled.text)]
    if any(number in text for number in numbers) and _HOLDS_JSON.search(text):

        def mask(match: re.Match[str]) -> str:
            token = match.group()
            is_secret = token[0] != '"' and any(number in token for number in numbers)
            return f'"{MASK}"' if is_secret else token

        text = _STRING_OR_NUMBER.sub(mask, text)
    return _replace(text, written)


def _replace(text: str, written: Iterable[_Spelling]) -> str:
    for spelled in written:
        if spelled.text in text:
            text = (
                re.sub(f"{spelled.before}{re.escape(spelled.text)}{spelled.after}", lambda _: MASK, text)
                if spelled.after
                else text.replace(spelled.text, MASK)
            )
    return text
