"""Embeddings: array files, upstream's pickle without loading it, and the order of neighbours."""

from __future__ import annotations

import math
import os
import pickle
import struct
from typing import Any

import pytest

from replay.benchmarks.metatool.importing.embeddings import NeighbourTable, read_npy, read_pickle
from replay.core.errors import InputError

NAMES = ["one", "two", "three"]
ROWS = [[0.0, 1.0], [0.5, 0.25], [2.0, -1.0]]


def make_npy(rows: list[list[float]], *, header: str = "", version: int = 1) -> bytes:
    """Build an array file of doubles."""
    shape = (len(rows), len(rows[0]))
    text = header or f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    size = struct.pack("<H" if version == 1 else "<I", len(text))
    body = b"".join(struct.pack(f"<{len(row)}d", *row) for row in rows)
    return b"\x93NUMPY" + bytes([version, 0]) + size + text.encode() + body


@pytest.mark.parametrize("version", [1, 2])
def test_an_array_file_is_read(version: int) -> None:
    """Row by row, under its name."""
    vectors = read_npy(make_npy(ROWS, version=version), NAMES, where="x.npy")
    assert dict(zip(NAMES, ROWS, strict=True)) == {name: list(row) for name, row in vectors.items()}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not a NumPy array"),
        (b"\x93NUMPY\x01\x00\xff\xff{}", "a header of 65535 bytes"),
        (make_npy(ROWS)[:-8], "40 bytes of numbers"),
        (make_npy(ROWS, header="{'descr': '|O', 'fortran_order': False, 'shape': (3, 2), }"), "another kind"),
        (make_npy(ROWS, header="{'descr': '<f8', 'fortran_order': True, 'shape': (3, 2), }"), "another kind"),
        (make_npy(ROWS, header="{'descr': '<f8', 'shape': (3, -2), }"), "another kind"),
        (make_npy(ROWS, header="__import__('os')"), "another kind"),
        (make_npy(ROWS, header="{" * 4000), "another kind"),
        (make_npy([[math.nan, 0.0], *ROWS[1:]]), "not finite"),
        (make_npy(ROWS[:2]), "2 rows for 3 names"),
    ],
)
def test_other_bytes_are_refused(data: bytes, said: str) -> None:
    """By name, before anything is made of them."""
    with pytest.raises(InputError, match=said):
        read_npy(data, NAMES, where="x.npy")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_upstreams_pickle_is_read_as_data(protocol: int) -> None:
    """Whatever protocol wrote it."""
    entries = [{"tool": name, "embedding": row} for name, row in zip(NAMES, ROWS, strict=True)]
    vectors = read_pickle(pickle.dumps(entries, protocol=protocol), where="x.pkl")
    assert dict(zip(NAMES, ROWS, strict=True)) == dict(vectors)


class Call:
    """What a pickle that runs something is made of."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("made-by-a-pickle",)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_that_would_run_something_is_refused(protocol: int, tmp_path: Any, monkeypatch: Any) -> None:
    """Nothing of it runs; the opcode is named."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"more than plain data: opcode .*GLOBAL"):
        read_pickle(pickle.dumps([{"tool": "x", "embedding": Call()}], protocol=protocol), where="x.pkl")
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "more than plain data"),
        (pickle.dumps(ROWS)[:-1], "more than plain data"),
        (b"\x80\x04]\x94", "more than plain data|cut off"),
        (pickle.dumps({"tool": "x"}), "another shape"),
        (pickle.dumps([{"tool": "x", "embedding": ["a"]}]), "another shape"),
        (
            pickle.dumps([{"tool": "x", "embedding": [1.0]}, {"tool": "y", "embedding": [1.0, 2.0]}]),
            "lengths",
        ),
        (b"\x80\x02K\x01K\x02.", "values at the end"),
        (b"\x80\x02a.", "more than plain data"),
    ],
)
def test_a_broken_pickle_is_refused(data: bytes, said: str) -> None:
    """Cut, of another shape, or with a stack that does not work out."""
    with pytest.raises(InputError, match=said):
        read_pickle(data, where="x.pkl")


def test_neighbours_come_by_distance_and_ties_by_place() -> None:
    """A tool is its own first neighbour, also beside a twin."""
    table = NeighbourTable(
        ["twin", "self", "far", "near"], {"twin": [0], "self": [0], "far": [5], "near": [-1]}
    )
    assert ["self", "twin", "near", "far"] == table.nearest("self", 9)
    assert ["near", "twin", "self"] == table.nearest("near", 3)
