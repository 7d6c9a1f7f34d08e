"""Tokens to evaluate, in memory of our own that the library reads."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from replay.core.errors import InternalError

__all__ = ["Batch"]


class Batch:
    """Runs of tokens of several sequences, filled anew for each call."""

    def __init__(self, structure: Any, numpy: Any, capacity: int) -> None:
        """Make the arrays once; `structure` is the library's batch type."""
        self._token = numpy.zeros(capacity, numpy.int32)
        self._position = numpy.zeros(capacity, numpy.int32)
        self._sequence = numpy.zeros(capacity, numpy.int32)
        self._wanted = numpy.zeros(capacity, numpy.int8)
        self._one = numpy.ones(capacity, numpy.int32)  # each token belongs to one sequence
        step = self._sequence.itemsize
        self._pointers = numpy.arange(capacity, dtype=numpy.uintp) * step + self._sequence.ctypes.data
        self._arange = numpy.arange
        int32, int8 = ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(ctypes.c_int8)
        self.structure = structure(
            n_tokens=0,
            token=self._token.ctypes.data_as(int32),
            embd=None,
            pos=self._position.ctypes.data_as(int32),
            n_seq_id=self._one.ctypes.data_as(int32),
            seq_id=self._pointers.ctypes.data_as(ctypes.POINTER(int32)),
            logits=self._wanted.ctypes.data_as(int8),
        )
        self.capacity = capacity
        self.tokens = 0
        self.rows = 0

    def clear(self) -> None:
        """Take everything out."""
        self.tokens = self.rows = self.structure.n_tokens = 0

    def add(self, tokens: Sequence[int], *, position: int, sequence: int, wants_row: bool) -> None:
        """Append a run of one sequence's tokens; the row wanted is that of the last."""
        start, end = self.tokens, self.tokens + len(tokens)
        if end > self.capacity or not tokens:
            raise InternalError(f"{len(tokens)} tokens for a batch with {self.capacity - start} places left")
        if len(tokens) == 1:
            self._token[start] = tokens[0]
            self._position[start] = position
        else:
            self._token[start:end] = tokens
            self._position[start:end] = self._arange(position, position + len(tokens))
        self._sequence[start:end] = sequence
        self._wanted[start:end] = 0
        self._wanted[end - 1] = wants_row
        self.tokens = self.structure.n_tokens = end
        self.rows += wants_row
