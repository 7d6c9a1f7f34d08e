"""Freezing: one content, one file, whatever surrounds it; whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from replay.core.errors import InputError, LimitError, StoreError
from replay.core.protocols import SourceFile
from replay.core.types import Snapshot
from replay.store.archive.atomic import write_whole
from replay.store.archive.freeze import ArchiveContent, freeze
from replay.store.archive.manifest import encode_manifest
from replay.store.archive.reader import ArchiveReader, read_manifest
from tests.support.archives import (
    make_archive,
    make_content,
    make_facts,
    make_rows,
    make_snapshot,
    read_members,
)

_FREEZE_ELSEWHERE = """
import random, sys, pathlib
from replay.store.archive.freeze import ArchiveContent, freeze
from tests.support.archives import make_content
content = make_content()
snapshots, rows = list(content.snapshots), list(content.tables["tasks"])
random.Random(int(sys.argv[2])).shuffle(snapshots)
rows.reverse()
shuffled = ArchiveContent(facts=content.facts, tables={"tasks": rows}, snapshots=snapshots)
freeze(shuffled, pathlib.Path(sys.argv[1]))
"""


def test_the_order_of_insertion_does_not_matter(tmp_path: Path) -> None:
    """Rows and snapshots in any order give the same bytes."""
    content = make_content(tasks=300, snapshots=300)
    freeze(content, tmp_path / "a.replay")
    shuffled = sorted(content.snapshots, key=lambda snapshot: snapshot.body[::-1])
    other = ArchiveContent(
        facts=content.facts, tables={"tasks": reversed(make_rows(300)), "empty": ()}, snapshots=iter(shuffled)
    )
    freeze(other, tmp_path / "b.replay")
    assert (tmp_path / "a.replay").read_bytes() == (tmp_path / "b.replay").read_bytes()


@pytest.mark.parametrize(
    ("environment", "umask"),
    [
        ({"PYTHONHASHSEED": "1", "TZ": "Pacific/Auckland", "LC_ALL": "C"}, 0o077),
        ({"PYTHONHASHSEED": "random", "TZ": "America/Caracas", "LC_ALL": "tr_TR.UTF-8", "USER": "x"}, 0o000),
    ],
)
def test_folder_locale_zone_umask_and_hash_seed_do_not_matter(
    tmp_path: Path, environment: dict[str, str], umask: int
) -> None:
    """Another process in another place writes the same bytes."""
    folder = tmp_path / "другая папка"
    folder.mkdir()
    target = folder / "other name.replay"
    root = Path(__file__).parents[4]
    subprocess.run(
        [sys.executable, "-c", _FREEZE_ELSEWHERE, str(target), str(umask)],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(root), **environment},
        umask=umask,
        check=True,
    )
    assert make_archive(tmp_path).read_bytes() == target.read_bytes()


def test_nothing_of_host_user_or_folder_is_in_the_file(tmp_path: Path) -> None:
    """Names of the surroundings never enter."""
    data = make_archive(tmp_path).read_bytes()
    for name in (os.uname().nodename, tmp_path.name, str(Path.home())):
        assert name.encode() not in data


def test_the_root_does_not_depend_on_statements_or_compression(tmp_path: Path) -> None:
    """Another maker, licence or tool version is another file with the same root."""
    one = freeze(make_content(), tmp_path / "a.replay")
    two = freeze(make_content(licences={"x": "MIT"}, tool_versions={"libzstd": "9"}), tmp_path / "b.replay")
    assert one.root == two.root
    assert encode_manifest(one) != encode_manifest(two)


def test_the_root_depends_on_every_row(tmp_path: Path) -> None:
    """One changed answer, one added row, one renamed table: three other roots."""
    rows = make_rows(2)
    tables = [{"tasks": rows}, {"tasks": rows[:1]}, {"questions": rows}, {"tasks": make_rows(2, text="q")}]
    roots = {
        freeze(ArchiveContent(facts=make_facts(), tables=each), tmp_path / f"{at}.replay").root
        for at, each in enumerate(tables)
    }
    assert len(tables) == len(roots)


def test_the_root_of_a_known_archive_never_changes(tmp_path: Path) -> None:
    """A golden root: it changes only with the format version."""
    content = ArchiveContent(
        facts=make_facts(), tables={"tasks": [("a", b'{"q":"why?"}'), ("b", b'{"q":"how?"}')]}
    )
    manifest = freeze(content, tmp_path / "a.replay")
    assert "sha256:cd154bc0eaa74771a273690cb2a6986ff0e81145a4e2ca31a09323617957185a" == manifest.root


def test_members_are_in_a_fixed_order_with_zeroed_headers(tmp_path: Path) -> None:
    """Documents first, then tables by name."""
    assert [
        "README.txt",
        "manifest.json",
        "SHA256SUMS",
        "snapshots-api.jsonl.zst",
        "snapshots-verdict.jsonl.zst",
        "tasks.jsonl.zst",
    ] == list(read_members(make_archive(tmp_path)))


def test_tables_without_rows_are_left_out(tmp_path: Path) -> None:
    """An empty table and no table are one content."""
    manifest = freeze(ArchiveContent(facts=make_facts(), tables={"tasks": ()}), tmp_path / "a.replay")
    assert {} == manifest.counts
    assert manifest == read_manifest(tmp_path / "a.replay")


def test_an_equal_row_twice_is_one_row_and_a_different_one_is_refused(tmp_path: Path) -> None:
    """An id names one content."""
    twice = ArchiveContent(facts=make_facts(), tables={"tasks": [*make_rows(3), *make_rows(3)]})
    assert {"tasks": 3} == freeze(twice, tmp_path / "a.replay").counts
    both = ArchiveContent(facts=make_facts(), tables={"tasks": [*make_rows(3), ("t00001", b"{}")]})
    with pytest.raises(InputError, match=r"two different rows with one id \(table tasks, row 't00001'\)"):
        freeze(both, tmp_path / "b.replay")


def test_two_answers_of_one_key_and_number_are_refused(tmp_path: Path) -> None:
    """Sequence numbers tell answers of one request apart."""
    same, other = make_snapshot(1), make_snapshot(1, body='"other"')
    later = make_snapshot(1, sequence=10, body='"other"')
    freeze(ArchiveContent(facts=make_facts(), snapshots=[later, same, same]), tmp_path / "a.replay")
    with ArchiveReader(tmp_path / "a.replay") as archive:
        assert [same, later] == list(archive.snapshots())
    with pytest.raises(InputError, match="two different rows with one id"):
        freeze(ArchiveContent(facts=make_facts(), snapshots=[same, other]), tmp_path / "b.replay")


@pytest.mark.parametrize("name", ["Tasks", "", "../x", "a" * 33, "snapshots-api", "a_b", "1a"])
def test_a_bad_table_name_is_refused(tmp_path: Path, name: str) -> None:
    """Names of tables become names of members."""
    with pytest.raises(InputError, match="table name"):
        freeze(ArchiveContent(facts=make_facts(), tables={name: make_rows(1)}), tmp_path / "a.replay")


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"name": "a/b"}, "name 'a/b' is not"),
        ({"version": ""}, "version '' is not"),
        ({"benchmark": 'x"""'}, 'benchmark \'x"""\' is not'),
        ({"bases": ("sha256:12",)}, "is not an archive root"),
        ({"bases": ("sha256:" + "1" * 64,) * 2}, "different ones"),
        ({"sources": (SourceFile(path="/home/me/x.json", digest="", records=1),)}, "is not relative"),
        ({"sources": (SourceFile(path="a/../../x.json", digest="", records=1),)}, "is not relative"),
        ({"sources": (SourceFile(path="C:\\x.json", digest="", records=1),)}, "is not relative"),
        ({"notes": float("nan")}, "not a JSON number"),
        ({"notes": "x" * (17 << 20)}, "a manifest of"),
    ],
)
def test_bad_statements_are_refused_and_leave_nothing(
    tmp_path: Path, changes: dict[str, Any], what: str
) -> None:
    """Facts are checked before a file appears."""
    with pytest.raises((InputError, LimitError), match=what):
        freeze(ArchiveContent(facts=make_facts(**changes)), tmp_path / "a.replay")
    assert [] == list(tmp_path.iterdir())


