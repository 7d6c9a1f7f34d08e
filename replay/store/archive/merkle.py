"""Merkle tree over the rows of an archive: the archive root and everything that is proven against it.

The shape of the tree is that of RFC 6962 (a lone last node moves up unchanged), so a run of 256 rows that
starts at a multiple of 256 is one inner node: a frame of a member can be checked against the root alone.
Every kind of node has its own first byte, so none can be taken for another. Bytes covered are always
uncompressed; another compressor cannot change a root.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final

from replay.core.types import Digest

__all__ = ["archive_root", "leaf_prefix", "row_leaf", "table_leaf", "tree_node"]

_LEAF: Final = b"\x00"
_NODE: Final = b"\x01"
_TABLE: Final = b"\x02"
_BASE: Final = b"\x03"


def leaf_prefix(table: str) -> bytes:
    """First bytes of every leaf of a table."""
    return b"%b%b\x00" % (_LEAF, table.encode())


def row_leaf(prefix: bytes, row_id: str, line: bytes) -> bytes:
    """Hash one row: its table's prefix, its id and the SHA-256 of its line (without the line feed)."""
    return sha256(prefix + row_id.encode() + b"\x00" + sha256(line).digest()).digest()


def tree_node(nodes: Sequence[bytes]) -> bytes:
    """Hash a run of neighbouring nodes to the one above them all; SHA-256 of nothing when there are none."""
    level = list(nodes)
    if not level:
        return sha256(b"").digest()
    while len(level) > 1:
        paired = [sha256(_NODE + level[at] + level[at + 1]).digest() for at in range(0, len(level) - 1, 2)]
        if len(level) % 2:
            paired.append(level[-1])
        level = paired
    return level[0]


def table_leaf(table: str, rows: int, root: bytes) -> bytes:
    """Hash one table: its name, its number of rows and the root of its rows."""
    return sha256(_TABLE + table.encode() + b"\x00" + rows.to_bytes(8, "big") + root).digest()


def archive_root(bases: Iterable[Digest], tables: Iterable[tuple[str, int, bytes]]) -> Digest:
    """Hash base roots (in declared order) and tables (name, rows, root; by name) to the archive root."""
    nodes = [sha256(_BASE + bytes.fromhex(base.removeprefix("sha256:"))).digest() for base in bases]
    nodes += [table_leaf(name, rows, root) for name, rows, root in sorted(tables)]
    return Digest("sha256:" + tree_node(nodes).hex())
