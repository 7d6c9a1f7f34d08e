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
    """A finished strict run of the candidate `cot` over one split; nobody may change it."""
    return play_cot(stores, tmp_path_factory.mktemp("runs") / "cot", "--select", "G1_instruction")


@pytest.fixture(scope="session")
def whole_run(stores: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished strict run of the candidate `cot` over all tasks; nobody may change it."""
    return play_cot(stores, tmp_path_factory.mktemp("whole") / "cot")


def play_cot(stores: Path, path: Path, *more: str) -> Path:
    """Run the candidate `cot` strictly."""
    words = ("--candidate", "cot", "--mode", "strict", "--out", path, "--home", stores)
    done = run_command("run", MINI, *words, *more)
    assert 0 == done.code, done.err
    return path
