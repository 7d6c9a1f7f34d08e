"""The wheel: what it carries, and that it works from an empty folder."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from replay.core.determinism import child_environment
from tests.support.commands import run_process
from tests.support.data import CHECKOUT

pytestmark = pytest.mark.slow

NEEDED = {"msgspec", "lmdb", "zstandard", "jsonschema", "typer", "rich", "platformdirs"} | {
    "rapidfuzz", "phonenumbers", "pint", "holidays", "geographiclib",
}  # fmt: skip
"""What a plain replay of every shipped archive imports; the last five are ToolSandbox's world."""
DATA = "replay/_data/snapshots"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(folder),
        str(CHECKOUT),
    ]
    done = subprocess.run(build, check=False, capture_output=True, text=True, env=child_environment())
    assert 0 == done.returncode, done.stderr
    (file,) = folder.glob("*.whl")
    with zipfile.ZipFile(file) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


def list_files(folder: Path) -> list[str]:
    """Every file, by its path in the wheel."""
    return [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]


def test_the_wheel_carries_what_a_replay_needs(wheel: Path) -> None:
    """Every module and text of the package, each shipped archive and the recorded run roots."""
    package = [
        path.relative_to(CHECKOUT).as_posix()
        for path in sorted((CHECKOUT / "replay").rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    ]
    archives = [f"{DATA}/{path.name}" for path in sorted((CHECKOUT / "snapshots").glob("*.replay"))]
    expected = {*package, *archives, f"{DATA}/run-roots.json", f"{DATA}/FORMAT.md"}
    found = {name for name in list_files(wheel) if not re.match(r"[^/]*\.dist-info/", name)}
    assert expected == {name for name in found if not name.startswith("replay/_data/models/")}
    assert {"replay/py.typed"} <= found


def test_the_wheel_leaves_out_what_a_replay_does_not_need(wheel: Path) -> None:
    """Neither the sources of archives nor tests nor build scripts are installed."""
    assert [] == [
        name for name in list_files(wheel) if re.search(r"sources/|_data/.*\.py$|^tests/|^snapshots/", name)
    ]


def test_the_wheel_replays_from_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    """Unpacked anywhere, it finds its archives and gives the recorded run roots."""
    (tmp_path / "empty").mkdir()
    answered = run_process(
        "shipped",
        "--home",
        tmp_path / "home",
        "--out",
        tmp_path / "runs",
        cwd=tmp_path / "empty",
        environment={"PYTHONPATH": str(wheel)},
    )
    assert 0 == answered.code, answered.err
    assert re.search(r"all \d+ shipped runs have their recorded roots", answered.out)
    assert [] == list((tmp_path / "empty").iterdir())


def test_the_wheel_is_what_was_run(wheel: Path, tmp_path: Path) -> None:
    """The test above runs the wheel, not this checkout; it names the needed packages and one command."""
    asked = "import replay.wiring.places as p; print(p.__file__); print(p.shipped_folder())"
    environment = {**child_environment(), "PYTHONPATH": str(wheel)}
    done = subprocess.run(
        [sys.executable, "-c", asked],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    module, folder = done.stdout.split()
    assert str(wheel / "replay" / "wiring" / "places.py") == module
    assert str(wheel / DATA) == folder
    (info,) = wheel.glob("*.dist-info")
    assert "replay = replay.cli.main:script" in (info / "entry_points.txt").read_text()
    needed = set(re.findall(r"(?m)^Requires-Dist: ([a-z]+)[^;\n]*$", (info / "METADATA").read_text()))
    assert NEEDED == needed
