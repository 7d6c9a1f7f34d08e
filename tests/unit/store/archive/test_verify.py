"""Verification: every changed byte is found and named; a sample says what it covered."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from replay.core.determinism import derive_seed
from replay.core.errors import InputError, NewerFormatError, ReplayError
from replay.store.archive.container import open_archive, read_layout
from replay.store.archive.reader import ArchiveReader
from replay.store.archive.verify import VerifyReport, verify_archive
from tests.support.archives import make_archive, make_manifest, pack, pack_honestly, read_members


def _members_at(path: Path) -> list[tuple[int, str]]:
    """Where each member's header begins, and the end marker."""
    with open_archive(path) as file:
        members = read_layout(file)
    end = path.stat().st_size - 1024
    return [*((member.offset - 512, member.name) for member in members), (end, "end of file")]


def _positions(size: int, count: int) -> list[int]:
    """Different positions all over a file, the same on every run."""
    chosen: dict[int, None] = {}
    for number in itertools.count():
        chosen[derive_seed("flip", number) % size] = None
        if len(chosen) == count:
            return list(chosen)
    return []


def _check_flips(path: Path, positions: list[int]) -> None:
    """Flip one byte at each position: some finding must name the member that holds it."""
    data = path.read_bytes()
    places = _members_at(path)
    for at in positions:
        flipped = bytearray(data)
        flipped[at] ^= 1 + at % 255
        path.write_bytes(flipped)
        try:
            named = {finding.member for finding in verify_archive(path).findings}
        except InputError as error:
            named = {str(error)}
        number, (start, name) = next(
            (n, each) for n, each in reversed(list(enumerate(places, start=1))) if each[0] <= at
        )
        wanted = {name, f"member {number} at byte {start}", f"{name}, byte {start}"}
        assert any(each.startswith(tuple(wanted)) for each in named), (at, wanted, named)
    path.write_bytes(data)


def test_a_sound_archive_has_no_findings(tmp_path: Path) -> None:
    """Everything is covered and counted."""
    path = make_archive(tmp_path, tasks=300, snapshots=20, verdicts=3)
    report = verify_archive(path)
    with ArchiveReader(path) as archive:
        root = archive.manifest.root
    assert ((), 323, 323, root) == (report.findings, report.rows_checked, report.rows_total, report.root)
    assert "every byte of the file and 4 of 4 frames (323 of 323 rows)" == report.covered
    assert report.ok


def test_one_byte_flips_are_found_and_named(tmp_path: Path) -> None:
    """A sample of positions, and the first bytes of every header: the finding names the member."""
    path = make_archive(tmp_path)
    size = path.stat().st_size
    starts = [start for start, _ in _members_at(path)]
    _check_flips(path, [*starts, *_positions(size, 60)])


@pytest.mark.slow
def test_two_thousand_one_byte_flips_are_found_and_named(tmp_path: Path) -> None:
    """The bar: 2,000 positions over an archive of several frames, without one that is missed."""
    path = make_archive(tmp_path, tasks=300, snapshots=300, verdicts=20)
    _check_flips(path, _positions(path.stat().st_size, 2000))


@pytest.mark.slow
def test_no_stretch_of_an_archive_is_unguarded(tmp_path: Path) -> None:
    """Every fourth byte of the smallest archive: headers, paddings, documents, data, end."""
    path = make_archive(tmp_path, tasks=1, snapshots=0, verdicts=0)
    _check_flips(path, list(range(0, path.stat().st_size, 4)))


def test_a_flip_in_a_frame_names_its_rows(tmp_path: Path) -> None:
    """The record is named as closely as a compressed frame allows."""
    path = make_archive(tmp_path, tasks=600)
    data = bytearray(path.read_bytes())
    start = next(start for start, name in _members_at(path) if name == "tasks.jsonl.zst")
    data[start + 512 + 100] ^= 1
    path.write_bytes(data)
    (finding,) = verify_archive(path).findings
    assert ("tasks.jsonl.zst", "rows 0 to 255") == (finding.member, finding.record)


def test_every_truncation_is_found(tmp_path: Path) -> None:
    """Cut at any point: a finding or an InputError, never a pass."""
    path = make_archive(tmp_path, tasks=2, snapshots=2, verdicts=1)
    data = path.read_bytes()
    for length in range(0, len(data), 211):
        path.write_bytes(data[:length])
        try:
            assert not verify_archive(path).ok
        except InputError:
            assert length < 512


def _report_of(tmp_path: Path, data: bytes) -> VerifyReport:
    path = tmp_path / "forged.replay"
    path.write_bytes(data)
    return verify_archive(path)


