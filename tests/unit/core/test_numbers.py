"""Numbers as text, against the RFC, the published sequence and another ECMAScript engine."""

from __future__ import annotations

import hashlib

import pytest

from replay.core.canonical import canonical_bytes
from replay.core.numbers import MAX_DIGITS, count_digits, double_text, integer_text, parse_integer
from tests.support.numbers import (
    PUBLISHED_DIGESTS,
    double_from_bits,
    generate_published_bits,
    read_number_vectors,
)


@pytest.mark.parametrize(("bits", "expected"), read_number_vectors("jcs/rfc8785-numbers.csv"))
def test_sample_numbers_of_the_rfc(bits: int, expected: str) -> None:
    """Appendix B of RFC 8785, number by number."""
    assert expected == double_text(double_from_bits(bits))


def test_hard_doubles_print_as_in_another_engine() -> None:
    """Thousands of hard doubles print as V8 prints them, and the fast writer agrees."""
    vectors = read_number_vectors("numbers/doubles.csv")
    assert len(vectors) > 5_000
    for bits, expected in vectors:
        value = double_from_bits(bits)
        assert expected == double_text(value), f"{bits:016x}"
        assert f"[{expected}]".encode() == canonical_bytes([value]), f"{bits:016x}"


def _check_published(count: int) -> None:
    state = hashlib.sha256()
    for bits, _ in zip(generate_published_bits(), range(count), strict=False):
        state.update(f"{bits:x},{double_text(double_from_bits(bits))}\n".encode())
    assert PUBLISHED_DIGESTS[count] == state.hexdigest()


@pytest.mark.parametrize("count", [1_000, 10_000])
def test_published_sequence(count: int) -> None:
    """The published sequence of doubles has the published digest."""
    _check_published(count)


@pytest.mark.slow
@pytest.mark.parametrize("count", [100_000, 1_000_000])
def test_published_sequence_at_length(count: int) -> None:
    """So have its long forms."""
    _check_published(count)


@pytest.mark.parametrize("digits", [1, 16, 17, 511, 512, 513, 1024, 1025, MAX_DIGITS - 1, MAX_DIGITS])
def test_integers_survive_reading_and_writing(digits: int) -> None:
    """Integers of every length that crosses a chunk are exact in both directions."""
    for text in ("9" * digits, "-1" + "0" * (digits - 1), "7" + "0" * (digits - 1)):
        assert text == integer_text(parse_integer(text))
        assert int(text) == parse_integer(text)


def test_too_many_digits_overflow() -> None:
    """One digit over the bound is refused in both directions."""
    with pytest.raises(OverflowError):
        integer_text(10**MAX_DIGITS)
    with pytest.raises(OverflowError):
        parse_integer("1" + "0" * MAX_DIGITS)


@pytest.mark.parametrize("digits", [1, 2, 15, 16, 17, 512, 513, 4300, 4301, 5001])
def test_digits_are_counted_without_writing_them(digits: int) -> None:
    """The count in messages is right, beyond the bound too."""
    assert digits == count_digits(10 ** (digits - 1))
    assert digits == count_digits(-(10 ** (digits - 1)))
