"""Where shipped archives and rebuildable stores are."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.store.archive.reader import read_manifest
from replay.wiring.places import data_home, expected_roots_file, shipped_archives, shipped_folder
from replay.wiring.shipped import load_expected


def test_every_shipped_archive_has_its_name() -> None:
    """Files are called NAME-VERSION.replay after their manifests, and come sorted."""
    names = [f"{manifest.name}-{manifest.version}" for manifest in map(read_manifest, shipped_archives())]
    assert names == sorted(path.stem for path in shipped_archives())
    assert names


def test_every_recorded_run_names_a_shipped_archive() -> None:
    """Recorded roots are those of archives that ship; no run is asked for twice."""
    roots = {path.name: read_manifest(path).root for path in shipped_archives()}
    expected = load_expected()
    assert {run.archive: run.archive_root for run in expected} == roots
    assert len({run.run_root for run in expected}) == len(expected)


def test_the_recorded_roots_lie_beside_the_archives() -> None:
    """One folder holds both, in a checkout and in a wheel."""
    assert expected_roots_file().parent == shipped_folder()


def test_the_home_is_named_or_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The option goes before REPLAY_HOME, which goes before the user's cache folder."""
    found = data_home()
    assert ("replay-bench", True) == (found.name, found.is_relative_to(Path.home()))
    monkeypatch.setenv("REPLAY_HOME", str(tmp_path / "named"))
    assert tmp_path / "named" == data_home()
    assert tmp_path / "option" == data_home(tmp_path / "option")
