"""Where things are printed, to whom, and with which exit code: in processes of their own."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from replay.core.determinism import child_environment
from tests.support.commands import MINI, run_command, run_process
from tests.support.data import CHECKOUT

# Many stores, archives or processes: together they take longer than the fast tests may.
pytestmark = pytest.mark.slow

ESCAPES = re.compile(r"\x1b|[\u2500-\u259f]")
"""Terminal control, and the characters that boxes and bars are drawn with."""

COLOURFUL = {"TERM": "xterm-256color"}


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line in bash with pipefail; `replay` is the module."""
    script = f'set -o pipefail; replay() {{ "{sys.executable}" -m replay "$@"; }}; {line}'
    return subprocess.run(
        ["bash", "-c", script],
        check=False,
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
        env={**child_environment(), **environment},
        timeout=120,
    )


def read_terminal(words: list[str], **environment: str) -> tuple[str, bytes]:
    """Run a command with a terminal as standard error; returns standard output and what the terminal got."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "replay", *words],
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=CHECKOUT,
        env={**child_environment(), "TERM": "xterm", **environment},
    )
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 4096):
            shown += chunk
    except OSError:
        # Linux says so when the other end of a terminal is closed.
        shown += b""
    finally:
        os.close(ours)
    out, _ = process.communicate()
    return out.decode(), shown


def run_words(stores: Path, out: Path, *more: str) -> list[str]:
    """Words of a short run."""
    words = ["run", MINI, "--candidate", "cot", "--limit", "3", "--home", str(stores), "--out", str(out)]
    return [*words, *more]


def test_the_module_is_the_command(stores: Path, tmp_path: Path) -> None:
    """`python -m replay` prints what the command prints, and ends with its code."""
    words = run_words(stores, tmp_path / "run", "--json")
    first = run_command(*words)
    again = run_command(*words)
    assert (first.code, first.out) == (again.code, again.out)
    assert again == run_process(*words)


def test_pipes_get_plain_text(stores: Path, tmp_path: Path) -> None:
    """Nothing but plain characters in results, errors and help when nobody looks at a terminal."""
    run = run_process(*run_words(stores, tmp_path / "run"), environment=COLOURFUL)
    bad = run_process("run", "nowhere", environment=COLOURFUL)
    for answered in (run, bad, run_process("run", "--help", environment=COLOURFUL)):
        assert None is ESCAPES.search(answered.out + answered.err)
    assert ("", 0, 3) == (run.err, run.code, bad.code)


def test_a_terminal_gets_a_bar_on_standard_error_only(stores: Path, tmp_path: Path) -> None:
    """Progress is drawn on the terminal; the results stay what they are without one."""
    plain = run_command(*run_words(stores, tmp_path / "a", "--json"))
    out, shown = read_terminal(run_words(stores, tmp_path / "b", "--json"))
    assert plain.out == out
    assert b"episodes" in shown


def test_no_color_draws_nothing(stores: Path, tmp_path: Path) -> None:
    """With NO_COLOR a terminal gets neither bar nor colour."""
    out, shown = read_terminal(run_words(stores, tmp_path / "run"), NO_COLOR="1")
    assert b"" == shown
    assert None is ESCAPES.search(out)


def test_a_reader_may_leave(tmp_path: Path) -> None:
    """`| head` ends nothing badly: the command does its work and keeps its own exit code."""
    done = shell(f"replay archive list {MINI} --table snapshots-api | head -1")
    assert (0, 1, "") == (done.returncode, len(done.stdout.splitlines()), done.stderr)
    done = shell(f"replay verify {tmp_path} --json | true")
    assert 3 == done.returncode


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_behind_standard_output_is_an_error() -> None:
    """Results that cannot be written are no success: one line and exit 3."""
    done = shell("replay archive list > /dev/full")
    assert 3 == done.returncode
    assert re.fullmatch(r"replay: cannot write to standard output: No space left.*; next: .*\n", done.stderr)


def test_closed_streams_change_no_exit_code() -> None:
    """Without standard output and error there is nobody to tell, and the work is done all the same."""
    closed = shell("replay archive list >&-")
    assert (0, "") == (closed.returncode, closed.stderr)
    assert [3, 3] == [shell(f"replay run nowhere 2>{where}").returncode for where in ("&-", "/dev/full")]


def test_an_error_is_json_where_json_was_asked_for() -> None:
    """With --json the error is one document on standard error, and standard output stays empty."""
    answered = run_process("run", "nowhere", "--json")
    assert (3, "") == (answered.code, answered.out)
    assert {"error", "exit_code", "what", "where", "expected", "next"} == answered.error.keys()
    assert ("InputError", 3) == (answered.error["error"], answered.error["exit_code"])


def test_an_error_cannot_move_the_cursor() -> None:
    """Control characters of what was typed are escaped in messages."""
    answered = run_process("run", "\x1b[2Jnowhere\n")
    assert None is ESCAPES.search(answered.err)
    assert 1 == len(answered.err.splitlines())


def test_the_locale_changes_no_byte_that_is_printed(cot_run: Path) -> None:
    """Answers in other scripts come out as UTF-8 under a locale that has no such letters."""
    words = ("explain", cot_run, "1007")
    plain = run_process(*words)
    assert re.search("[\u4e00-\u9fff]", plain.out)
    assert plain == run_process(*words, environment={"LC_ALL": "C", "PYTHONUTF8": "0"})


WITH_CTRL_C = """
import signal
# A background job of a shell ignores Ctrl-C and its children inherit that; at a terminal they do not.
signal.signal(signal.SIGINT, signal.default_int_handler)
from replay.cli.main import script
script()
"""


@pytest.mark.slow
def test_ctrl_c_is_130_and_the_run_goes_on_later(stores: Path, tmp_path: Path) -> None:
    """An interrupted run says how to go on, and the same command comes to the root of a whole run."""
    words = ["run", MINI, "--candidate", "dfs", "--reference", "cot", "--home", str(stores)]
    process = subprocess.Popen(
        [sys.executable, "-c", WITH_CTRL_C, *words, "--out", str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=CHECKOUT,
        env=child_environment(),
    )
    lines = tmp_path / "run" / "trajectories.jsonl"
    while not lines.exists() or not lines.stat().st_size:
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (130, b"") == (process.returncode, out)
    assert re.search(rb"interrupted; a run directory can be resumed by the same command", err)
    resumed = run_command(*words, "--out", tmp_path / "run", "--json")
    whole = run_command(*words, "--out", tmp_path / "whole", "--json")
    assert whole.document["run_root"] == resumed.document["run_root"]
