"""Is this text canonical JSON? Answered without building what can be compared."""

from __future__ import annotations

from typing import Final

import msgspec

from replay.core.canonical import MAX_DEPTH, canonical_bytes, is_ordered_alike, is_spelled_alike, parse_json
from replay.core.errors import CanonicalError
from replay.core.parsing import is_too_deep
from replay.core.types import Json

__all__ = ["check_canonical"]


def _read_double(text: str) -> float:
    """Read a number that is spelled alike here and there; any other goes the slow way."""
    value = float(text)
    if value.is_integer() or not is_spelled_alike(value):
        raise ValueError(text)
    return value


# Neither remembers anything between calls.
_decode: Final = msgspec.json.Decoder(float_hook=_read_double).decode
_encode: Final = msgspec.json.Encoder(order="sorted").encode


def check_canonical(text: bytes) -> Json:
    """Decode text and prove that it is the canonical form of its value.

    Errors: CanonicalError when it is not JSON that can be hashed honestly, or is not in canonical form.
    """
    try:
        value = _decode(text)
        if _encode(value) == text and not _is_deep(value, text) and is_ordered_alike(value, text):
            return value
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        pass  # not JSON, or JSON that only the complete reader judges
    value = parse_json(text)
    if canonical_bytes(value) != text:
        raise CanonicalError("not canonical JSON", expected="RFC 8785: sorted names, no spaces")
    return value


def _is_deep(value: Json, text: bytes) -> bool:
    """Say whether containers lie deeper in one another than canonical JSON allows."""
    # Most texts have too few brackets to be deep.
    return len(text) > MAX_DEPTH and text.count(b"{") + text.count(b"[") > MAX_DEPTH and is_too_deep(value)
