"""The Merkle tree: RFC 6962's shape, every kind of node apart from the others."""

from __future__ import annotations

import hashlib

from replay.core.types import Digest
from replay.store.archive.frames import FRAME_ROWS
from replay.store.archive.merkle import archive_root, leaf_prefix, row_leaf, table_leaf, tree_node


def _hash(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _rfc6962(nodes: list[bytes]) -> bytes:
    """The recursive definition, split at the largest power of two below the count."""
    if len(nodes) < 2:
        return nodes[0] if nodes else _hash(b"")
    split = 1 << (len(nodes) - 1).bit_length() - 1
    return _hash(b"\1" + _rfc6962(nodes[:split]) + _rfc6962(nodes[split:]))


def test_the_tree_has_the_shape_of_rfc_6962_for_every_count() -> None:
    """Pairing level by level gives the recursive definition."""
    nodes = [_hash(bytes([n])) for n in range(70)]
    for count in range(len(nodes) + 1):
        assert _rfc6962(nodes[:count]) == tree_node(nodes[:count])


def test_a_full_frame_is_one_node_of_the_tree() -> None:
    """A table's root follows from the nodes of its frames."""
    nodes = [_hash(n.to_bytes(4, "big")) for n in range(3 * FRAME_ROWS + 17)]
    frames = [tree_node(nodes[at : at + FRAME_ROWS]) for at in range(0, len(nodes), FRAME_ROWS)]
    assert _rfc6962(nodes) == tree_node(frames)


def test_a_leaf_covers_table_id_and_line() -> None:
    """Each of the three changes the leaf, and they cannot be shifted into one another."""
    assert _hash(b"\0tasks\0a\0" + _hash(b"{}")) == row_leaf(leaf_prefix("tasks"), "a", b"{}")
    leaves = {
        row_leaf(leaf_prefix(table), row_id, line)
        for table, row_id, line in (
            ("t", "ab", b"{}"),
            ("ta", "b", b"{}"),
            ("t", "ab", b"[]"),
            ("t", "a\0b", b"{}"),
        )
    }
    assert 4 == len(leaves)


def test_a_table_leaf_covers_name_count_and_root() -> None:
    """The count is part of the identity."""
    assert _hash(b"\2tasks\0" + (7).to_bytes(8, "big") + bytes(32)) == table_leaf("tasks", 7, bytes(32))


def test_the_archive_root_does_not_depend_on_the_order_of_tables() -> None:
    """Tables are sorted by name; bases keep their order."""
    tables = [("b", 1, bytes(32)), ("a", 2, bytes(32))]
    one, two = (Digest("sha256:" + c * 64) for c in "12")
    assert archive_root((), tables) == archive_root((), tables[::-1])
    assert archive_root((one, two), tables) != archive_root((two, one), tables)


def test_the_root_of_nothing_is_the_digest_of_nothing() -> None:
    """An empty archive has the root RFC 6962 gives an empty tree."""
    assert "sha256:" + hashlib.sha256(b"").hexdigest() == archive_root((), ())


def test_a_base_changes_the_root() -> None:
    """A layer's identity covers what it stands on."""
    tables = [("a", 2, bytes(32))]
    assert archive_root((), tables) != archive_root((Digest("sha256:" + "1" * 64),), tables)
