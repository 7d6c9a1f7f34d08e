"""What the tests of the command line share: one folder of stores, finished runs, an upstream."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import MINI, run_command
from tests.support.upstream import FakeUpstream, run_upstream


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


@pytest.fixture
def fake() -> Iterator[FakeUpstream]:
    """An upstream that listens on the loopback; tests that use it let the network through to it."""
    with run_upstream() as upstream:
        yield upstream


def play_cot(stores: Path, path: Path, *more: str) -> Path:
    """Run the candidate `cot` strictly."""
    words = ("--candidate", "cot", "--mode", "strict", "--out", path, "--home", stores)
    done = run_command("run", MINI, *words, *more)
    assert 0 == done.code, done.err
    return path
