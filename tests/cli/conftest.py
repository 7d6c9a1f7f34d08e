"""What the tests of the command line share: one folder of stores and one finished run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import MINI, run_command


@pytest.fixture(scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder for rebuildable stores, so that the shipped archive is thawed once."""
    return tmp_path_factory.mktemp("stores")


@pytest.fixture(scope="session")
def cot_run(stores: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished strict run of the candidate `cot`; nobody may change it."""
    path = tmp_path_factory.mktemp("runs") / "cot"
    done = run_command("run", MINI, "--candidate", "cot", "--mode", "strict", "--out", path, "--home", stores)
    assert 0 == done.code, done.err
    return path
