"""Whole suites with the real engine: however they are run, interrupted and repeated, one run root.

The tiny model plays all of the shipped suite in every role; SmolLM2, where it is, a part of it, and tasks of
the real benchmark where its data are.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from replay.core.determinism import Stopwatch, child_environment
from replay.core.types import Json
from tests.support.commands import MINI, run_command, run_process
from tests.support.data import CHECKOUT
from tests.support.tiny_gguf import write_tiny_llama
from tests.support.weights import WEIGHTS, need_binding, need_model

pytestmark = [pytest.mark.model, pytest.mark.slow]

ARCHIVE = CHECKOUT / "snapshots" / f"{MINI}.replay"
OPTIONS = (
    "--option",
    "tool_choice=required",
    "--option",
    "max_steps=4",
    "--judge-runs",
    "1",
    "--threads",
    "1",
)

# A Python in which nothing of the model extra can be imported, as after a plain `pip install`.
_BARE = (
    "import sys\n"
    "for name in ('llama_cpp', 'numpy', 'jinja2'): sys.modules[name] = None\n"
    "from replay.cli.main import script\n"
    "sys.exit(script())\n"
)


class Suite:
    """One archive, one model in every role, and runs of it in processes of their own."""

    def __init__(
        self, folder: Path, model: str, words: Sequence[str], *, archive: Path = ARCHIVE, **environment: str
    ) -> None:
        self.folder = folder
        self.archive = archive
        self.model = model
        self.words = (*OPTIONS, *words)
        self.environment: Mapping[str, str] = {"REPLAY_HOME": str(folder / "home"), **environment}

    def command(self, out: str, *more: str, archive: Path | None = None) -> list[str]:
        """Write the command of a run."""
        roles = ("--candidate", "--simulator", "--judge-model")
        played = [word for role in roles for word in (role, f"model:{self.model}")]
        place = ("--out", str(self.folder / out), "--json")
        return ["run", str(archive or self.archive), *played, *self.words, *place, *more]

    def run(self, out: str, *more: str, archive: Path | None = None, program: str = "") -> Json:
        """Run to the end and return the document."""
        start = ["-c", program] if program else ["-m", "replay"]
        done = subprocess.run(
            [sys.executable, *start, *self.command(out, *more, archive=archive)],
            check=False,
            capture_output=True,
            cwd=CHECKOUT,
            env={**child_environment(), **self.environment},
        )
        assert done.returncode in (0, 4), done.stderr.decode()
        return msgspec.json.decode(done.stdout)

    def kill(self, out: str, *more: str, after: int) -> int:
        """Start a run, kill it when so many episodes are written, and return how many there were."""
        with subprocess.Popen(
            [sys.executable, "-m", "replay", *self.command(out, *more)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=CHECKOUT,
            env={**child_environment(), **self.environment},
        ) as child:
            watch = Stopwatch()
            while self.written(out) < after and child.poll() is None and watch.elapsed_s() < 600:
                signal.sigtimedwait([], 0.01)
            child.send_signal(signal.SIGKILL)
        return self.written(out)

    def written(self, out: str) -> int:
        """Count the episodes on disk."""
        path = self.folder / out / "trajectories.jsonl"
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def freeze(self, out: str) -> Path:
        """Freeze a run's overlay as a layer."""
        layer = self.folder / f"{out}.replay"
        words = ("--base", self.archive, "--name", "layer", "--version", "1", "--home", self.folder / "home")
        done = run_command("archive", "freeze", self.folder / out / "overlay", "-o", layer, *words)
        assert 0 == done.code, done.err
        return layer


def check_one_root(suite: Suite, *, planned: int) -> None:
    """Alone, in two processes, and killed and resumed, cold each time: one root; then strictly without it."""
    first = suite.run("first")
    assert planned == first["planned"]
    assert first["provenance"]["generated"] > 0
    killed = suite.kill("killed", after=max(1, planned // 3))
    assert 0 < killed < planned
    resumed = suite.run("killed", "--jobs", "2")
    assert {first["run_root"]} == {resumed["run_root"], suite.run("pair", "--jobs", "2")["run_root"]}
    layer = suite.freeze("killed")
    words = ("--mode", "strict", "--base", str(suite.archive))
    strict = suite.run("strict", *words, archive=layer, program=_BARE)
    parts = ("trajectories", "verdicts", "summary")
    assert [first["roots"][part] for part in parts] == [strict["roots"][part] for part in parts]
    assert {} == strict["cost"]


def select(*tasks: str) -> tuple[str, ...]:
    """Name tasks on the command line."""
    return tuple(word for task in tasks for word in ("--select", task))


@pytest.mark.parametrize(
    "words",
    [("--protocol", "CoT@1"), ("--protocol", "DFS_woFilter_w2", "--select", "G2_*")],
    ids=["CoT", "DFS"],
)
def test_the_shipped_suite_has_one_root(tmp_path: Path, words: tuple[str, ...]) -> None:
    """All 33 tasks in a chain, a part of them in a tree, with a tiny random model in every role."""
    need_binding()
    weights = write_tiny_llama(tmp_path / "tiny.gguf")
    bounds = ("--option", "max_tokens=24", "--option", "max_queries=4")
    suite = Suite(tmp_path, "tiny", (*words, *bounds))
    added = run_command("models", "add", weights, "--home", tmp_path / "home")
    assert 0 == added.code, added.err
    check_one_root(suite, planned=33 if "--select" not in words else 10)


def test_the_default_model_has_one_root(tmp_path: Path) -> None:
    """SmolLM2 plays live tasks of the shipped suite."""
    need_binding()
    need_model("smollm2-135m")
    words = ("--option", "max_tokens=64", *select("1001", "1003", "1004"))
    check_one_root(Suite(tmp_path, "smollm2-135m", words, REPLAY_MODELS=str(WEIGHTS)), planned=3)


def test_shipped_answers_come_out_again(tmp_path: Path) -> None:
    """The live part of `make replay`, as the command that it is."""
    need_binding()
    need_model("smollm2-135m")
    home = {"REPLAY_HOME": str(tmp_path), "REPLAY_MODELS": str(WEIGHTS)}
    done = run_process("shipped", "--live", "--threads", "1", "--json", environment=home)
    assert 0 == done.code, done.err
    runs = done.document["live"]
    assert runs, "no shipped run is live"
    assert all(run["answers"] > 0 for run in runs)
    assert all(run["ok"] for run in runs)


def test_tasks_of_the_real_benchmark_have_one_root(tmp_path: Path, shared_data: Path) -> None:
    """SmolLM2 plays published queries whose APIs nobody recorded: the simulator answers for all of them."""
    need_binding()
    need_model("smollm2-135m")
    archive = tmp_path / "real.replay"
    imported = run_command("import", "stabletoolbench", shared_data / "stabletoolbench", "-o", archive)
    assert 0 == imported.code, imported.err
    words = ("--option", "max_tokens=40", *select("85759", "86535", "86143", "84935"))
    suite = Suite(tmp_path, "smollm2-135m", words, archive=archive, REPLAY_MODELS=str(WEIGHTS))
    check_one_root(suite, planned=4)
