"""The real engine in whole runs: what a model answers live comes out again, live, strictly and recomputed."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.core.types import Json
from replay.engine.rundir.reading import load_run
from tests.support.commands import MINI, Answered, run_command
from tests.support.data import CHECKOUT
from tests.support.scripts import answer_turn, write_script
from tests.support.tiny_gguf import write_tiny_llama
from tests.support.weights import WEIGHTS, need_binding, need_model

pytestmark = [pytest.mark.model, pytest.mark.slow]

# One thread: tests run side by side, and threads of the engine wait for each other by spinning.
ONCE = ("--judge-runs", "1", "--threads", "1")
ARCHIVE = CHECKOUT / "snapshots" / f"{MINI}.replay"
SHORT = ("--option", "max_tokens=48", "--option", "max_steps=2", *ONCE)


class Site:
    """One home with stores and a model, and runs of it."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home = home
        self.folder = folder

    def run(self, out: str, *words: str | Path, archive: Path = ARCHIVE) -> Answered:
        """Run the first tasks of the shipped suite."""
        done = run_command("run", archive, *words, "--out", self.folder / out, "--home", self.home, "--json")
        assert done.code in (0, 4), done.err
        return done

    def freeze(self, out: str) -> Path:
        """Freeze a run's overlay as a layer on the shipped archive."""
        layer = self.folder / f"{out}.replay"
        words = ("--base", ARCHIVE, "--name", "live", "--version", "1", "--home", self.home)
        frozen = run_command("archive", "freeze", self.folder / out / "overlay", "-o", layer, *words)
        assert 0 == frozen.code, frozen.err
        return layer

    def verify(self, out: str) -> Json:
        """Verify a run and compute its generated answers again."""
        words = ("--archive", ARCHIVE, "--recompute", "--home", self.home, "--json")
        return run_command("verify", self.folder / out, *words).document


