"""Log-probabilities of an answer's tokens, as they stand in the detail of a completion.

Written as lists, because there are many: `{"top": K, "tokens": [[TOKEN, LOGPROB, ALTERNATIVES], ...]}`, each
alternative `[TOKEN, LOGPROB]`. A token is its text, or a list of its bytes where these are no UTF-8. Numbers
are exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from replay.core.errors import DamagedError
from replay.core.types import Json, Record

__all__ = [
    "FIELD",
    "MOST_LOGPROBS",
    "NO_CHANCE",
    "Logprobs",
    "RankedToken",
    "has_logprobs",
    "read_logprobs",
    "write_logprobs",
]

FIELD: Final = "logprobs"
"""Member of a completion's detail."""

MOST_LOGPROBS: Final = 20
"""Alternatives of one token that can be asked for; as many as the APIs that have them give."""

NO_CHANCE: Final = -9999.0
"""Stands for a log-probability of minus infinity, which JSON cannot write."""

_Token = str | tuple[int, ...]
_Line = tuple[_Token, float, tuple[tuple[_Token, float], ...]]


class RankedToken(Record, frozen=True, kw_only=True):
    """A token of the text, and what the model thought of it."""

    piece: bytes
    """What it adds to the text."""
    logprob: float
    """Units: nats."""
    top: tuple[tuple[bytes, float], ...] = ()
    """The likeliest tokens, the likeliest first, control tokens spelled out."""


class Logprobs(Record, frozen=True, kw_only=True):
    """The tokens of one answer."""

    top: int
    """Alternatives that were asked for."""
    tokens: tuple[RankedToken, ...]


class _Held(Record, frozen=True, kw_only=True):
    top: int
    tokens: tuple[_Line, ...]


def write_logprobs(tokens: Iterable[RankedToken], *, top: int) -> dict[str, Json]:
    """Write them as a member of a completion's detail."""
    lines: list[Json] = [
        [_write(token.piece), token.logprob, [[_write(piece), value] for piece, value in token.top]]
        for token in tokens
    ]
    return {FIELD: {"top": top, "tokens": lines}}


def has_logprobs(detail: Json) -> bool:
    """Tell whether a completion's detail holds any."""
    return isinstance(detail, dict) and FIELD in detail


def read_logprobs(detail: Json) -> Logprobs | None:
    """Read them from a completion's detail; None when they were not asked for.

    Errors:  DamagedError when they are not what was written.
    """
    if not has_logprobs(detail):
        return None
    try:
        held = msgspec.convert(detail[FIELD], _Held)
        tokens = tuple(
            RankedToken(piece=_read(token), logprob=value, top=tuple((_read(t), v) for t, v in top))
            for token, value, top in held.tokens
        )
    except ValueError as error:  # msgspec's own is one, and so is a byte out of range
        raise DamagedError(f"recorded log-probabilities cannot be read: {error}") from None
    return Logprobs(top=held.top, tokens=tokens)


def _write(piece: bytes) -> Json:
    try:
        return piece.decode("utf-8")
    except UnicodeDecodeError:
        return list(piece)


def _read(token: _Token) -> bytes:
    return token.encode("utf-8") if isinstance(token, str) else bytes(token)
