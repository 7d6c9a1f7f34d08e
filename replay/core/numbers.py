"""JSON numbers as text: doubles as ECMAScript prints them, integers exactly at any size.

Follows ECMA-262 `Number::toString` for doubles (RFC 8785 section 3.2.2.3). Python's `repr` and ECMAScript
choose the same digits (the shortest that read back to the same double); only the layout differs, so digits
come from `repr` and the layout is made here. Integers do not depend on the interpreter's own digit limit,
which an environment variable can change: ours is fixed.
"""

from __future__ import annotations

import math
from typing import Final

__all__ = ["EXACT_DOUBLE", "MAX_DIGITS", "count_digits", "double_text", "integer_text", "parse_integer"]

MAX_DIGITS: Final = 4300
"""Longest integer that has a canonical form: Python's own default bound against quadratic conversions."""

EXACT_DOUBLE: Final = 2**53
"""Up to here every integer is a double of its own, so an integral double and the integer are one value."""

_POSITIONAL_DIGITS: Final = 21  # ECMAScript writes 1e21 and more with an exponent
_POSITIONAL_ZEROS: Final = 6  # and less than 1e-6 too
_CHUNK: Final = 512  # digits converted at once: below any limit the interpreter can be set to (640)
_LONGEST: Final = 10**MAX_DIGITS


def double_text(value: float) -> str:
    """Write a finite double as ECMAScript does: `1`, `0.1`, `1e+21`, `5e-324`; minus zero is `0`."""
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = float.__repr__(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    if fraction == "0":
        fraction = ""
    # The value is 0.DIGITS * 10**point, with no zero at either end of DIGITS.
    digits = (whole + fraction).lstrip("0")
    point = len(digits) - len(fraction) + int(exponent or "0")
    return sign + _lay_out(digits.rstrip("0"), point)


def _lay_out(digits: str, point: int) -> str:
    if len(digits) <= point <= _POSITIONAL_DIGITS:
        return digits + "0" * (point - len(digits))
    if 0 < point <= _POSITIONAL_DIGITS:
        return f"{digits[:point]}.{digits[point:]}"
    if -_POSITIONAL_ZEROS < point <= 0:
        return f"0.{'0' * -point}{digits}"
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{tail}e{point - 1:+d}"


def count_digits(value: int) -> int:
    """Count the decimal digits of an integer without writing it; at least MAX_DIGITS + 1 when longer."""
    size = abs(value)
    if size >= _LONGEST:
        # log10(2) per bit; only shown to people, so the estimate may be one off.
        return max(MAX_DIGITS + 1, math.ceil(size.bit_length() * math.log10(2)))
    return len(integer_text(size))


def integer_text(value: int) -> str:
    """Write an integer exactly. Raises OverflowError beyond MAX_DIGITS digits."""
    if -EXACT_DOUBLE <= value <= EXACT_DOUBLE:
        return int.__repr__(value)
    if abs(value) >= _LONGEST:
        raise OverflowError
    rest, chunks = abs(value), list[str]()
    while rest:
        rest, low = divmod(rest, 10**_CHUNK)
        chunks.append(int.__repr__(low).rjust(_CHUNK, "0"))
    return ("-" if value < 0 else "") + "".join(reversed(chunks)).lstrip("0")


def parse_integer(text: str) -> int:
    """Read decimal digits with an optional minus. Raises OverflowError beyond MAX_DIGITS digits."""
    digits = text.removeprefix("-")
    if len(digits) > MAX_DIGITS:
        raise OverflowError
    value = 0
    for start in range(0, len(digits), _CHUNK):
        chunk = digits[start : start + _CHUNK]
        value = value * 10 ** len(chunk) + int(chunk)
    return -value if text.startswith("-") else value
