"""Killed, interrupted or out of space: a run resumes to the bytes of one that was left alone."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from replay.core.determinism import child_environment
from tests.support.data import CHECKOUT
from tests.support.demo_run import demo_plan, open_folder, run_demo

HASHED = ("manifest.json", "trajectories.jsonl", "verdicts.jsonl", "summary.json")


def read_hashed(path: Path) -> dict[str, bytes]:
    """Bytes of everything but the timings."""
    return {name: (path / name).read_bytes() for name in HASHED}


def finish_copy(tmp_path: Path, *, tasks: int) -> Path:
    """Run a demo to its end."""
    run_demo(tmp_path / "whole", {"tasks": tasks})
    return tmp_path / "whole"


RUN_SCRIPT = """
import signal
import sys
from pathlib import Path
from tests.support.demo_run import run_demo
# A background job of a shell ignores Ctrl-C and its children inherit that; at a terminal they do not.
signal.signal(signal.SIGINT, signal.default_int_handler)
limit = int(sys.argv[3])
if limit:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
spec = {"tasks": int(sys.argv[2]), "pause_s": float(sys.argv[4])}
run_demo(Path(sys.argv[1]), spec, jobs=int(sys.argv[5]))
"""


def start_run(
    path: Path, *, tasks: int, limit: int = 0, pause_s: float = 0.0, jobs: int = 1
) -> subprocess.Popen[bytes]:
    """Run a demo in a process and a process group of its own."""
    arguments = [str(path), str(tasks), str(limit), str(pause_s), str(jobs)]
    return subprocess.Popen(
        [sys.executable, "-c", RUN_SCRIPT, *arguments],
        cwd=CHECKOUT,
        env=child_environment(),
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


@pytest.mark.slow
def test_a_full_disk_leaves_a_resumable_run(tmp_path: Path) -> None:
    """A write that the system refuses is a StoreError; with room again the run ends with the same bytes."""
    with start_run(tmp_path / "run", tasks=30, limit=9_000) as process:
        _, errors = process.communicate()
    assert b"StoreError: run folder cannot be written: File too large" in errors
    assert 0 < len((tmp_path / "run/trajectories.jsonl").read_bytes()) <= 9_000
    run_demo(tmp_path / "run", {"tasks": 30})
    assert read_hashed(finish_copy(tmp_path, tasks=30)) == read_hashed(tmp_path / "run")


@pytest.mark.slow
def test_killed_at_20_points_it_gives_the_same_bytes(tmp_path: Path) -> None:
    """Kill -9 at any point, run again: the final bytes are those of a run that was never killed."""
    whole = read_hashed(finish_copy(tmp_path, tasks=60))
    stopped_at = []
    for number in range(20):
        path = tmp_path / f"run{number}"
        with start_run(path, tasks=60, pause_s=0.002) as process:
            wait_for(path / "manifest.json")
            time.sleep(0.01 * number)
            process.send_signal(signal.SIGKILL)
        stopped_at.append((path / "timings.jsonl").read_bytes().count(b"\n") if number else 0)
        run_demo(path, {"tasks": 60})
        assert whole == read_hashed(path)
    assert [done for done in stopped_at if 0 < done < 60], "no kill hit a run on its way"


def wait_for(path: Path) -> None:
    """Wait until a file is there."""
    for _ in range(3_000):
        if path.exists():
            return
        time.sleep(0.005)
    raise AssertionError(path)


@pytest.mark.slow
def test_neither_hash_seed_nor_place_changes_the_root(tmp_path: Path) -> None:
    """PYTHONHASHSEED, time zone, locale and folder are no inputs."""
    worlds = [
        {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "LC_ALL": "C"},
        {"PYTHONHASHSEED": "2", "TZ": "America/Lima", "LC_ALL": "tr_TR.UTF-8"},
    ]
    for number, world in enumerate(worlds):
        subprocess.run(
            [sys.executable, "-c", RUN_SCRIPT, str(tmp_path / f"{number}/run"), "3", "0", "0", "1"],
            cwd=CHECKOUT,
            env=child_environment() | world,
            check=True,
        )
    assert read_hashed(tmp_path / "0/run") == read_hashed(tmp_path / "1/run")


@pytest.mark.slow
def test_the_lock_dies_with_its_holder(tmp_path: Path) -> None:
    """After kill -9 nobody has to clean up a lock."""
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=hold_folder, args=(str(tmp_path / "run"),))
    process.start()
    wait_for(tmp_path / "run" / "manifest.json")
    process.kill()
    process.join()
    with open_folder(tmp_path / "run", demo_plan(1)) as folder:
        assert folder.done == 0


def hold_folder(path: str) -> None:
    """Open a folder and keep it."""
    with open_folder(Path(path), demo_plan(1)):
        time.sleep(60)


@pytest.mark.slow
def test_ctrl_c_ends_the_workers_and_leaves_a_resumable_run(tmp_path: Path) -> None:
    """An interrupt to the whole terminal group ends in the parent; the run goes on as if never stopped."""
    with start_run(tmp_path / "run", tasks=200, pause_s=0.02, jobs=2) as process:
        wait_for_lines(tmp_path / "run")
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate()
    assert b"KeyboardInterrupt" in errors
    assert b"Process Spawn" not in errors, "a worker took the interrupt for itself"
    run_demo(tmp_path / "run", {"tasks": 200})
    assert read_hashed(finish_copy(tmp_path, tasks=200)) == read_hashed(tmp_path / "run")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes by group in /proc")
def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    """After kill -9 of the run no process of it is left behind."""
    with start_run(tmp_path / "run", tasks=200, pause_s=0.02, jobs=2) as process:
        wait_for_lines(tmp_path / "run")
        assert len(list_group(process.pid)) >= 3
        process.kill()
    for _ in range(500):
        if not list_group(process.pid):
            return
        time.sleep(0.01)
    raise AssertionError(list_group(process.pid))


def list_group(group: int) -> list[str]:
    """List the living processes of a process group."""
    found = []
    for stat in sorted(Path("/proc").glob("[0-9]*/stat")):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(stat.parent.name)
    return found


def wait_for_lines(path: Path) -> None:
    """Wait until a run has written its first episode."""
    for _ in range(3_000):
        if (path / "trajectories.jsonl").exists() and (path / "trajectories.jsonl").stat().st_size:
            return
        time.sleep(0.005)
    raise AssertionError(path)
