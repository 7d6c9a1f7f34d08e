"""The importer as a whole: wrong folders, options, accounting, independence of order and place."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from replay.core.canonical import canonical_bytes
from replay.core.errors import InputError
from replay.core.protocols import ImportResult
from replay.core.types import Json
from tests.unit.benchmarks.stabletoolbench.folders import (
    CACHE_FILE,
    QUERY_FILE,
    load,
    make_converted,
    make_query,
    make_raw,
    write_tree,
)

_FILES: dict[str, Json] = {
    "LICENSE": "Apache License\nVersion 2.0\n",
    QUERY_FILE: [make_query()],
    CACHE_FILE: {"{'city': 'Oslo'}": {"error": "", "response": "cold"}},
    "answer/one/G1_instruction/7_CoT@1.json": make_raw(
        ('{"city": "Bergen"}', '{"error": "", "response": 1}', 0)
    ),
    "model_predictions_converted/one/G1_instruction.json": {"7": make_converted()},
}


def _bytes(result: ImportResult) -> bytes:
    return canonical_bytes(msgspec.to_builtins(result))


def test_wrong_folder_says_what_was_looked_for(tmp_path: Path) -> None:
    """A folder of something else is one clear error."""
    root = write_tree(tmp_path, {"notes/a.txt": "x", "package.json": {"name": "x"}})
    with pytest.raises(InputError, match=r"nothing of StableToolBench or ToolBench .*solvable_queries"):
        load(root)


def test_absent_folder(tmp_path: Path) -> None:
    """A folder that is not there is named without its place on this machine."""
    with pytest.raises(InputError, match=r"^no such folder \(gone\)"):
        load(tmp_path / "gone")


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    """A packed cache must be unpacked first."""
    root = write_tree(tmp_path, {"cache.zip": b"PK"})
    with pytest.raises(InputError, match=r"not a folder \(cache.zip\).*unpack it first"):
        load(root / "cache.zip")


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("unknown import option 'fast'; expected one of failures, filter", {"fast": "yes"}),
        (r"unusable value 'maybe' \(option filter\); expected one of flag, exclude", {"filter": "maybe"}),
        (r"unusable value 1 \(option prefer\)", {"prefer": 1}),
    ],
)
def test_unknown_options(tmp_path: Path, message: str, options: dict[str, Json]) -> None:
    """Unknown options and values are refused with what is allowed."""
    with pytest.raises(InputError, match=message):
        load(write_tree(tmp_path, _FILES), **options)


def test_every_file_is_accounted_for(tmp_path: Path) -> None:
    """Each file is read as something, ignored by rule, or skipped by name."""
    extra = {"README.md": "x", ".DS_Store": "x", "server/cache.zip": b"PK", "other.json": {"a": 1}}
    report = load(write_tree(tmp_path, {**_FILES, **extra})).report
    assert {file["path"] for file in report["files"]} == {*_FILES, "other.json"} - {"LICENSE"}
    assert report["ignored"] == {".DS_Store": 1}
    assert report["skipped"] == [
        {"what": "README.md", "why": "no form this importer knows"},
        {"what": "other.json", "why": "no form this importer knows"},
        {"what": "server/cache.zip", "why": "packed; unpack it first"},
    ]


def test_nothing_is_skipped_of_a_clean_folder(tmp_path: Path) -> None:
    """The list of what was left out is there and empty."""
    assert load(write_tree(tmp_path, _FILES)).report["skipped"] == []


def test_links_are_skipped_by_name(tmp_path: Path) -> None:
    """A link may lead out of the folder; it is not followed."""
    root = write_tree(tmp_path / "data", _FILES)
    write_tree(tmp_path, {"secret.json": [make_query(9)]})
    (root / "link.json").symlink_to(tmp_path / "secret.json")
    (root / "loop").symlink_to(root)
    skipped = load(root).report["skipped"]
    assert [item["what"] for item in skipped] == ["link.json", "loop"]


def test_names_that_are_not_utf8_are_skipped_by_name(tmp_path: Path) -> None:
    """A file name that cannot be stored is named, its file left alone."""
    root = write_tree(tmp_path, _FILES)
    Path(os.fsdecode(os.fsencode(root) + b"/\xff.json")).write_text("[]")
    assert load(root).report["skipped"][0]["why"] == "its name is not UTF-8"


def test_licence_is_read_from_the_folder(tmp_path: Path) -> None:
    """The licence file gives the SPDX expression of every source."""
    result = load(write_tree(tmp_path, _FILES))
    assert {source.licence for source in result.sources} == {"Apache-2.0"}
    assert result.licences == {"upstream data": "Apache-2.0"}


def test_no_licence_is_no_assertion(tmp_path: Path) -> None:
    """Nothing is claimed where nothing is said."""
    assert load(write_tree(tmp_path, {QUERY_FILE: [make_query()]})).sources[0].licence == "NOASSERTION"


def test_import_does_not_depend_on_order_or_place(tmp_path: Path) -> None:
    """Files written in another order, under another name, give the same bytes."""
    first = load(write_tree(tmp_path / "one", _FILES))
    second = load(write_tree(tmp_path / "zwei" / "drei", dict(reversed(_FILES.items()))))
    assert _bytes(first) == _bytes(second)


def test_version_follows_the_content(tmp_path: Path) -> None:
    """Another byte is another version."""
    first = load(write_tree(tmp_path, _FILES)).version
    assert load(write_tree(tmp_path, {"x.json": {}})).version != first


def test_caches_come_before_observations(tmp_path: Path) -> None:
    """Where both answer one request, the cache's answer stays and the other is a collision."""
    raw = make_raw(('{"city": "Oslo"}', '{"error": "", "response": "warm"}', 0))
    files = {**_FILES, "answer/one/G1_instruction/7_CoT@1.json": raw}
    result = load(write_tree(tmp_path, files))
    kept = [answer for answer in result.answers if answer.request is not None]
    assert [answer.body for answer in kept] == ['{"error":"","response":"cold"}']
    assert result.report["answers"]["collisions"] == 1


def test_upstream_wording_travels_with_the_tasks(tmp_path: Path) -> None:
    """Sentences found in an answer are stored in each task's data."""
    assert load(write_tree(tmp_path, _FILES)).tasks[0].data["wording"]["tool_sentence"].startswith("One of")
