"""Rules for numbers: bounded digits, and ranges of integers written out digit by digit.

An integer has up to 15 digits, so that every reader holds it exactly; a bound that needs more gets as many as
it needs. A number adds up to 12 digits of fraction and a two-digit exponent, far inside a double.
"""

from __future__ import annotations

from typing import Final

from replay.core.errors import GrammarError
from replay.llm.grammar.classes import DIGITS
from replay.llm.grammar.expressions import EMPTY, Chars, Expression, Text, choose, repeat, sequence

__all__ = ["any_integer", "any_number", "integer_between", "number_between"]

_USUAL_DIGITS: Final = 15
_MAX_DIGITS: Final = 30
_DIGIT: Final = Chars(DIGITS)
_FRACTION: Final = sequence([Text("."), repeat(_DIGIT, 1, 12)])
_ZERO_FRACTION: Final = sequence([Text("."), repeat(Text("0"), 1, 4)])
_SIGNS: Final = Chars(((0x2B, 0x2B), (0x2D, 0x2D)))
_EXPONENT: Final = sequence([Chars(((0x45, 0x45), (0x65, 0x65))), repeat(_SIGNS, 0, 1), repeat(_DIGIT, 1, 2)])


def any_integer() -> Expression:
    """Write any integer."""
    return integer_between(None, None)


def any_number(*, negative: bool = True) -> Expression:
    """Write any number, or any that is not negative."""
    sign = repeat(Text("-"), 0, 1) if negative else EMPTY
    return sequence([sign, _magnitudes(0, None), _optional(_FRACTION), _optional(_EXPONENT)])


def integer_between(low: int | None, high: int | None) -> Expression:
    """Write any integer from `low` to `high`, both included; None is no bound.

    Errors:  GrammarError when there is none, or one has more than 30 digits.
    """
    if low is not None and high is not None and low > high:
        raise GrammarError(f"no integer lies from {low} to {high}")
    options: list[Expression] = []
    if low is None or low < 0:
        least = 1 if high is None or high >= 0 else -high
        options.append(sequence([Text("-"), _magnitudes(least, None if low is None else -low)]))
    if high is None or high >= 0:
        options.append(_magnitudes(max(low or 0, 0), high))
    return choose(options)


def number_between(low: int | None, high: int | None) -> Expression:
    """Write any number from `low` to `high`, both whole numbers and included; None is no bound.

    Numbers in a range have no exponent, so that their digits alone say where they lie.
    Errors:  GrammarError when there is none, or a bound has more than 30 digits.
    """
    if low is not None and high is not None and low > high:
        raise GrammarError(f"no number lies from {low} to {high}")
    options: list[Expression] = []
    if low is None or low < 0:
        least = 0 if high is None or high >= 0 else -high
        options.append(sequence([Text("-"), _with_fraction(least, None if low is None else -low)]))
    if high is None or high >= 0:
        options.append(_with_fraction(max(low or 0, 0), high))
    return choose(options)


def _with_fraction(low: int, high: int | None) -> Expression:
    """Any fraction below the upper end; on it only zeros."""
    if high is None:
        return sequence([_magnitudes(low, None), _optional(_FRACTION)])
    end = sequence([_magnitudes(high, high), _optional(_ZERO_FRACTION)])
    if low == high:
        return end
    return choose([sequence([_magnitudes(low, high - 1), _optional(_FRACTION)]), end])


def _optional(expression: Expression) -> Expression:
    return choose([expression, EMPTY])


def _magnitudes(low: int, high: int | None) -> Expression:
    """Write any whole number from `low` (not negative) to `high` without leading zeros."""
    digits = len(str(low if high is None else high))
    if digits > _MAX_DIGITS:
        raise GrammarError(f"a bound of {digits} digits", expected=f"at most {_MAX_DIGITS}")
    if high is None:
        high = 10 ** max(_USUAL_DIGITS, min(digits + 1, _MAX_DIGITS)) - 1
    options: list[Expression] = []
    while low <= high:
        end = min(high, 10 ** len(str(low)) - 1)
        options.append(_same_length(str(low), str(end)))
        low = end + 1
    return choose(_merge_lengths(options))


def _merge_lengths(options: list[Expression]) -> list[Expression]:
    """Write `[1-9]`, `[1-9][0-9]`, `[1-9][0-9]{2}` and so on as one."""
    full = [sequence([Chars(((0x31, 0x39),)), repeat(_DIGIT, n, n)]) for n in range(_MAX_DIGITS)]
    lengths = [full.index(option) for option in options if option in full]
    if len(lengths) < 2:
        return options
    merged = sequence([Chars(((0x31, 0x39),)), repeat(_DIGIT, min(lengths), max(lengths))])
    return [*(option for option in options if option not in full), merged]


def _same_length(low: str, high: str) -> Expression:
    """Write the digit strings from `low` to `high`, which have one length."""
    if not low:
        return EMPTY
    rest = len(low) - 1
    if low[1:] == "0" * rest and high[1:] == "9" * rest:
        return sequence([_digits(low[0], high[0]), repeat(_DIGIT, rest, rest)])
    if low[0] == high[0]:
        return sequence([Text(low[0]), _same_length(low[1:], high[1:])])
    options = [sequence([Text(low[0]), _same_length(low[1:], "9" * rest)])]
    if int(high[0]) - int(low[0]) > 1:
        middle = _digits(str(int(low[0]) + 1), str(int(high[0]) - 1))
        options.append(sequence([middle, repeat(_DIGIT, rest, rest)]))
    options.append(sequence([Text(high[0]), _same_length("0" * rest, high[1:])]))
    return choose(options)


def _digits(low: str, high: str) -> Expression:
    return Text(low) if low == high else Chars(((ord(low), ord(high)),))
