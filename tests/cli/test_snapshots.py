"""The shipped archives and their recorded roots come out of their sources again, without any model."""

from __future__ import annotations

import subprocess
import sys

import pytest

from replay.core.determinism import child_environment
from tests.support.data import CHECKOUT


@pytest.mark.slow
def test_shipped_archives_are_what_their_sources_give() -> None:
    """Byte for byte, recordings of models included."""
    done = subprocess.run(
        [sys.executable, "snapshots/build.py", "--check"],
        check=False,
        capture_output=True,
        cwd=CHECKOUT,
        env=child_environment(),
    )
    assert (0, b"") == (done.returncode, done.stderr), done.stdout.decode()


def test_a_recording_that_nobody_planned_is_one_line() -> None:
    """A suite or a model that suites.py does not list is named before anything is computed."""
    done = subprocess.run(
        [sys.executable, "snapshots/record.py", "nowhere", "--model", "nobody"],
        check=False,
        capture_output=True,
        cwd=CHECKOUT,
        env=child_environment(),
    )
    assert (2, b"") == (done.returncode, done.stdout)
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("record: no runs of 'nobody' in a suite 'nowhere'")
