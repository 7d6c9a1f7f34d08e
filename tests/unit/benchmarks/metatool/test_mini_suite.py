"""The shipped suite's content: what its README says is there, and what its candidates score."""

from __future__ import annotations

import functools
import json
from typing import Final

import pytest

from replay.benchmarks.metatool.benchmark import MetaTool
from replay.benchmarks.metatool.differences import DIFFERENCES
from replay.core.protocols import Settings, Summary
from replay.core.types import Json, Verdict
from tests.unit.benchmarks.metatool.builders import MINI_SOURCE, import_mini

CANDIDATES: Final = ("gold", "near-gold")
CAUSES: Final = (
    "contradictions-are-open",
    "everyday-words-are-no-names",
    "none-must-be-said",
    "rejected-names-are-not-chosen",
    "several-names-are-open",
    "spelling-is-forgiven",
    "statements-are-read",
)


def read_script(name: str) -> dict[str, str]:
    """What a scripted candidate says, by task."""
    scripts: Json = json.loads((MINI_SOURCE / "scripts" / f"{name}.json").read_text(encoding="utf-8"))
    return {script["task"]: script["turns"][0]["content"] for script in scripts["scripts"]}


@functools.cache
def score(name: str) -> tuple[Summary, tuple[Verdict, ...]]:
    """Score a candidate's answers."""
    benchmark, said, verdicts = MetaTool(), read_script(name), []
    settings = benchmark.check_settings(Settings())
    for task in import_mini().tasks:
        outcome = {"answer": said[task.id]}
        play = benchmark.evaluate(task, outcome, trial=0, settings=settings, reference=None)
        with pytest.raises(StopIteration) as done:
            next(play)
        verdicts += list(done.value.value)
    plan = [(task.id, task.split, 0) for task in import_mini().tasks]
    return benchmark.summarize(plan, verdicts), tuple(verdicts)


@pytest.mark.parametrize("name", CANDIDATES)
def test_a_script_answers_every_task_once(name: str) -> None:
    """No task is left out, no other is answered."""
    assert {task.id for task in import_mini().tasks} == set(read_script(name))


@pytest.mark.parametrize("side", ["compat", "strict"])
def test_gold_scores_everything(side: str) -> None:
    """Derived from the truths."""
    figures = getattr(score("gold")[0], side)
    subtasks = ("awareness", "similar", "scenario", "reliability", "multi-tool")
    assert [100.0] * 5 == [figures[name].value for name in subtasks]


@pytest.mark.parametrize(
    ("subtask", "compat", "strict", "literal"),
    [
        ("awareness", 14, 12, 4),
        ("similar", 36, 40, 20),
        ("scenario", 27, 30, 18),
        ("reliability", 10, 6, 10),
        ("multi-tool", 2, 3, 2),
    ],
)
def test_near_gold_scores_what_was_reviewed(subtask: str, compat: int, strict: int, literal: int) -> None:
    """Right answers by the three readings."""
    _, verdicts = score("near-gold")
    mine = [verdict for verdict in verdicts if verdict.metric == subtask]
    assert (compat, strict, literal) == (
        sum(verdict.compat.value or 0 for verdict in mine),
        sum(verdict.strict.value or 0 for verdict in mine),
        sum(verdict.compat.detail["literal_correct"] is True for verdict in mine),
    )


def test_near_gold_shows_most_causes() -> None:
    """Each is an entry of the table."""
    causes = {verdict.differs for verdict in score("near-gold")[1]} - {""}
    assert set(CAUSES) == causes
    assert causes <= {difference.id for difference in DIFFERENCES}
