"""Value -> canonical bytes -> tagged digest: RFC 8785 (JCS) with one extension, integers exact at any size.

Owns what makes two values one key. Names are ordered by UTF-16 units, strings carry the escapes that JSON
demands and no others, nothing is normalised: NFC and NFD, `"25"` and `25`, `true` and `1` are different.

Numbers. A double prints as ECMAScript prints it, an int prints exactly, so:

* up to 2^53 an integral double and the integer are one value: `25` and `25.0`, `0` and `-0.0`;
* beyond, a double prints its shortest digits padded with zeros, and is one with the integer of *those*
  digits: `2.0**60` is `1152921504606847000`, which is not the integer `2**60` = `1152921504606846976`;
* from 1e21 on a double has an exponent (`1e+21`) and is never one with an integer;
* integers of more than 4,300 digits are refused.

`canonical_jcs` is the form for other programs: the same bytes, but integers beyond 2^53 - 1 are refused.

Refused with the JSON path: NaN, infinities, lone surrogates in values and names, names that are not strings,
nesting over 200, and whatever is not JSON. Subclasses of the JSON types (StrEnum, OrderedDict) count as their
base; tuples count as lists; an int subclass that is not bool counts as its number.

Two writers give the same bytes. `_write` is complete. The fast one walks the value once and hands it to
msgspec only when it found nothing that msgspec would print or order otherwise; a property test holds the two
together.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Final

import msgspec

from replay.core.errors import CanonicalError, InternalError
from replay.core.jsonpath import join_path
from replay.core.numbers import EXACT_DOUBLE, MAX_DIGITS, count_digits, double_text, integer_text
from replay.core.parsing import MAX_DEPTH, parse_json
from replay.core.types import Digest, Json

__all__ = [
    "MAX_DEPTH",
    "canonical_bytes",
    "canonical_jcs",
    "digest",
    "digest_bytes",
    "is_ordered_alike",
    "is_spelled_alike",
    "parse_json",
]

_SAFE_INTEGER: Final = EXACT_DOUBLE - 1  # Number.MAX_SAFE_INTEGER
_SMALLEST_INT64: Final = -(2**63)
_LARGEST_UINT64: Final = 2**64 - 1

_FAST: Final = msgspec.json.Encoder(order="sorted")
_QUOTE: Final = json.JSONEncoder(ensure_ascii=False).encode
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")

_ASTRAL: Final = bytes(range(0xF0, 0xF5))  # first UTF-8 bytes of characters beyond the basic plane


def canonical_bytes(value: Json) -> bytes:
    """Encode a JSON value canonically.

    Errors: CanonicalError with the JSON path of what it refuses.
    Source: RFC 8785. Differs: integers beyond 2^53 are exact.
    """
    try:
        plain = _admit(value, MAX_DEPTH)
        if plain is not _UNUSUAL:
            data = _FAST.encode(plain)
            if is_ordered_alike(plain, data):
                return data
    except UnicodeEncodeError:
        pass  # a lone surrogate; the complete writer says where
    return _encode_slowly(value)


def canonical_jcs(value: Json) -> bytes:
    """Encode a JSON value as RFC 8785 for other programs, without our extension.

    Errors: CanonicalError as canonical_bytes, and for integers beyond 2^53 - 1 in either direction.
    """
    data = canonical_bytes(value)
    _check_integers(value, [])
    return data


def digest(tag: str, value: Json) -> Digest:
    """Digest a JSON value under a type tag, so that equal values of two kinds have two digests."""
    return digest_bytes(tag, canonical_bytes(value))


def digest_bytes(tag: str, data: bytes) -> Digest:
    """Digest bytes that are already canonical (or opaque) under a type tag: sha256 of tag, NUL, bytes."""
    if "\x00" in tag:
        raise InternalError(f"a digest tag with a NUL: {tag!r}")
    return Digest("sha256:" + hashlib.sha256(tag.encode() + b"\x00" + data).hexdigest())


def is_spelled_alike(value: float) -> bool:
    """Tell whether msgspec prints a double that is no whole number as RFC 8785 does.

    In this range both print the shortest digits without an exponent.
    """
    return 0.001 <= abs(value) < 1e15


# ---- the fast writer: admit what msgspec prints as RFC 8785 does ----------------------------------------

_UNUSUAL: Final = object()
_SAME_IN_BOTH: Final = frozenset({str, bool, type(None)})


def _admit(value: Json, room: int) -> Json:
    """Return the value, or an equal one with small integral doubles as integers, or _UNUSUAL.

    Only exact builtin types pass, so nothing that msgspec knows and JSON does not (dates, bytes, structs)
    ever reaches it. `room` is how many more containers may open. The two loops below look at the commonest
    items themselves: a call for each would double the cost of a key.
    """
    kind = type(value)
    if kind is float:
        return _admit_double(value)
    if room and kind is dict:
        return _admit_object(value, room - 1)
    if room and (kind is list or kind is tuple):
        return _admit_array(value, room - 1)
    if kind in _SAME_IN_BOTH or (kind is int and _SMALLEST_INT64 <= value <= _LARGEST_UINT64):
        return value
    return _UNUSUAL


def _admit_double(value: float) -> Json:
    if value.is_integer():
        return int(value) if -EXACT_DOUBLE <= value <= EXACT_DOUBLE else _UNUSUAL
    return value if is_spelled_alike(value) else _UNUSUAL


def _admit_object(value: dict[Json, Json], room: int) -> Json:
    admitted = value
    for name, item in value.items():
        if type(name) is not str:
            return _UNUSUAL
        kind = type(item)
        if kind in _SAME_IN_BOTH or (kind is int and 0 <= item <= _LARGEST_UINT64):
            continue
        plain = _admit(item, room)
        if plain is not item:
            if plain is _UNUSUAL:
                return _UNUSUAL
            if admitted is value:
                admitted = value.copy()
            admitted[name] = plain
    return admitted


def _admit_array(value: list[Json] | tuple[Json, ...], room: int) -> Json:
    admitted: Json = value
    for index, item in enumerate(value):
        kind = type(item)
        if kind in _SAME_IN_BOTH or (kind is int and 0 <= item <= _LARGEST_UINT64):
            continue
        plain = _admit(item, room)
        if plain is not item:
            if plain is _UNUSUAL:
                return _UNUSUAL
            if admitted is value:
                admitted = list(value)
            admitted[index] = plain
    return admitted


def is_ordered_alike(value: Json, data: bytes) -> bool:
    """Tell whether msgspec, which printed `data`, orders the names in `value` as RFC 8785 does."""
    return data.isascii() or len(data.translate(None, _ASTRAL)) == len(data) or not _has_astral_name(value)


def _has_astral_name(value: Json) -> bool:
    """Tell whether the order of names by code points, which is msgspec's, could differ from UTF-16 units.

    `value` was admitted, so its names are plain strings.
    """
    items = value
    if type(value) is dict:
        names = "".join(value)
        if not names.isascii() and max(names) > "\uffff":
            return True
        items = value.values()
    elif type(value) is str:
        return False
    for item in items:
        kind = type(item)
        if (kind is dict or kind is list or kind is tuple) and _has_astral_name(item):
            return True
    return False


# ---- the complete writer -------------------------------------------------------------------------------


def _encode_slowly(value: Json) -> bytes:
    out: list[str] = []
    _write(value, out, [])
    return "".join(out).encode()


def _write(value: Json, out: list[str], path: list[str | int]) -> None:
    if value is None:
        out.append("null")
    elif isinstance(value, bool):
        out.append("true" if value else "false")
    elif isinstance(value, str):
        out.append(_string_text(value, path))
    elif isinstance(value, int):
        out.append(_integer_text(value, path))
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise _refusal(f"{value} is not a JSON number", path, "a finite number")
        out.append(double_text(value))
    elif isinstance(value, (list, tuple, dict)):
        if len(path) >= MAX_DEPTH:
            raise _refusal("nested too deeply", path, f"at most {MAX_DEPTH} levels")
        if isinstance(value, dict):
            _write_object(value, out, path)
        else:
            _write_array(value, out, path)
    else:
        raise _refusal(
            f"{type(value).__name__} is not a JSON type", path, "None, bool, int, float, str, list or dict"
        )


def _write_array(value: list[Json] | tuple[Json, ...], out: list[str], path: list[str | int]) -> None:
    before = "["
    for index, item in enumerate(value):
        out.append(before)
        path.append(index)
        _write(item, out, path)
        path.pop()
        before = ","
    out.append("]" if value else "[]")


def _write_object(value: dict[Json, Json], out: list[str], path: list[str | int]) -> None:
    members = {_name(name, path): item for name, item in value.items()}
    if len(members) != len(value):  # two str subclasses with one text
        raise _refusal("two names with the same text", path, "each name once")
    before = "{"
    for name in sorted(members, key=_utf16):
        out.append(f"{before}{_QUOTE(name)}:")
        path.append(name)
        _write(members[name], out, path)
        path.pop()
        before = ","
    out.append("}" if value else "{}")


def _utf16(name: str) -> bytes:
    """UTF-16 units compare as their big-endian bytes do."""
    return name.encode("utf-16-be")


def _name(name: Json, path: list[str | int]) -> str:
    if not isinstance(name, str):
        raise _refusal(f"{type(name).__name__} as a name", path, "string names in an object")
    plain = str.__str__(name)
    if not plain.isascii() and _LONE_SURROGATE.search(plain):
        raise _refusal("a lone surrogate in a name", [*path, plain], "well-formed Unicode")
    return plain


def _string_text(value: str, path: list[str | int]) -> str:
    if not value.isascii() and _LONE_SURROGATE.search(value):
        raise _refusal("a lone surrogate in a string", path, "well-formed Unicode")
    return _QUOTE(value)


def _integer_text(value: int, path: list[str | int]) -> str:
    try:
        return integer_text(value)
    except OverflowError:
        what = f"an integer of {count_digits(value):,} digits"
        raise _refusal(what, path, f"at most {MAX_DIGITS:,} digits") from None


def _check_integers(value: Json, path: list[str | int]) -> None:
    """Refuse integers that a double cannot tell from their neighbours; `value` is known to be JSON."""
    if isinstance(value, int):
        if not -_SAFE_INTEGER <= value <= _SAFE_INTEGER:
            raise _refusal(
                f"an integer of {count_digits(value)} digits beyond 2^53 - 1",
                path,
                "an integer that a double holds",
            )
    elif isinstance(value, dict):
        for name, item in value.items():
            _check_integers(item, [*path, str(name)])
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _check_integers(item, [*path, index])


def _refusal(what: str, path: list[str | int], expected: str) -> CanonicalError:
    return CanonicalError(what, where=join_path(path), expected=expected)