def test_sources_are_sorted_for_the_maker(tmp_path: Path) -> None:
    """The order in which an import found its files does not matter."""
    files = tuple(SourceFile(path=path, digest="sha256:1", records=1, licence="MIT") for path in ("b", "a"))
    manifest = freeze(make_content(sources=files), tmp_path / "a.replay")
    assert ["a", "b"] == [source.path for source in manifest.sources]


def test_the_tools_that_froze_first_are_named(tmp_path: Path) -> None:
    """Program and compressor versions explain bytes."""
    assert {"libzstd", "replay-bench"} == freeze(make_content(), tmp_path / "a.replay").tool_versions.keys()


def test_freezing_again_over_the_same_bytes_is_fine_and_over_others_is_refused(tmp_path: Path) -> None:
    """A different archive is never overwritten without the word."""
    path = make_archive(tmp_path)
    freeze(make_content(), path)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"other content is already there \(demo\.replay\).*--overwrite"):
        freeze(make_content(tasks=9), path)
    assert before == path.read_bytes()
    freeze(make_content(tasks=9), path, overwrite=True)
    assert 9 == read_manifest(path).counts["tasks"]
    assert ["demo.replay"] == [each.name for each in tmp_path.iterdir()]


def test_an_interrupt_leaves_nothing_and_the_old_file_untouched(tmp_path: Path) -> None:
    """Ctrl-C in the middle of the rows: no partial file, no temporary one."""
    path = make_archive(tmp_path)
    before = path.read_bytes()

    def interrupted() -> Iterator[Snapshot]:
        yield make_snapshot(1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        freeze(ArchiveContent(facts=make_facts(), snapshots=interrupted()), path, overwrite=True)
    assert ["demo.replay"] == [each.name for each in tmp_path.iterdir()]
    assert before == path.read_bytes()


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    """What the disk refuses becomes a StoreError; the old file stays."""
    path = make_archive(tmp_path)
    before = path.read_bytes()

    def write_half() -> None:
        with write_whole(path, overwrite=True) as file:
            file.write(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(StoreError, match=r"cannot write demo\.replay: No space left.*free some space"):
        write_half()
    assert ["demo.replay"] == [each.name for each in tmp_path.iterdir()]
    assert before == path.read_bytes()


def test_a_file_size_limit_stops_a_real_write(tmp_path: Path) -> None:
    """The kernel's own refusal, in a process of its own, leaves an empty folder."""
    code = (
        "import resource, signal, pathlib, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))\n"
        "from replay.core.errors import StoreError\n"
        "from tests.support.archives import make_archive\n"
        "try:\n    make_archive(pathlib.Path(sys.argv[1]), tasks=30000)\n"
        "except StoreError as error:\n    print(error)\n"
    )
    root = Path(__file__).parents[4]
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env={"PYTHONPATH": str(root), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "cannot write demo.replay: File too large" in done.stdout
    assert [] == list(tmp_path.iterdir())


def test_a_missing_folder_and_a_folder_in_the_way_are_named(tmp_path: Path) -> None:
    """Where nothing can be written, one line says so."""
    with pytest.raises(StoreError, match="make the folder first"):
        freeze(make_content(), tmp_path / "none" / "a.replay")
    with pytest.raises(InputError, match="a folder is in the way"):
        freeze(make_content(), tmp_path)


def test_a_frame_over_the_buffer_is_streamed_and_read_back(tmp_path: Path) -> None:
    """Large rows take another way through compressor and reader, with the same law."""
    text = hashlib.shake_256(b"noise").hexdigest(1000) * 1600
    rows = [(f"t{at}", msgspec.json.encode({"at": at, "text": text})) for at in range(3)]
    freeze(ArchiveContent(facts=make_facts(), tables={"tasks": rows}), tmp_path / "a.replay")
    with ArchiveReader(tmp_path / "a.replay") as archive:
        assert rows == list(archive.rows("tasks"))
        assert archive.verify().ok
