"""Differences between archives, item by item."""

from __future__ import annotations

from pathlib import Path

from replay.core.canonical import canonical_bytes
from replay.core.types import Json
from replay.store.archive.diff import ArchiveDiff, ItemDifference, diff
from replay.store.archive.freeze import ArchiveContent, freeze
from replay.store.archive.rows import encode_snapshot, record_digest
from tests.support.archives import make_archive, make_content, make_facts, make_snapshot


def _diff(tmp_path: Path, left: ArchiveContent, right: ArchiveContent) -> ArchiveDiff:
    freeze(left, tmp_path / "left.replay")
    freeze(right, tmp_path / "right.replay")
    return diff(tmp_path / "left.replay", tmp_path / "right.replay")


def _tasks(**records: Json) -> ArchiveContent:
    rows = [(name, canonical_bytes(record)) for name, record in records.items()]
    return ArchiveContent(facts=make_facts(), tables={"tasks": rows})


def test_an_archive_does_not_differ_from_itself(tmp_path: Path) -> None:
    """Equal archives have an empty difference."""
    path = make_archive(tmp_path)
    assert diff(path, path).is_same


def test_added_removed_and_changed_rows_are_listed_in_order(tmp_path: Path) -> None:
    """Each with the digests of its records and the first path that differs."""
    found = _diff(tmp_path, _tasks(a=1, b={"q": ["x", "y"]}, d=4), _tasks(b={"q": ["x", "z"]}, c=3, d=4))
    a, b, old, new = (record_digest(each) for each in (b"1", b"3", b'{"q":["x","y"]}', b'{"q":["x","z"]}'))
    assert (
        ItemDifference(table="tasks", id="a", change="removed", left=a),
        ItemDifference(table="tasks", id="b", change="changed", left=old, right=new, path="$.q[1]"),
        ItemDifference(table="tasks", id="c", change="added", right=b),
    ) == found.items


def test_the_first_differing_path_is_found_at_any_depth(tmp_path: Path) -> None:
    """Missing names, longer lists and other types are differences at their own place."""
    pairs: list[tuple[Json, Json, str]] = [
        (1, 2, "$"),
        ({"a": 1}, {"a": 1, "b": 2}, "$.b"),
        ({"a": [1]}, {"a": [1, 2]}, "$.a[1]"),
        ({"a": {"b": [0, {"c": 1}]}}, {"a": {"b": [0, {"c": None}]}}, "$.a.b[1].c"),
        ([], {}, "$"),
        ({"z": 1, "a": 1}, {"z": 2, "a": 2}, "$.a"),
    ]
    for at, (left, right, path) in enumerate(pairs):
        folder = tmp_path / str(at)
        folder.mkdir()
        assert [path] == [item.path for item in _diff(folder, _tasks(x=left), _tasks(x=right)).items]


def test_a_changed_answer_is_named_by_key_and_path(tmp_path: Path) -> None:
    """Snapshots differ like any row; another sequence number is another item."""
    old, new, more = make_snapshot(1), make_snapshot(1, body="[]"), make_snapshot(1, sequence=1)
    left = ArchiveContent(facts=make_facts(), snapshots=[old])
    right = ArchiveContent(facts=make_facts(), snapshots=[new, more])
    digests = [record_digest(encode_snapshot(each)[1]) for each in (old, new, more)]
    key = f"{old.key}#"
    assert (
        ItemDifference(
            table="snapshots-api",
            id=f"{key}0",
            change="changed",
            left=digests[0],
            right=digests[1],
            path="$.body",
        ),
        ItemDifference(table="snapshots-api", id=f"{key}1", change="added", right=digests[2]),
    ) == _diff(tmp_path, left, right).items


def test_other_statements_are_named_though_the_roots_are_equal(tmp_path: Path) -> None:
    """A licence that changed is a difference, but not of content."""
    found = _diff(tmp_path, make_content(), make_content(licences={"x": "MIT"}, version="2"))
    assert ("licences", "version") == found.facts
    assert (found.left_root, ()) == (found.right_root, found.items)
    assert not found.is_same


def test_a_table_that_only_one_archive_has_differs_row_by_row(tmp_path: Path) -> None:
    """Whole tables come and go as their rows."""
    right = ArchiveContent(facts=make_facts(), tables={"tools": [("t", b"{}")], "tasks": [("a", b"1")]})
    (item,) = _diff(tmp_path, _tasks(a=1), right).items
    assert ("tools", "t", "added") == (item.table, item.id, item.change)