@pytest.fixture(scope="module")
def tiny_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a tiny random model, registered under the name `tiny`."""
    need_binding()
    home = tmp_path_factory.mktemp("home")
    weights = write_tiny_llama(tmp_path_factory.mktemp("weights") / "tiny.gguf")
    added = run_command("models", "add", weights, "--home", home)
    assert 0 == added.code, added.err
    return home


@pytest.fixture
def site(tiny_home: Path, tmp_path: Path) -> Site:
    """A place for runs of the tiny model."""
    return Site(tiny_home, tmp_path)


def roots_of(answered: Answered) -> tuple[str, str]:
    """What was done and how it was scored."""
    roots = answered.document["roots"]
    return roots["trajectories"], roots["verdicts"]


@pytest.mark.parametrize("protocol", ["CoT@1", "DFS_woFilter_w2"])
def test_a_candidate_comes_out_again(site: Site, protocol: str) -> None:
    """Alone, beside others in two processes, and strictly from the frozen overlay: one set of answers."""
    words = ("--candidate", "model:tiny", "--protocol", protocol, "--limit", "3", *SHORT)
    first = site.run("first", *words)
    again = site.run("again", *words, "--jobs", "2")
    assert first.document["run_root"] == again.document["run_root"]
    assert first.document["provenance"]["generated"]
    layer = site.freeze("first")
    strict = ("--candidate", "model:tiny", "--limit", "3", "--judge-runs", "1", "--mode", "strict")
    replayed = site.run("strict", *strict, "--base", ARCHIVE, archive=layer)
    assert roots_of(first) == roots_of(replayed)


@pytest.mark.parametrize("role", ["simulator", "judge"])
def test_the_other_roles_come_out_again(site: Site, role: str) -> None:
    """A script plays; the model answers for an API no archive knows, or judges, the same each time."""
    turns = () if role == "simulator" else (answer_turn("It is dry in Porto."),)
    script = write_script(site.folder / "script.json", "1001", *turns)
    option = {"simulator": "--simulator", "judge": "--judge-model"}[role]
    words = (
        "--candidate",
        f"scripted:{script}",
        "--select",
        "1001",
        option,
        "model:tiny",
        "--judge-runs",
        "1",
    )
    first = site.run("first", *words)
    assert [role] == list(first.document["cost"])
    assert first.document["run_root"] == site.run("again", *words).document["run_root"]
    strict = ("--mode", "strict", "--base", ARCHIVE)
    replayed = site.run("strict", *words, *strict, archive=site.freeze("first"))
    assert first.document["stops"] == replayed.document["stops"]
    assert first.document["roots"]["verdicts"] == replayed.document["roots"]["verdicts"]
    assert {} == replayed.document["cost"]


def test_generated_answers_are_computed_again(site: Site) -> None:
    """From the recorded requests alone, all of them to the same bits, sampled ones as well."""
    words = ("--option", "temperature=0.8", "--trials", "2", "--limit", "2", *SHORT)
    site.run("run", "--candidate", "model:tiny", *words)
    found = site.verify("run")
    answers = found["answers"]
    assert found["ok"], found
    assert answers["generated"] == answers["recomputed"] > 0
    assert {} == answers["elsewhere"]


def test_trials_at_a_temperature_are_distinct_and_reproducible(site: Site) -> None:
    """Five trials, five answers; a sixth asked of the frozen archive is a miss."""
    words = ("--candidate", "model:tiny", "--limit", "1", "--option", "temperature=0.8", *SHORT)
    first = site.run("first", *words, "--trials", "5")
    assert first.document["run_root"] == site.run("again", *words, "--trials", "5").document["run_root"]
    said = {str(trajectory.outcome) for trajectory in load_run(site.folder / "first").trajectories()}
    assert 5 == len(said)
    strict = ("--candidate", "model:tiny", "--limit", "1", "--judge-runs", "1", "--mode", "strict")
    replayed = site.run("strict", *strict, "--trials", "6", "--base", ARCHIVE, archive=site.freeze("first"))
    assert {"candidate-miss": 1} == {
        stop: count for stop, count in replayed.document["stops"].items() if stop.endswith("miss")
    }


def test_a_full_context_is_a_named_state_everywhere(site: Site) -> None:
    """Live and strictly: the completion says overflow, nothing is shifted out."""
    words = ("--candidate", "model:tiny", "--limit", "1", "--context", "512", *SHORT)
    first = site.run("first", *words)
    assert "context candidate: 1 of 1 requests had no room in it" in first.err
    (trajectory,) = load_run(site.folder / "first").trajectories()
    details = [step.completion.detail for step in trajectory.steps if hasattr(step, "completion")]
    assert {"overflow"} == {detail["error"] for detail in details}
    strict = ("--candidate", "model:tiny", "--limit", "1", "--judge-runs", "1", "--mode", "strict")
    replayed = site.run("strict", *strict, "--base", ARCHIVE, archive=site.freeze("first"))
    assert roots_of(first) == roots_of(replayed)


def test_a_file_can_be_named_instead_of_a_model(site: Site, tmp_path: Path) -> None:
    """The same content under another path is the same candidate."""
    copy = write_tiny_llama(tmp_path / "elsewhere.gguf")
    runs = [
        site.run(name, "--candidate", f"model:{word}", "--limit", "1", *SHORT).document["run_root"]
        for name, word in (("named", "tiny"), ("file", copy))
    ]
    assert runs[0] == runs[1]


def test_the_default_model_plays_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SmolLM2 as candidate, simulator and judge on one task; twice one root, then strictly the same."""
    need_binding()
    need_model("smollm2-135m")
    monkeypatch.setenv("REPLAY_MODELS", str(WEIGHTS))
    monkeypatch.setenv("REPLAY_HOME", str(tmp_path / "home"))
    model = "model:smollm2-135m"
    words = (
        "run",
        ARCHIVE,
        "--candidate",
        model,
        "--simulator",
        model,
        "--judge-model",
        model,
        "--limit",
        "1",
    )
    runs = [
        run_command(*words, *SHORT, "--out", tmp_path / name, "--json").document
        for name in ("first", "second")
    ]
    assert runs[0]["run_root"] == runs[1]["run_root"]
    assert 0 < runs[0]["provenance"]["generated"]
    layer = tmp_path / "layer.replay"
    frozen = run_command(
        "archive", "freeze", tmp_path / "first" / "overlay", "-o", layer, "--base", ARCHIVE, "--name", "live",
        "--version", "1",
    )  # fmt: skip
    assert 0 == frozen.code, frozen.err
    strict = run_command(
        "run", layer, *words[2:], *SHORT, "--mode", "strict", "--base", ARCHIVE, "--out",
        tmp_path / "strict", "--json",
    )  # fmt: skip
    assert runs[0]["roots"]["trajectories"] == strict.document["roots"]["trajectories"]
    assert runs[0]["roots"]["verdicts"] == strict.document["roots"]["verdicts"]


def test_a_candidate_may_write_calls_in_lines_of_text(site: Site) -> None:
    """Another dialect is another candidate; its answers are computed again in that dialect."""
    words = ("--candidate", "model:tiny", "--limit", "2", *SHORT)
    usual = site.run("usual", *words)
    lines = site.run("lines", *words, "--dialect", "react")
    assert usual.document["run_root"] != lines.document["run_root"]
    found = site.verify("lines")
    assert found["ok"], found
    assert found["answers"]["generated"] == found["answers"]["recomputed"] > 0


@pytest.mark.parametrize(
    ("candidate", "dialect", "said"),
    [("model:tiny", "xml", "form of calls 'xml'"), ("cot", "react", "candidate 'cot' is no local model")],
)
def test_a_dialect_that_cannot_be_had_is_refused(site: Site, candidate: str, dialect: str, said: str) -> None:
    """An unknown one, and any for a candidate that no model plays."""
    words = ("run", ARCHIVE, "--candidate", candidate, "--dialect", dialect, "--home", site.home)
    refused = run_command(*words, "--out", site.folder / "refused")
    assert 3 == refused.code
    assert said in refused.err
