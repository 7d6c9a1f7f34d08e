"""An archive opens with tar, sha256sum, zstd and python alone, by the commands its README gives."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from replay.store.archive.reader import read_manifest
from tests.support.archives import make_archive, read_members


def _run(folder: Path, command: str) -> str:
    return subprocess.run(
        ["sh", "-ec", command], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.skipif(
    not all(map(shutil.which, ("tar", "sha256sum", "zstd"))), reason="tar, sha256sum or zstd is not installed"
)
def test_the_five_commands_of_the_readme_verify_an_archive(tmp_path: Path) -> None:
    """Unpack, check, uncompress, count, and compute the root from the rows."""
    path = make_archive(tmp_path, tasks=600, snapshots=300)
    manifest = read_manifest(path)
    empty = tmp_path / "empty"
    empty.mkdir()
    _run(empty, "tar xf ../demo.replay")
    checked = _run(empty, "sha256sum -c SHA256SUMS").splitlines()
    assert 5 == len(checked)
    assert all(line.endswith(": OK") for line in checked)
    _run(empty, "zstd -q -d *.jsonl.zst")
    counted = [line.split() for line in _run(empty, "wc -l *.jsonl").splitlines()]
    assert [[str(rows), f"{name}.jsonl"] for name, rows in manifest.counts.items()] == counted[:-1]
    assert manifest.root == _run(empty, f"'{sys.executable}' README.txt").strip()


def test_the_readme_is_for_people_too(tmp_path: Path) -> None:
    """It names archive, root and the five commands."""
    path = make_archive(tmp_path)
    text = read_members(path)["README.txt"].decode()
    for word in (
        "demo 1",
        read_manifest(path).root,
        "tar xf",
        "sha256sum -c SHA256SUMS",
        "zstd -d",
        "wc -l",
        "python3 README.txt",
    ):
        assert word in text
