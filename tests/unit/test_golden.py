"""Golden files are compared with, and written only when that is asked for by name and not in CI."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from tests.conftest import pytest_configure
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


class _Asked:
    """The configuration of a test run that was asked to renew golden files, or not."""

    def __init__(self, *, updates: bool) -> None:
        self._updates = updates

    def getoption(self, name: str) -> bool:
        """Value of the one option."""
        assert "--update-golden" == name
        return self._updates


def test_golden_files_are_not_renewed_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """The option is refused before any test runs, and nothing else is."""
    pytest_configure(cast("pytest.Config", _Asked(updates=True)))
    monkeypatch.setenv("CI", "true")
    pytest_configure(cast("pytest.Config", _Asked(updates=False)))
    with pytest.raises(pytest.UsageError, match="--update-golden is refused where CI is set"):
        pytest_configure(cast("pytest.Config", _Asked(updates=True)))
