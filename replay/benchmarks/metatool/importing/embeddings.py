"""Upstream's tool embeddings as plain numbers, and the order of tools by distance from each.

Reads the array file (`.npy` with its names) or upstream's own pickle. The pickle is never loaded: its
opcodes are read as data by a machine that knows lists, objects, texts and numbers and refuses all else, so
no code in it can run. Distances are Euclidean in double precision; upstream ranks by their squares, which is
the same order.
"""

from __future__ import annotations

import ast
import math
import pickletools
import re
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from replay.core.errors import InputError
from replay.core.types import Json

__all__ = ["NeighbourTable", "Vectors", "read_npy", "read_pickle"]

Vectors = Mapping[str, Sequence[float]]

_MAGIC: Final = b"\x93NUMPY"
_HEADER: Final = re.compile(r"\{.*\}\s*", re.DOTALL)
_MAX_HEADER: Final = 4096
_TYPES: Final = {"<f8": "d", "<f4": "f"}
_MAX_STACK: Final = 1_000_000
"""Upstream's file pushes 1,536 numbers at a time."""


class NeighbourTable:
    """Tools by distance from each tool, itself first."""

    def __init__(self, tools: Sequence[str], vectors: Vectors) -> None:
        """Measure every pair once; tools of equal distance keep the order of `tools`."""
        distances: dict[tuple[str, str], float] = {}
        for place, one in enumerate(tools):
            for other in tools[place:]:
                distances[one, other] = distances[other, one] = math.dist(vectors[one], vectors[other])
        self._ranked = {
            # Its own distance is exactly 0, and it comes first even beside a twin.
            one: sorted(tools, key=lambda other: (distances[one, other], other != one))
            for one in tools
        }

    def nearest(self, tool: str, count: int) -> list[str]:
        """The nearest tools, the tool itself first."""
        return self._ranked[tool][:count]


def read_npy(data: bytes, names: Sequence[str], *, where: str) -> Vectors:
    """Read a two-dimensional array of doubles or singles, one row a name.

    Errors:  InputError for another format, shape or length, or for a number that is not finite.
    """
    shape, code, body = _read_header(data, where)
    rows, width = shape
    if rows != len(names) or len(set(names)) != rows:
        raise InputError(f"{rows} rows for {len(names)} names", where=where, expected="a row for each name")
    numbers = array(code)
    if len(body) != rows * width * numbers.itemsize:
        raise InputError(f"{len(body)} bytes of numbers", where=where, expected=f"{rows} x {width} numbers")
    numbers.frombytes(body)
    if sys.byteorder == "big":
        numbers.byteswap()
    return _checked({name: numbers[i * width : (i + 1) * width] for i, name in enumerate(names)}, where)


def read_pickle(data: bytes, *, where: str) -> Vectors:
    """Read upstream's pickle (a list of {tool, embedding}) without loading it.

    Errors:  InputError for any opcode beyond plain data, another shape, or a number that is not finite.
    """
    value = _read_plain(data, where)
    found: dict[str, Sequence[float]] = {}
    for entry in value if isinstance(value, list) else [None]:
        tool = entry.get("tool") if isinstance(entry, dict) else None
        vector: Json = entry.get("embedding") if isinstance(entry, dict) else None
        if not isinstance(tool, str) or not _is_vector(vector):
            raise InputError("another shape", where=where, expected="a list of {tool, embedding: numbers}")
        found[tool] = vector
    if len({len(vector) for vector in found.values()}) > 1:
        raise InputError("embeddings of several lengths", where=where, expected="one length")
    return _checked(found, where)


def _read_header(data: bytes, where: str) -> tuple[tuple[int, int], str, bytes]:
    if data[:6] != _MAGIC or len(data) < 12:
        raise InputError("not a NumPy array file", where=where, expected="a .npy file of doubles")
    wide = 2 if data[6] == 1 else 4
    size = int.from_bytes(data[8 : 8 + wide], "little")
    start = 8 + wide
    if size > _MAX_HEADER or len(data) < start + size:
        raise InputError(f"a header of {size} bytes", where=where, expected=f"at most {_MAX_HEADER}")
    text = data[start : start + size].decode("latin-1")
    try:
        header = ast.literal_eval(text.strip()) if _HEADER.fullmatch(text) else None
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        header = None
    shape: Json = header.get("shape") if isinstance(header, dict) else None
    code = _TYPES.get(str(header.get("descr"))) if isinstance(header, dict) else None
    is_flat = isinstance(shape, tuple) and len(shape) == 2 and all(type(n) is int and n > 0 for n in shape)
    if not isinstance(header, dict) or code is None or not is_flat or header.get("fortran_order"):
        raise InputError(
            "an array of another kind", where=where, expected="<f8 or <f4, two dimensions, C order"
        )
    return (shape[0], shape[1]), code, data[start + size :]


