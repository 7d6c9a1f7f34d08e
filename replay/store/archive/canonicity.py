"""Is this text canonical JSON? Answered without building what can be compared."""

from __future__ import annotations

from typing import Final

import msgspec

from replay.core.canonical import MAX_DEPTH, canonical_bytes, parse_json
from replay.core.errors import CanonicalError
from replay.core.types import Json

__all__ = ["check_canonical"]

_ASTRAL: Final = bytes(range(0xF0, 0xF5))
"""First UTF-8 bytes of characters beyond the BMP: only they can make the order of msgspec another."""


_CONTAINERS: Final = frozenset({list, dict})


def _refuse_float(text: str) -> float:
    raise ValueError(text)


# Neither remembers anything between calls. Floats go the slow way: msgspec spells some of them otherwise.
_decode: Final = msgspec.json.Decoder(float_hook=_refuse_float).decode
_encode: Final = msgspec.json.Encoder(order="sorted").encode


def check_canonical(text: bytes) -> Json:
    """Decode text and prove that it is the canonical form of its value.

    Errors: CanonicalError when it is not JSON that can be hashed honestly, or is not in canonical form.
    """
    if text.isascii() or len(text.translate(None, _ASTRAL)) == len(text):
        try:
            value = _decode(text)
            if _encode(value) == text and not _is_deep(value, text):
                return value
        except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
            pass  # not JSON, or JSON that only the complete reader judges
    value = parse_json(text)
    if canonical_bytes(value) != text:
        raise CanonicalError("not canonical JSON", expected="RFC 8785: sorted names, no spaces")
    return value


def _is_deep(value: Json, text: bytes) -> bool:
    """Say whether containers lie deeper in one another than canonical JSON allows."""
    if len(text) <= MAX_DEPTH or text.count(b"{") + text.count(b"[") <= MAX_DEPTH:
        return False  # too few brackets to be deep
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            item
            for each in level
            if type(each) in _CONTAINERS
            for item in (each.values() if type(each) is dict else each)
            if type(item) in _CONTAINERS
        ]
        if not level:
            return False
    return True
