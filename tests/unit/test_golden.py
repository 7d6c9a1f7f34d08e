"""Golden files are compared with, and written only when that is asked for by name and not in CI."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.data import CHECKOUT
from tests.support.golden import Golden


def test_a_golden_file_is_compared_with(tmp_path: Path) -> None:
    """Another text fails, and the file stays as it was reviewed."""
    (tmp_path / "a.txt").write_text("old")
    Golden(folder=tmp_path).check_text("a.txt", "old")
    with pytest.raises(AssertionError):
        Golden(folder=tmp_path).check_text("a.txt", "new")
    assert "old" == (tmp_path / "a.txt").read_text()


def test_a_golden_file_that_is_not_there_fails_with_the_option(tmp_path: Path) -> None:
    """Nothing passes because there is nothing to compare with."""
    with pytest.raises(AssertionError, match="--update-golden writes it"):
        Golden(folder=tmp_path).check_json("a.json", [1])


def test_a_golden_file_is_renewed_on_request(tmp_path: Path) -> None:
    """What was found becomes what is expected."""
    Golden(folder=tmp_path, updates=True).check_json("deep/a.json", {"a": [1, "\u00e9"]})
    Golden(folder=tmp_path).check_json("deep/a.json", {"a": [1, "\u00e9"]})


def test_golden_files_are_not_renewed_in_ci() -> None:
    """The option is refused before any test runs."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--update-golden", "--collect-only", "tests/unit/test_golden.py"],
        check=False,
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
        env={**os.environ, "CI": "true"},
    )
    assert pytest.ExitCode.USAGE_ERROR == done.returncode
    assert "--update-golden is refused where CI is set" in done.stderr