def _is_vector(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(type(number) in (int, float) for number in value)


def _checked(vectors: Vectors, where: str) -> Vectors:
    for name, vector in vectors.items():
        if not all(map(math.isfinite, vector)):
            raise InputError(f"a number of {name!r} is not finite", where=where, expected="finite numbers")
    return vectors


# ---- plain data out of a pickle ------------------------------------------------------------------------

_IGNORED: Final = frozenset({"PROTO", "FRAME"})
_VALUES: Final = frozenset(
    {"BINFLOAT", "FLOAT", "BININT", "BININT1", "BININT2", "INT", "LONG1"}
    | {"BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "UNICODE"}
)
_PUTS: Final = frozenset({"BINPUT", "LONG_BINPUT", "PUT"})
_GETS: Final = frozenset({"BINGET", "LONG_BINGET", "GET"})


class _Mark:
    """Where a group of values starts on the stack."""


def _read_plain(data: bytes, where: str) -> Json:
    machine = _PlainMachine()
    try:
        for name, argument in _opcodes(data):
            if name == "STOP":
                return machine.result()
            machine.take(name, argument)
    except (ValueError, IndexError, KeyError, TypeError, UnicodeDecodeError, OverflowError) as error:
        raise InputError(
            f"a pickle with more than plain data: {error}",
            where=where,
            expected="lists, objects, texts and numbers only",
            next_step="convert it to tool_embedding.npy and tool_embedding_names.json",
        ) from None
    raise InputError("a pickle that is cut off", where=where, expected="a complete file")


def _opcodes(data: bytes) -> Iterator[tuple[str, Json]]:
    for opcode, argument, _ in pickletools.genops(data):
        yield opcode.name, argument


class _PlainMachine:
    """The part of a pickle machine that makes plain data; everything else is a ValueError."""

    def __init__(self) -> None:
        self._stack: list[Json] = []
        self._memo: dict[int, Json] = {}

    def result(self) -> Json:
        """What the pickle says."""
        if len(self._stack) != 1:
            raise ValueError(f"{len(self._stack)} values at the end")
        return self._stack[0]

    def take(self, name: str, argument: Json) -> None:
        """Carry out one opcode."""
        stack = self._stack
        if len(stack) > _MAX_STACK:
            raise ValueError("too many values at once")
        if name in _VALUES:
            stack.append(argument)
        elif name in _PUTS:
            self._memo[int(argument)] = stack[-1]
        elif name in _GETS:
            stack.append(self._memo[int(argument)])
        elif name == "MEMOIZE":
            self._memo[len(self._memo)] = stack[-1]
        elif name == "MARK":
            stack.append(_Mark())
        elif name in ("EMPTY_LIST", "EMPTY_DICT"):
            stack.append([] if name == "EMPTY_LIST" else {})
        elif name in ("LIST", "DICT"):
            group = self._group()
            stack.append(group if name == "LIST" else dict(zip(group[::2], group[1::2], strict=True)))
        elif name not in _IGNORED:
            self._fill(name)

    def _fill(self, name: str) -> None:
        if name in ("APPEND", "APPENDS"):
            items = [self._stack.pop()] if name == "APPEND" else self._group()
            self._last(list).extend(items)
        elif name in ("SETITEM", "SETITEMS"):
            pairs = self._group() if name == "SETITEMS" else [self._stack.pop(-2), self._stack.pop()]
            self._last(dict).update(zip(pairs[::2], pairs[1::2], strict=True))
        else:
            raise ValueError(f"opcode {name}")

    def _group(self) -> list[Json]:
        group: list[Json] = []
        while not isinstance(value := self._stack.pop(), _Mark):
            group.append(value)
        return group[::-1]

    def _last(self, kind: type) -> Json:
        if type(self._stack[-1]) is not kind:
            raise ValueError(f"a {kind.__name__} is filled that is none")
        return self._stack[-1]
