"""What a user of any benchmark reads: who is missing, what a figure holds for, what a run is called."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from replay.wiring.shipped import ExpectedRun
from tests.support.commands import run_command
from tests.support.data import CHECKOUT

SOURCES = CHECKOUT / "snapshots" / "sources" / "codexomics-mini"


def make_expected(*select: str, user: str = "") -> ExpectedRun:
    """A shipped run of some tasks."""
    return ExpectedRun(
        archive="a.replay", archive_root="r", candidate="gold", run_root="r", select=select, user=user
    )


@pytest.mark.parametrize(
    ("expected", "select"),
    [
        ("candidate gold", ()),
        ("candidate gold, 1 task", ("en/a_1",)),
        ("candidate gold, 2 tasks", ("en/a_1", "en/a_2")),
        ("candidate gold, some tasks", ("a_[0-5]",)),
    ],
)
def test_a_shipped_run_is_called_by_what_it_selects(expected: str, select: tuple[str, ...]) -> None:
    """Tasks are counted where they are named, and not where a pattern stands for them."""
    assert expected == make_expected(*select).label


def test_a_shipped_run_names_its_user() -> None:
    """Who plays the user is a part of what was asked for."""
    assert "candidate gold, user plain" == make_expected(user="plain").label


def test_a_run_without_a_user_says_how_to_name_one(stores: Path, tmp_path: Path) -> None:
    """Conversations without a user are missed, and the run tells the option and where the names are."""
    words = ("--candidate", "gold", "--mode", "strict", "--limit", "2", "--home", stores)
    answered = run_command("run", "toolsandbox", *words, "--out", tmp_path / "run")
    assert 4 == answered.code
    assert re.search(r"(?m)^user +missing in 2 episodes: name one with --user-model", answered.out)
    assert "replay archive list toolsandbox --table users\n" in answered.out
    assert f"replay misses {tmp_path / 'run'}\n" in answered.out
    assert "plain" in run_command("archive", "list", "toolsandbox", "--table", "users").out.split()


def test_scope_and_baselines_stand_beside_the_score(stores: Path, tmp_path: Path) -> None:
    """CodeXomics' figures hold for one tier and mode, and three baselines stand beside each."""
    words = ("--candidate", "gold", "--mode", "strict", "--limit", "2", "--home", stores)
    answered = run_command("run", "codexomics", *words, "--out", tmp_path / "run")
    assert re.search(r"(?m)^settings   protocol rounds, rules compat, seed 0$", answered.out)
    assert re.search(r"(?m)^options    biology own, candidates 24, .*, mode clean-parity, .*", answered.out)
    assert re.search(r"(?m)^scope +.*mode clean-parity, .*tier real-tool-execution$", answered.out)
    beside = (
        r"(?m)^baselines +strict-accuracy \(compat\): empty-arguments \S+, last-step-missing \S+, oracle-echo"
    )
    assert re.search(beside, answered.out)


def test_an_archive_of_another_benchmark_is_named_without_outputs_too(stores: Path) -> None:
    """The benchmark's name is compared before anything is asked of the outputs."""
    answered = run_command("score", "acebench", "metatool", "--home", stores)
    assert 3 == answered.code
    assert re.search("archive 'metatool-mini' is of benchmark 'metatool'", answered.err)


def test_choosing_tasks_of_a_file_of_single_cases_is_refused(stores: Path, tmp_path: Path) -> None:
    """Every line of such a file is scored, so a limit would be without effect."""
    cases = tmp_path / "cases.jsonl"
    case = '{"category": "match_awareness", "id": "", "language": "en", "model_output": "Yes."}\n'
    cases.write_text(case)
    words = ("score", "metatool", "metatool", "--outputs", cases, "--home", stores)
    assert 0 == run_command(*words).code
    answered = run_command(*words, "--limit", "1")
    assert 2 == answered.code
    assert re.search("--limit means nothing for a file of single cases .cases.jsonl", answered.err)


def test_an_archive_without_candidates_says_which_kinds_there_are(stores: Path, tmp_path: Path) -> None:
    """Freshly imported tasks have no recorded candidate: a model, a script or outputs can be named."""
    path = tmp_path / "a.replay"
    run_command("import", "codexomics", SOURCES, "-o", path)
    answered = run_command("run", path, "--home", stores, "--out", tmp_path / "run")
    assert 3 == answered.code
    assert re.search(
        "next: name one with --candidate: model:NAME, scripted:FILE or outputs:PATH", answered.err
    )


@pytest.mark.parametrize(
    "benchmark", ["stabletoolbench", "metatool", "acebench", "toolsandbox", "codexomics"]
)
def test_what_is_no_folder_is_named_alike_by_every_importer(tmp_path: Path, benchmark: str) -> None:
    """A wrong path and a file are told apart from a folder that holds nothing of the benchmark."""
    file = tmp_path / "file"
    file.write_text("x")
    nowhere = run_command("import", benchmark, tmp_path / "nowhere", "-o", tmp_path / "a.replay")
    of_file = run_command("import", benchmark, file, "-o", tmp_path / "a.replay")
    assert (3, 3) == (nowhere.code, of_file.code)
    assert nowhere.err.startswith("replay: no such folder (nowhere)")
    assert of_file.err.startswith("replay: not a folder (file)")


@pytest.mark.parametrize(
    "benchmark", ["stabletoolbench", "metatool", "acebench", "toolsandbox", "codexomics"]
)
def test_outputs_that_are_not_there_are_named_alike(stores: Path, benchmark: str) -> None:
    """A wrong path is a wrong path, in every benchmark."""
    answered = run_command("score", benchmark, benchmark, "--outputs", "nowhere", "--home", stores)
    assert 3 == answered.code
    assert answered.err.startswith("replay: no such file or folder (nowhere)")


def test_lists_of_an_import_report_are_counted_and_shortened(tmp_path: Path) -> None:
    """A long list stands as its length and its first items, whatever the report holds it in."""
    answered = run_command("import", "codexomics", SOURCES, "-o", tmp_path / "a.replay")
    assert 0 == answered.code
    assert re.search(r"(?m)^  executed: \d+ \(\w+, .*, \.\.\.\)$", answered.out)
