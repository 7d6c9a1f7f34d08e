"""Fixtures of every test: no network, a scrubbed environment, hypothesis profiles, shared data on request."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from replay.core.determinism import NetworkGuard
from tests.support.data import find_shared_data
from tests.support.golden import Golden

# What a test may see of the caller's environment; everything else (credentials, proxies, REPLAY_*, locale
# and time zone of the machine) is taken away before each test.
_KEPT = frozenset({"PATH", "TMPDIR", "VIRTUAL_ENV", "SYSTEMROOT", "LD_LIBRARY_PATH", "REPLAY_TEST_DATA"})
# GGML_: the model library reads its switches when it first computes, not when it is loaded.
_KEPT_PREFIXES = ("PYTEST_", "PYTHON", "COVERAGE_", "HYPOTHESIS_", "GGML_")

_SLOW_MACHINE = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "default",
    max_examples=60,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=_SLOW_MACHINE,
)
settings.register_profile("quick", settings.get_profile("default"), max_examples=12)
settings.register_profile(
    "fuzz", max_examples=5_000, deadline=None, print_blob=True, suppress_health_check=_SLOW_MACHINE
)
# `make test-fast` and `make fuzz` name theirs.
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# Seven thousand collected tests stay until the end: to look through them again and again for garbage took a
# fifth of the time of the quick tests.
gc.disable()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the one option of these tests."""
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files anew, to be reviewed as a change"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to renew golden files where nobody looks at the change."""
    if config.getoption("--update-golden") and os.environ.get("CI"):
        raise pytest.UsageError("--update-golden is refused where CI is set: a change of them is reviewed")


def pytest_collection_finish() -> None:
    """Set what was collected aside, and look for garbage from here on."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def _empty_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session", autouse=True)
def scrubbed_environment(_empty_home: Path) -> Iterator[None]:
    """Leave tests only the variables they need, a home of their own, UTC and the C locale."""
    with pytest.MonkeyPatch.context() as patch:
        for name in sorted(os.environ):
            if name not in _KEPT and not name.startswith(_KEPT_PREFIXES):
                patch.delenv(name)
        patch.setenv("HOME", str(_empty_home))
        patch.setenv("TZ", "UTC")
        patch.setenv("LC_ALL", "C.UTF-8")
        yield


@pytest.fixture(autouse=True)
def blocked_network() -> Iterator[NetworkGuard]:
    """Refuse every connection and name look-up; a test may read how many there were."""
    with NetworkGuard() as guard:
        yield guard


@pytest.fixture(scope="session")
def golden(pytestconfig: pytest.Config) -> Golden:
    """Files of what this program is known to say."""
    return Golden(updates=pytestconfig.getoption("--update-golden"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder with upstream data (`stabletoolbench/`, `toolbench/`, ...); skips where there is none."""
    found = find_shared_data()
    if found is None:
        pytest.skip("no upstream data: set REPLAY_TEST_DATA or put it in ../shared/data")
    if not found.is_dir():
        pytest.fail(f"REPLAY_TEST_DATA is not a folder: {found.name!r}")
    return found
