"""CodeXomics on the command line: three modes that are not pooled, bad input, the same root again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.core.types import Json
from tests.support.commands import run_command
from tests.support.data import CHECKOUT

SOURCES = CHECKOUT / "snapshots" / "sources" / "codexomics-mini"
MODES = ("oracle-assisted", "production-parity", "clean-parity")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our own suite as an archive."""
    path = tmp_path_factory.mktemp("codexomics") / "mini.replay"
    done = run_command("import", "codexomics", SOURCES, "-o", path)
    assert 0 == done.code, done.err
    return path


def play(archive: Path, stores: Path, out: Path, *, script: str, mode: str) -> Json:
    """Run 40 tests strictly with a scripted agent; returns the document of the run."""
    words = (
        "--candidate",
        f"scripted:{SOURCES / 'scripts' / script}.json",
        "--limit",
        "40",
        "--mode",
        "strict",
    )
    more = ("--option", f"mode={mode}", "--option", "tier=task-completion-execution", "--home", stores)
    done = run_command("run", archive, *words, *more, "--out", out, "--json")
    assert 0 == done.code, done.err
    return done.document


@pytest.fixture(scope="module")
def runs(
    archive: Path, stores: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Path, Json]]:
    """A run of 40 tests in each mode."""
    folder = tmp_path_factory.mktemp("modes")
    return {
        mode: (folder / mode, play(archive, stores, folder / mode, script="recovering", mode=mode))
        for mode in MODES
    }


def test_three_modes_give_three_labelled_results(runs: dict[str, tuple[Path, Json]]) -> None:
    """Each figure says its mode and tier, and the clean mode is not stopped by the oracle."""
    figures = {mode: document["scores"]["strict"]["strict-accuracy"] for mode, (_, document) in runs.items()}
    assert list(MODES) == [figure["detail"]["scope"]["mode"] for figure in figures.values()]
    assert {40} == {figure["planned"] for figure in figures.values()}
    assert figures["clean-parity"]["value"] > figures["production-parity"]["value"]


def test_two_modes_are_not_compared(runs: dict[str, tuple[Path, Json]]) -> None:
    """Putting two modes side by side ends with exit 3 and the reason."""
    done = run_command("compare", runs["clean-parity"][0], runs["oracle-assisted"][0], "--json")
    assert 3 == done.code
    assert "figures of different harness modes: clean-parity and oracle-assisted" == done.error["what"]


def test_reports_of_two_modes_are_not_pooled(
    archive: Path, stores: Path, runs: dict[str, tuple[Path, Json]], tmp_path: Path
) -> None:
    """Exported reports of two modes in one folder are refused; one alone is scored again."""
    for mode in MODES[1:]:
        done = run_command(
            "export", runs[mode][0], "-o", tmp_path / mode, "--archive", archive, "--home", stores
        )
        assert 0 == done.code, done.err
    words = ("score", "codexomics", archive, "--home", stores, "--json", "--outputs")
    mixed, alone = (run_command(*words, path) for path in (tmp_path, tmp_path / MODES[1]))
    assert (3, 0) == (mixed.code, alone.code)
    assert "harness modes" in mixed.error["what"]
    assert MODES[1] == alone.documents[-1]["scores"]["compat"]["strict-accuracy"]["detail"]["scope"]["mode"]


def test_the_same_run_has_the_same_root(
    archive: Path, stores: Path, runs: dict[str, tuple[Path, Json]], tmp_path: Path
) -> None:
    """A strict run repeated elsewhere gives the same bits."""
    again = play(archive, stores, tmp_path / "again", script="recovering", mode="clean-parity")
    assert runs["clean-parity"][1]["run_root"] == again["run_root"]


def test_gold_runs_pass_with_real_execution(archive: Path, stores: Path, tmp_path: Path) -> None:
    """Every gold run passes, officially and corrected, over tools that really ran or were recorded."""
    document = play(archive, stores, tmp_path / "gold", script="gold", mode="clean-parity")
    values = [document["scores"][side]["strict-accuracy"]["value"] for side in ("compat", "strict")]
    assert ([100.0, 100.0], 0) == (values, document["provenance"].get("simulated", 0))


def test_wrong_runs_fail(archive: Path, stores: Path, tmp_path: Path) -> None:
    """No wrong run passes, and the partial scores hide it."""
    document = play(archive, stores, tmp_path / "wrong", script="wrong", mode="clean-parity")
    scores = document["scores"]["compat"]
    assert (0.0, True) == (scores["strict-accuracy"]["value"], scores["average-score"]["value"] > 30)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("mode=parity",), "options.mode"),
        (("tier=real-tool-execution", "results=synthetic"), "over synthetic results"),
    ],
)
def test_options_that_cannot_hold_are_exit_3(
    archive: Path, stores: Path, tmp_path: Path, options: tuple[str, ...], reason: str
) -> None:
    """An unknown mode, or execution over what executes nothing, is refused before anything runs."""
    words = [word for option in options for word in ("--option", option)]
    script = f"scripted:{SOURCES / 'scripts' / 'gold.json'}"
    done = run_command(
        "run", archive, "--candidate", script, "--out", tmp_path / "r", "--home", stores, "--json", *words
    )
    assert 3 == done.code
    assert reason in json.dumps(done.error)
