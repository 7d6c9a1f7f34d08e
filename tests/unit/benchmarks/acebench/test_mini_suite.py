"""The shipped suite's content: what its README says is there, and what its candidates score."""

from __future__ import annotations

import functools
from typing import Final

import pytest

from replay.benchmarks.acebench.benchmark import AceBench
from replay.benchmarks.acebench.importing.importer import AceBenchImporter
from replay.benchmarks.acebench.records import CATEGORIES, LANGUAGES, split_of
from replay.core.protocols import EpisodeContext, ImportResult, Summary, World
from replay.core.trajectory import Trajectory
from replay.core.types import CallRequest, Role, Task, ToolResult
from replay.engine.episode import run_episode
from replay.engine.plan import PlanItem
from replay.llm.scripted import ScriptedCandidate
from tests.support.ace_agents import make_context
from tests.support.data import CHECKOUT

SOURCE: Final = CHECKOUT / "snapshots" / "sources" / "acebench-mini"


class WorldTools:
    """Answers calls from the world alone."""

    def __init__(self, world: World | None) -> None:
        self._world = world

    def answer(self, request: CallRequest, *, step: int) -> ToolResult:
        """Ask the world."""
        result = None if self._world is None else self._world.handle(request)
        assert result is not None, f"nothing answers {request.tool} at step {step}"
        return result


@functools.cache
def import_suite() -> ImportResult:
    """The suite as it is imported."""
    return AceBenchImporter().load(SOURCE, {})


@functools.cache
def load_script(folder: str, name: str) -> ScriptedCandidate:
    """A script of the suite."""
    return ScriptedCandidate.load(SOURCE / folder / f"{name}.json")


def play_task(task: Task, candidate: str, context: EpisodeContext) -> Trajectory:
    """Let a scripted candidate and its user play one task."""
    benchmark = AceBench()
    world = benchmark.make_world(task, context)
    said = {Role.CANDIDATE: ("scripts", candidate), Role.USER: ("users", "townsfolk")}
    chat = {role: load_script(*script).for_episode(task.id, trial=0) for role, script in said.items()}
    return run_episode(
        benchmark.play(task, (), context),
        PlanItem(task=task.id, split=task.split, trial=0, seed=1),
        benchmark=benchmark.name,
        chat=chat,
        tools=WorldTools(world),
        world=world,
    )


@functools.cache
def score(candidate: str, rules: str = "compat") -> Summary:
    """Play and score the whole suite."""
    tasks = import_suite().tasks
    context = make_context(rules)
    benchmark, verdicts = AceBench(), []
    for task in tasks:
        outcome = play_task(task, candidate, context).outcome
        scoring = benchmark.evaluate(task, outcome, trial=0, settings=context.settings, reference=None)
        with pytest.raises(StopIteration) as done:
            next(scoring)
        verdicts += list(done.value.value)
    return benchmark.summarize([(task.id, task.split, 0) for task in tasks], verdicts)


def overall(candidate: str, side: str, language: str, *, rules: str = "compat") -> float | None:
    """Overall figure of one language."""
    figures = getattr(score(candidate, rules), side)
    value: float | None = figures["overall"].groups[language].value
    return value


def test_every_category_has_two_records_in_both_languages() -> None:
    """None of them with a data error."""
    tasks = import_suite().tasks
    splits = [split_of(language, category) for language in LANGUAGES for category in CATEGORIES]
    assert sorted(splits * 2) == sorted(task.split for task in tasks)
    assert [] == [task.id for task in tasks if task.flags]


@pytest.mark.parametrize("candidate", ["gold", "near-gold"])
def test_every_episode_comes_to_its_own_end(candidate: str) -> None:
    """No script runs out of words."""
    stops = {play_task(task, candidate, make_context()).stop for task in import_suite().tasks}
    assert {"finished"} == stops


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("candidate", "compat", "strict"), [("gold", 100.0, 100.0), ("near-gold", 82.7, 13.5)]
)
def test_overalls_are_those_of_the_readme(
    candidate: str, compat: float, strict: float, language: str
) -> None:
    """By the official weights."""
    assert compat == pytest.approx(overall(candidate, "compat", language), abs=0.05)
    assert strict == pytest.approx(overall(candidate, "strict", language), abs=0.05)


@pytest.mark.parametrize("language", LANGUAGES)
def test_gold_wins_by_clean_rules_as_well(language: str) -> None:
    """The sandbox of the strict rules leads to the same states."""
    assert 100.0 == pytest.approx(overall("gold", "strict", language, rules="strict"), abs=0.05)


def test_what_the_careless_candidate_gains_has_its_reasons() -> None:
    """Items on which the two sides differ name an entry of the difference table."""
    known = {difference.id for difference in AceBench().differences}
    causes = {item["difference"] for item in score("near-gold").differing}
    assert causes
    assert causes <= known
    assert {"values-not-compared", "text-inside-text", "refusal-pieces", "whitespace-deleted"} <= causes
