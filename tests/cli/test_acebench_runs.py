"""Whole runs of ACEBench: gold candidates, a local model in both roles, a user that is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.benchmarks.acebench.importing.importer import AceBenchImporter
from replay.core.trajectory import CallStep
from replay.core.types import Json
from replay.engine.rundir.reading import load_run
from tests.support.ace_agents import gold_scripts
from tests.support.ace_folder import write_ace_folder
from tests.support.commands import run_command
from tests.support.tiny_gguf import write_tiny_llama
from tests.support.weights import need_binding

SHORT = (
    "--option", "max_tokens=12", "--option", "agent_max_tokens=12", "--option", "user_max_tokens=12",
    "--option", "max_messages=4",
)  # fmt: skip


class Site:
    """A home and an archive, and runs of it."""

    def __init__(self, folder: Path, source: Path) -> None:
        self.folder = folder
        self.source = source
        self.archive = folder / "ace.replay"
        done = run_command("import", "acebench", source, "-o", self.archive, "--json")
        assert done.code == 0, done.err
        self.imported = done.document

    def run(self, out: str, *words: str | Path, archive: Path | None = None) -> Json:
        """Run and return the summary document."""
        home = ("--home", self.folder / "home")
        done = run_command(
            "run", archive or self.archive, *words, "--out", self.folder / out, *home, "--json"
        )
        assert done.code in (0, 4), done.err
        return done.document

    def write_gold(self) -> tuple[str, str]:
        """Write the gold candidate and its user; return how a run names them."""
        tasks = AceBenchImporter().load(self.source, {}).tasks
        scripts = [script for task in tasks for script in gold_scripts(task)]
        names = []
        for role in ("candidate", "user"):
            rows = [row for row in scripts if row.get("role", "candidate") == role]
            path = self.folder / f"gold-{role}.jsonl"
            lines = [json.dumps({"name": f"gold-{role}"}), *map(json.dumps, rows)]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
            names.append(f"scripted:{path}")
        return names[0], names[1]


def value(document: Json, rules: str, metric: str, language: str) -> float:
    """One figure of a run."""
    found: float = document["scores"][rules][metric]["groups"][language]["value"]
    return found


@pytest.mark.slow
def test_a_gold_candidate_wins_everything_in_a_sound_suite(tmp_path: Path) -> None:
    """All categories, both languages, both rules; equal once more in two processes."""
    site = Site(tmp_path, write_ace_folder(tmp_path / "source"))
    candidate, user = site.write_gold()
    words = ("--candidate", candidate, "--user-model", user, "--mode", "strict")
    first = site.run("first", *words)
    for metric in ("overall", "normal", "special", "agent"):
        for language in ("en", "zh"):
            assert value(first, "strict", metric, language) == pytest.approx(100)
            assert value(first, "compat", metric, language) == pytest.approx(100, abs=0.02)
    assert {"finished": 34} == first["stops"]


def test_strict_rules_play_the_same_gold_to_the_same_end(tmp_path: Path) -> None:
    """Under clean rules the calls are the same, and so are the end states."""
    site = Site(tmp_path, write_ace_folder(tmp_path / "source"))
    candidate, user = site.write_gold()
    words = ("--candidate", candidate, "--user-model", user, "--select", "*agent*", "--rules", "strict")
    found = site.run("run", *words)
    assert {"finished": 4} == found["stops"]
    assert 100 == value(found, "strict", "agent", "zh")
    calls = [
        step.call.name
        for trajectory in load_run(tmp_path / "run").trajectories()
        for step in trajectory.steps
        if isinstance(step, CallStep)
    ]
    assert calls == ["delete_message", "send_message"] * 4


def test_without_a_user_only_the_tasks_that_need_one_are_unscored(tmp_path: Path) -> None:
    """By name; the others are played."""
    site = Site(tmp_path, write_ace_folder(tmp_path / "source"))
    candidate, _ = site.write_gold()
    found = site.run("run", "--candidate", candidate, "--select", "*agent*")
    assert {"finished": 2, "user-miss": 2} == found["stops"]
    assert {"user-miss": 2} == found["unscored"]


@pytest.mark.slow
def test_the_full_sets_are_played_with_their_truths(shared_data: Path, tmp_path: Path) -> None:
    """2,040 tasks: official ceilings of the truths, and strictly all but the flagged agent records."""
    site = Site(tmp_path, shared_data / "acebench")
    candidate, user = site.write_gold()
    words = ("--candidate", candidate, "--user-model", user, "--mode", "strict", "--jobs", "2")
    found = site.run("run", *words)
    assert (2040, 2040, {"finished": 2040}) == (found["planned"], found["scored"], found["stops"])
    assert [0.956, 0.988] == [
        found["scores"]["compat"]["normal"]["groups"][language]["detail"]["official"]
        for language in ("en", "zh")
    ]
    flagged = set(site.imported["report"]["data_errors"]["by_record"])
    failed = {
        verdict.task
        for episode in load_run(tmp_path / "run").verdicts()
        for verdict in episode.verdicts
        if verdict.metric == "accuracy" and verdict.strict.value != 1
    }
    assert failed
    assert failed <= flagged


@pytest.mark.model
@pytest.mark.slow
def test_a_local_model_in_both_roles_comes_out_again(tmp_path: Path) -> None:
    """68 tasks live; from the frozen answers strictly and, computed anew, live: one run root."""
    need_binding()
    site = Site(tmp_path, write_ace_folder(tmp_path / "source", per_category=2))
    weights = write_tiny_llama(tmp_path / "tiny.gguf")
    assert 0 == run_command("models", "add", weights, "--home", tmp_path / "home").code
    roles = ("--candidate", "model:tiny", "--user-model", "model:tiny", *SHORT)
    first = site.run("first", *roles, "--threads", "1")
    assert 68 == first["scored"]
    layer = tmp_path / "layer.replay"
    frozen = run_command(
        "archive", "freeze", tmp_path / "first" / "overlay", "-o", layer, "--base", site.archive,
        "--name", "live", "--version", "1", "--home", tmp_path / "home",
    )  # fmt: skip
    assert 0 == frozen.code, frozen.err
    strict = site.run("strict", *roles, "--mode", "strict", "--base", site.archive, archive=layer)
    fresh = site.run("fresh", *roles, "--threads", "1", "--fresh", "--base", site.archive, archive=layer)
    assert first["roots"]["results"] == strict["roots"]["results"]
    assert strict["run_root"] == fresh["run_root"]
    assert {} == strict["cost"]
    assert fresh["cost"]["candidate"]["requests"] > 68
