"""Full and read-only disks: one line, exit 3, nothing half-written; with room the work goes on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import MINI, SOURCES, Answered, read_folder, run_command, run_process
from tests.support.data import CHECKOUT

# Many stores, archives or processes: together they take longer than the fast tests may.
pytestmark = pytest.mark.slow

ARCHIVE = CHECKOUT / "snapshots" / f"{MINI}.replay"


def is_refused(answered: Answered, message: str) -> None:
    """One line, exit 3, nothing on standard output."""
    assert (3, "") == (answered.code, answered.out), answered
    assert re.search(message, answered.err), answered.err
    assert 1 == len(answered.err.splitlines())


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB; only root may make one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can make a small disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this system lets nobody mount")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def run_words(stores: Path, out: Path) -> list[str | Path]:
    """A strict run of the shipped suite."""
    return ["run", MINI, "--candidate", "cot", "--mode", "strict", "--home", stores, "--out", out]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["import", "stabletoolbench", SOURCES, "-o", "new/a.replay"],
            r"cannot write a\.replay: File too large",
        ),
        (["archive", "thaw", ARCHIVE, "-o", "new/store"], r"cannot be sealed: .* on a disk with space"),
        (["archive", "freeze", "store", "-o", "new/a.replay"], r"cannot write a\.replay: File too large"),
        (["export", "run", "-o", "new/answers", "--home", "home"], r"cannot be written: File too large"),
        (
            ["run", MINI, "--candidate", "cot", "--home", "new", "--out", "out"],
            r"cannot be sealed: .*disk with space",
        ),
    ],
    ids=["import", "thaw", "freeze", "export", "first run"],
)
def test_a_file_that_cannot_grow(
    tmp_path: Path, stores: Path, cot_run: Path, words: list[str | Path], message: str
) -> None:
    """Whatever a command writes, it says what could not be written and takes away what it had begun."""
    (tmp_path / "new").mkdir()
    (tmp_path / "run").symlink_to(cot_run)
    (tmp_path / "home").symlink_to(stores)
    (tmp_path / "store").symlink_to(next((stores / "stores").iterdir()))
    is_refused(run_process(*words, cwd=tmp_path, limit_bytes=10_000), message)
    left = [name for name, content in read_folder(tmp_path / "new").items() if content]
    assert [] == left
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_run_goes_on_when_there_is_room(tmp_path: Path, stores: Path, whole_run: Path) -> None:
    """A run that the disk stopped says how to go on, and then comes to the same bytes."""
    stopped = run_process(*run_words(stores, tmp_path / "run"), limit_bytes=60_000)
    is_refused(stopped, r"run folder cannot be written: File too large.*next: run the same command again")
    assert 0 == run_command(*run_words(stores, tmp_path / "run")).code
    expected, found = read_folder(whole_run), read_folder(tmp_path / "run")
    assert expected.pop("timings.jsonl") != found.pop("timings.jsonl")
    assert expected == found


def test_a_want_list_that_cannot_grow(tmp_path: Path, cot_run: Path) -> None:
    """No half of a want list stays behind, and an earlier one stays whole."""
    (tmp_path / "want.json").write_bytes(b"{}")
    answered = run_process("misses", cot_run, "-o", tmp_path / "want.json", limit_bytes=0)
    is_refused(answered, r"cannot write want\.json: File too large.*choose another place")
    assert {"want.json": b"{}"} == read_folder(tmp_path)


def test_a_full_disk(small_disk: Path, stores: Path) -> None:
    """Import, thaw and run on a disk without room say so and leave what was there as it was."""
    (small_disk / "precious").write_bytes(b"x" * 200_000)
    before = read_folder(small_disk)
    import_words = ("import", "stabletoolbench", SOURCES, "-o", small_disk / "a.replay")
    is_refused(run_command(*import_words), r"cannot write a\.replay: No space left on device")
    assert before == read_folder(small_disk)
    thaw_words = ("archive", "thaw", ARCHIVE, "-o", small_disk / "store")
    is_refused(run_process(*thaw_words), r"cannot be sealed: .* on a disk with space")
    assert before == read_folder(small_disk)
    is_refused(
        run_command(*run_words(stores, small_disk / "run")), r"run folder cannot be written: the disk is full"
    )
    assert before.keys() <= read_folder(small_disk).keys()


def test_a_read_only_disk(small_disk: Path, stores: Path, cot_run: Path) -> None:
    """A disk that is only read is named as such by everything that writes."""
    (small_disk / "precious").write_bytes(b"x")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    target = small_disk / "a.replay"
    read_only = r"[Rr]ead-only"
    is_refused(run_command("import", "stabletoolbench", SOURCES, "-o", target), read_only)
    is_refused(run_command("archive", "thaw", ARCHIVE, "-o", small_disk / "store"), read_only)
    is_refused(run_command(*run_words(stores, small_disk / "run")), read_only)
    is_refused(run_command("export", cot_run, "-o", small_disk / "out", "--home", stores), read_only)
    is_refused(run_command("misses", cot_run, "-o", small_disk / "want.json"), read_only)
    is_refused(run_command(*run_words(small_disk / "home", small_disk.parent / "run")), read_only)
    assert {"precious": b"x"} == read_folder(small_disk)
