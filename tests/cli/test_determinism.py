"""Same inputs, same bytes: imports, archives and runs in any order, place, locale and moment."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from replay.core.canonical import canonical_bytes
from replay.core.determinism import child_environment
from replay.core.trajectory import CallStep, Trajectory, make_trajectory
from replay.core.types import Json
from replay.engine.rundir.manifest import RunManifest, make_roots, seal_manifest
from replay.engine.rundir.reading import digest_file, digest_outputs, load_run
from tests.support.commands import MINI, SOURCES, Answered, read_folder, run_command, run_process
from tests.support.data import CHECKOUT

ARCHIVE = CHECKOUT / "snapshots" / f"{MINI}.replay"
HASHED = ("manifest.json", "trajectories.jsonl", "verdicts.jsonl", "summary.json")

PLACES: tuple[dict[str, str], ...] = (
    {},
    {"LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "1", "LANG": "tr_TR.UTF-8"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "TZ": "Pacific/Apia", "PYTHONHASHSEED": "424242"},
)
"""Environments that differ in locale, time zone and hash seed."""


def copy_in_order(source: Path, target: Path, *, seed: int, umask: int) -> Path:
    """Copy a folder file by file in a random order, under another file mode mask and with other dates."""
    before = os.umask(umask)
    try:
        files = sorted(path for path in source.rglob("*") if path.is_file())
        random.Random(seed).shuffle(files)  # noqa: S311  an order, not a secret
        for number, path in enumerate(files):
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            os.utime(copy, (number, 1_000_000_000 + seed))
    finally:
        os.umask(before)
    return target


def import_everywhere(source: Path, tmp_path: Path) -> Iterator[bytes]:
    """Import a folder from three places, each in its own order and environment; yields archive bytes."""
    for seed, environment in enumerate(PLACES):
        place = tmp_path / f"place {seed} ünïcode"
        copy_in_order(source, place / "data", seed=seed, umask=0o077 if seed else 0o022)
        words = ("import", "stabletoolbench", place / "data", "-o", place / "a.replay")
        answered = run_process(*words, cwd=place, environment=environment)
        assert 0 == answered.code, answered.err
        yield (place / "a.replay").read_bytes()


def run_words(stores: Path, out: Path, *more: str) -> list[str]:
    """A strict run of the shipped suite."""
    words = ["run", MINI, "--candidate", "cot", "--mode", "strict", "--home", str(stores), "--out", str(out)]
    return [*words, *more]


def read_hashed(run: Path) -> dict[str, bytes]:
    """The hashed files of a run and its manifest."""
    return {name: (run / name).read_bytes() for name in HASHED}


@pytest.mark.slow
def test_imports_give_the_same_bytes_everywhere(tmp_path: Path) -> None:
    """Order on disk, folder, dates, modes, locale, zone and hash seed leave no trace in an archive."""
    assert 1 == len(set(import_everywhere(SOURCES, tmp_path)))


@pytest.mark.slow
def test_imports_of_published_data_give_the_same_bytes(shared_data: Path, tmp_path: Path) -> None:
    """The same for the data that was published with the benchmark."""
    assert 1 == len(set(import_everywhere(shared_data / "stabletoolbench", tmp_path)))


@pytest.mark.slow
def test_published_data_freezes_to_what_was_thawed(shared_data: Path, tmp_path: Path) -> None:
    """freeze(thaw(a)) is a for an archive of published data, in another process and environment."""
    archive, store, again = (tmp_path / name for name in ("a.replay", "store", "b.replay"))
    run_process("import", "stabletoolbench", shared_data / "stabletoolbench", "-o", archive)
    assert 0 == run_process("archive", "thaw", archive, "-o", store, environment=PLACES[1]).code
    assert 0 == run_process("archive", "freeze", store, "-o", again, environment=PLACES[2]).code
    assert archive.read_bytes() == again.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("environment", PLACES, ids=["plain", "Turkish", "C"])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_runs_give_the_same_bytes_everywhere(
    stores: Path, tmp_path: Path, whole_run: Path, environment: dict[str, str], jobs: str
) -> None:
    """Number of workers, working folder, locale, zone and hash seed leave no trace in a run."""
    place = tmp_path / "elsewhere ünïcode"
    place.mkdir()
    answered = run_process(
        *run_words(stores, place / "run", "--jobs", jobs), cwd=place, environment=environment
    )
    assert 0 == answered.code, answered.err
    assert read_hashed(whole_run) == read_hashed(place / "run")


def test_no_hashed_file_names_this_place_or_this_moment(cot_run: Path, stores: Path) -> None:
    """Neither folder nor host nor date is in a file that is hashed; times are in timings.jsonl only."""
    everything = b"".join(read_hashed(cot_run).values())
    for word in (str(cot_run), str(stores), str(CHECKOUT), os.uname().nodename, "elapsed"):
        assert word.encode() not in everything, word
    assert b"elapsed_s" in (cot_run / "timings.jsonl").read_bytes()
    year = time.strftime("%Y-", time.gmtime()).encode()
    assert not re.findall(year + rb"\d\d-\d\dT", everything)


def test_a_second_run_elsewhere_on_the_clock_is_the_same(stores: Path, tmp_path: Path) -> None:
    """Two runs at different moments differ in timings.jsonl and in nothing else."""
    for name in ("a", "b"):
        run_command(*run_words(stores, tmp_path / name, "--limit", "3"))
        time.sleep(0.01)
    first, second = read_folder(tmp_path / "a"), read_folder(tmp_path / "b")
    assert first.pop("timings.jsonl") != second.pop("timings.jsonl")
    assert first == second


# ---- killed runs ---------------------------------------------------------------------------------------


def kill_after(words: list[str], run: Path, *, size_bytes: int, delay_s: float) -> int:
    """Start a run and kill it a little after its trajectories have grown to a size; returns their size."""
    process = subprocess.Popen(
        [sys.executable, "-m", "replay", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=CHECKOUT,
        env=child_environment(),
    )
    lines = run / "trajectories.jsonl"
    try:
        while process.poll() is None and not (lines.exists() and lines.stat().st_size >= size_bytes):
            time.sleep(0.001)
        time.sleep(delay_s)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    return lines.stat().st_size if lines.exists() else 0


@pytest.mark.slow
def test_killed_at_20_points_a_run_comes_to_the_same_bytes(
    stores: Path, tmp_path: Path, whole_run: Path
) -> None:
    """Kill -9 at random points, then the same command: the bytes of a run that was never killed."""
    expected = read_hashed(whole_run)
    whole = len(expected["trajectories.jsonl"])
    chance = random.Random(20)  # noqa: S311  points in time, not secrets
    stopped = []
    for number in range(20):
        run = tmp_path / f"run{number}"
        words = run_words(stores, run, "--jobs", str(1 + number % 2))
        point = chance.randrange(whole)
        stopped.append(kill_after(words, run, size_bytes=point, delay_s=chance.random() / 50))
        assert 0 == run_command(*run_words(stores, run)).code
        assert expected == read_hashed(run), f"killed at {point}"
    assert 10 < sum(1 for size in stopped if 0 < size < whole), stopped
    verified = run_command("verify", tmp_path / "run7", "--recompute", "--home", stores, "--json")
    assert verified.document["ok"]


@pytest.mark.slow
def test_killed_twice_a_run_comes_to_the_same_bytes(stores: Path, tmp_path: Path, whole_run: Path) -> None:
    """A resumed run may be killed again."""
    run = tmp_path / "run"
    whole = (whole_run / "trajectories.jsonl").stat().st_size
    for part in (0.2, 0.4, 0.6, 0.8):
        kill_after(run_words(stores, run), run, size_bytes=int(whole * part), delay_s=0.001)
    assert 0 == run_command(*run_words(stores, run)).code
    assert read_hashed(whole_run) == read_hashed(run)


# ---- tampered runs -------------------------------------------------------------------------------------


@pytest.fixture
def copied(cot_run: Path, tmp_path: Path) -> Path:
    """A copy of the finished run, to be tampered with."""
    return shutil.copytree(cot_run, tmp_path / "copied")


def verify(run: Path, stores: Path, *more: str) -> Answered:
    """Verify a run."""
    return run_command("verify", run, "--home", stores, *more)


@pytest.mark.parametrize("name", HASHED)
@pytest.mark.parametrize("place", [0.03, 0.5, 0.97])
def test_a_flipped_byte_is_found_and_named(copied: Path, stores: Path, name: str, place: float) -> None:
    """One wrong byte in any hashed file is exit 1 or 5, and the file is named; nothing is repaired."""
    data = bytearray((copied / name).read_bytes())
    data[int(len(data) * place)] ^= 1
    (copied / name).write_bytes(data)
    answered = verify(copied, stores)
    assert answered.code in {1, 5}
    assert name in answered.out + answered.err
    assert "internal error" not in answered.err
    assert bytes(data) == (copied / name).read_bytes()


@pytest.mark.parametrize("name", HASHED[1:])
def test_a_missing_file_is_found(copied: Path, stores: Path, name: str) -> None:
    """A run without one of its files does not verify."""
    (copied / name).unlink()
    answered = verify(copied, stores)
    assert answered.code in {1, 3, 5}
    assert "internal error" not in answered.err


def forge(run: Path, change: dict[str, Json]) -> Trajectory:
    """Change the first recorded answer of a run as somebody would who knows all the digests."""
    first, *others = load_run(run).trajectories()
    index = next(number for number, step in enumerate(first.steps) if isinstance(step, CallStep))
    step = first.steps[index]
    assert isinstance(step, CallStep)
    steps = list(first.steps)
    steps[index] = replace(step, result=replace(step.result, **change))
    forged = make_trajectory(
        benchmark=first.benchmark,
        task=first.task,
        split=first.split,
        trial=first.trial,
        seed=first.seed,
        steps=tuple(steps),
        stop=first.stop,
        stop_detail=first.stop_detail,
        outcome=first.outcome,
    )
    lines = [canonical_bytes(msgspec.to_builtins(each)) + b"\n" for each in (forged, *others)]
    (run / "trajectories.jsonl").write_bytes(b"".join(lines))
    manifest = load_run(run).manifest
    roots = make_roots(
        manifest.inputs,
        trajectories=digest_file(run / "trajectories.jsonl"),
        verdicts=digest_file(run / "verdicts.jsonl"),
        summary=digest_file(run / "summary.json"),
        outputs=digest_outputs(run),
    )
    sealed: RunManifest = seal_manifest(replace(manifest, roots=roots))
    (run / "manifest.json").write_bytes(canonical_bytes(msgspec.to_builtins(sealed)) + b"\n")
    return forged


def test_a_forged_answer_is_found_by_playing_again(copied: Path, stores: Path) -> None:
    """Where every digest was made good only playing again tells: exit 8, with the step."""
    forge(copied, {"content": "It will be sunny for ever."})
    assert 0 == verify(copied, stores).code
    answered = verify(copied, stores, "--recompute")
    assert 8 == answered.code
    assert "task 1001, trial 0  step 1 differs at $.result.content" in answered.out
    assert re.search(r"(?m)^0 findings, 1 episode came out differently$", answered.out)


def test_compare_names_the_forged_step(copied: Path, cot_run: Path) -> None:
    """The same step, field and both values are named by a comparison with the true run."""
    forge(copied, {"content": "It will be sunny for ever."})
    answered = run_command("compare", cot_run, copied, "--json")
    (parted,) = answered.document["diverged"]
    assert (1, "1001", 1, "$.result.content") == (
        answered.code,
        parted["task"],
        parted["step"],
        parted["path"],
    )
    assert "It will be sunny for ever." == parted["right"]["result"]["content"]


def test_a_changed_answer_in_the_archive_changes_the_run(stores: Path, tmp_path: Path, cot_run: Path) -> None:
    """A run over an archive with one other answer has another root; the first differing step is the call."""
    shutil.copytree(SOURCES, tmp_path / "sources")
    file = next(iter(sorted((tmp_path / "sources").rglob("v2_current_conditions.json"))))
    file.write_text(file.read_text("utf-8").replace("19.5", "91.5"), "utf-8")
    script = SOURCES / "scripts" / "cot.json"
    documents = []
    for name, source in (("a", SOURCES), ("b", tmp_path / "sources")):
        archive = tmp_path / f"{name}.replay"
        run_command("import", "stabletoolbench", source, "-o", archive)
        words = ("--candidate", f"scripted:{script}", "--protocol", "CoT@1", "--select", "1001")
        where = ("--out", tmp_path / name, "--home", stores, "--json")
        documents.append(run_command("run", archive, *words, *where).document)
    assert documents[0]["run_root"] != documents[1]["run_root"]
    (parted,) = run_command("compare", tmp_path / "a", tmp_path / "b", "--json").document["diverged"]
    assert ("1001", 1) == (parted["task"], parted["step"])
    assert parted["path"].startswith("$.result.")