def test_swapped_members_are_named(tmp_path: Path) -> None:
    """Two members in each other's place, or in another order."""
    members = read_members(make_archive(tmp_path))
    names = list(members)
    swapped = {**members, names[3]: members[names[4]], names[4]: members[names[3]]}
    report = _report_of(tmp_path, pack(swapped.items()))
    assert {"snapshots-api.jsonl.zst"} <= {finding.member for finding in report.findings}
    moved = [(name, members[name]) for name in (*names[:3], names[4], names[3], *names[5:])]
    report = _report_of(tmp_path, pack(moved))
    assert "member 4 of the file is snapshots-verdict.jsonl.zst" in report.findings[0].what


def test_a_manifest_of_another_archive_is_named(tmp_path: Path) -> None:
    """With and without the checksums that belong to it."""
    ours = read_members(make_archive(tmp_path))
    theirs = read_members(make_archive(tmp_path, "other.replay", tasks=6))
    report = _report_of(tmp_path, pack({**ours, "manifest.json": theirs["manifest.json"]}.items()))
    assert ["manifest.json"] == [finding.member for finding in report.findings]
    documents = {name: theirs[name] for name in ("README.txt", "manifest.json", "SHA256SUMS")}
    report = _report_of(tmp_path, pack({**ours, **documents}.items()))
    assert "tasks.jsonl.zst" in {finding.member for finding in report.findings}


def test_a_missing_and_an_extra_member_are_named(tmp_path: Path) -> None:
    """The manifest says which members there are."""
    members = read_members(make_archive(tmp_path))
    fewer = {name: data for name, data in members.items() if name != "tasks.jsonl.zst"}
    (finding,) = _report_of(tmp_path, pack(fewer.items())).findings
    assert "member 6 of the file is nothing; the manifest has tasks.jsonl.zst" in finding.what
    (finding,) = _report_of(tmp_path, pack({**members, "zoo.jsonl.zst": b"x"}.items())).findings
    assert "zoo.jsonl.zst" == finding.member
    (finding,) = _report_of(tmp_path, pack(list(members.items())[1:])).findings
    assert "README.txt" == finding.member


def test_a_newer_undamaged_archive_is_not_called_damaged(tmp_path: Path) -> None:
    """A later format version is an error of its own, with the way out."""
    with pytest.raises(NewerFormatError, match=r"archive format version 2 .*at most version 1.*upgrade"):
        _report_of(tmp_path, pack_honestly(make_manifest((), format_version=2), {}))
    with pytest.raises(NewerFormatError, match="key recipe version 9"):
        _report_of(tmp_path, pack_honestly(make_manifest((), key_recipe_version=9), {}))


def test_a_sample_covers_a_share_and_says_which(tmp_path: Path) -> None:
    """At least one frame a table, chosen by the root alone: twice the same."""
    path = make_archive(tmp_path, tasks=256 * 20, snapshots=5)
    report = verify_archive(path, sample=0.25)
    assert report == verify_archive(path, sample=0.25)
    assert 0.25 == report.sample_fraction
    assert 256 * 2 < report.rows_checked < 256 * 10
    assert "of 22 frames" in report.covered
    assert "were not computed" in report.covered
    assert 5128 == verify_archive(path, sample=1.0).rows_checked


def test_a_sample_finds_damage_in_what_it_covers(tmp_path: Path) -> None:
    """A frame that is chosen is proven against the root."""
    path = make_archive(tmp_path)
    data = bytearray(path.read_bytes())
    start = next(start for start, name in _members_at(path) if name == "tasks.jsonl.zst")
    data[start + 512 + 30] ^= 1
    path.write_bytes(data)
    assert {"tasks.jsonl.zst"} == {finding.member for finding in verify_archive(path, sample=0.01).findings}


@pytest.mark.parametrize("sample", [0, -1, 1.5, float("nan"), float("inf")])
def test_a_sample_out_of_range_is_refused(tmp_path: Path, sample: float) -> None:
    """Shares are fractions, never percent."""
    with pytest.raises(InputError, match="over 0 and up to 1"):
        verify_archive(make_archive(tmp_path), sample=sample)


def test_what_is_no_archive_is_an_error_and_not_a_finding(tmp_path: Path) -> None:
    """There is nothing to verify in another kind of file."""
    path = tmp_path / "x.replay"
    path.write_bytes(b"hello")
    with pytest.raises(ReplayError, match=r"not a tar file \(x\.replay\)"):
        verify_archive(path)
