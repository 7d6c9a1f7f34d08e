"""The live part of shipped runs: what must come out again does, and what need not is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from replay.core.errors import DivergedError, ModelError
from replay.store.archive.reader import read_manifest
from replay.wiring.freezing import Below, freeze_folder
from replay.wiring.live import ANOTHER_FINGERPRINT, SAME_FINGERPRINT, LiveMachine, LiveRun, play_live
from replay.wiring.runs import RunRequest, execute_run
from replay.wiring.shipped import ExpectedRun, Place, request_of
from tests.support.commands import MINI, run_command
from tests.support.data import CHECKOUT
from tests.support.engines import FINDER

ARCHIVE = CHECKOUT / "snapshots" / f"{MINI}.replay"
GONE = ("Weather/skyline_forecast_for_Weather/*",)
TOY = "model:toy"


class Shipped:
    """An archive that holds what a toy model said in every role, and its recorded run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.archive = folder / "toys.replay"
        run = RunRequest(
            archive=str(ARCHIVE),
            candidate=TOY,
            simulator_model=TOY,
            judge_model=TOY,
            judge_runs=1,
            select=("1001", "1003"),
            without=GONE,
            finder=FINDER,
            home=str(folder / "home"),
            out=str(folder / "recorded"),
        )
        execute_run(run)
        below = Below(bases=(ARCHIVE,), merge=True, home=folder / "home")
        freeze_folder(folder / "recorded" / "overlay", self.archive, label=("toys", "1"), below=below)
        asked = ExpectedRun(
            archive=self.archive.name,
            archive_root=read_manifest(self.archive).root,
            candidate="toy",
            simulator="toy",
            judge_model="toy",
            judge_runs=1,
            select=("1001", "1003"),
            without=GONE,
            is_live=True,
            run_root="",
        )
        report = execute_run(request_of(asked, self.archive, self.place("strict")))
        assert report.manifest.roots is not None
        self.expected = replace(asked, run_root=report.manifest.roots.run_root)

    def place(self, name: str) -> Place:
        """Where runs of this name are played."""
        return Place(out=self.folder / name, home=self.folder / "home")

    def live(self, finder: str = FINDER) -> LiveRun:
        """Play it live with the models that this finder finds."""
        name = finder.partition(":")[2]
        runs = [(self.expected, self.archive)]
        (result,) = play_live(runs, self.place(name), LiveMachine(finder=finder), starting=lambda _: None)
        return result


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Shipped:
    """One archive with recorded answers for all tests."""
    return Shipped(tmp_path_factory.mktemp("shipped"))


@pytest.mark.slow
def test_all_comes_out_again_under_one_fingerprint(shipped: Shipped) -> None:
    """Every answer is computed anew and is the frozen one; the run root is the strict one's."""
    run = shipped.live()
    assert (SAME_FINGERPRINT, True) == (run.state, run.ok)
    assert run.expected.run_root == run.run_root
    assert run.answers == run.equal > 0
    assert 0 == run.differing_tokens
    assert run.simulated > 0
    assert {"candidate", "simulator", "judge"} == set(run.cost)


@pytest.mark.slow
def test_another_fingerprint_is_told_and_not_held_against_anyone(shipped: Shipped) -> None:
    """The frozen answers are served; those of this machine are counted beside them."""
    run = shipped.live("tests.support.engines:find_elsewhere")
    assert (ANOTHER_FINGERPRINT, True, "") == (run.state, run.ok, run.run_root)
    assert run.fingerprint != run.recorded_fingerprint
    assert run.answers == run.equal > 0


@pytest.mark.slow
def test_other_answers_under_one_fingerprint_are_a_divergence(shipped: Shipped) -> None:
    """A machine that claims the recording's fingerprint is held to it, token by token."""
    run = shipped.live("tests.support.engines:find_another_mind")
    assert (SAME_FINGERPRINT, False) == (run.state, run.ok)
    assert run.equal < run.answers
    assert run.differing_tokens > 0


@pytest.mark.slow
def test_a_model_that_is_not_here_is_named(shipped: Shipped) -> None:
    """One line with exit code 6."""
    expected = replace(shipped.expected, candidate="toy")
    with pytest.raises(ModelError, match="there is no model 'toy'"):
        list(
            play_live(
                [(expected, shipped.archive)],
                shipped.place("absent"),
                LiveMachine(finder="tests.support.engines:find_nothing"),
                starting=lambda _: None,
            )
        )


def test_the_command_without_a_model_is_one_line(tmp_path: Path) -> None:
    """Exit 6, nothing printed, and what to do next."""
    done = run_command("shipped", "--live", "--home", tmp_path)
    assert (6, "") == (done.code, done.out)
    *told, last = done.err.splitlines()
    assert last.startswith("replay: ")
    assert "next: " in last
    assert all(line.startswith("[replay] ") for line in told)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("finder", "error", "what"),
    [
        ("find_other_weights", ModelError, "other weights than the one that was recorded"),
        ("find_other_prompts", DivergedError, "recorded with another dialect"),
    ],
)
def test_another_model_or_prompt_is_refused(
    shipped: Shipped, finder: str, error: type[Exception], what: str
) -> None:
    """Neither may pass for a machine with other numerics."""
    with pytest.raises(error, match=what):
        shipped.live(f"tests.support.engines:{finder}")
