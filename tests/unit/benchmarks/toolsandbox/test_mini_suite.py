"""The shipped suite's content: what its README says is there, and what its agents score."""

from __future__ import annotations

import fnmatch
import functools
import json
from pathlib import Path
from typing import Final

import pytest

from replay.benchmarks.toolsandbox.benchmark import ToolSandbox
from replay.benchmarks.toolsandbox.importing.importer import ToolSandboxImporter
from replay.benchmarks.toolsandbox.playing.rehearsal import rehearse
from replay.benchmarks.toolsandbox.records import AUGMENTATIONS, CATEGORIES, SPLITS, read_scenario
from replay.benchmarks.toolsandbox.scoring.verdicts import BaselineBook, judge
from replay.benchmarks.toolsandbox.tools.web import APIS
from replay.core.protocols import ImportResult
from replay.core.types import Json, Task
from tests.support.data import CHECKOUT

SOURCE: Final = CHECKOUT / "snapshots" / "sources" / "toolsandbox-mini"


BASELINES: Final = BaselineBook()


@functools.cache
def import_suite() -> ImportResult:
    """The suite as it is imported."""
    return ToolSandboxImporter().load(SOURCE, {})


def read(path: Path) -> Json:
    """One file of the suite."""
    return json.loads(path.read_text(encoding="utf-8"))


@functools.cache
def turns_of(file: str, task: str) -> list[Json]:
    """A script's turns for a task, in the rehearsal's form; the user's end is said at last."""
    script = next(one for one in read(SOURCE / file)["scripts"] if fnmatch.fnmatchcase(task, one["task"]))
    turns = [
        {"calls": t["tool_calls"]} if "tool_calls" in t else {"say": t["content"]} for t in script["turns"]
    ]
    return [*turns, {"end": True}] if file.startswith("users") else turns


def fixtures_of(task: Task) -> list[Json]:
    """Recorded answers as fixtures by address, those that fit the gold agent's questions first."""
    asked = json.dumps(turns_of("scripts/gold.json", task.id))
    answers = sorted(read(SOURCE / "api_answers.json"), key=lambda one: not _fits(one["arguments"], asked))
    return [{"url_contains": APIS[one["tool"]][1], "response": one["response"]} for one in answers]


def _fits(arguments: Json, asked: str) -> bool:
    """Tell whether an answer is of the day and the things that are asked about; all are of one place."""
    if "days" in arguments:
        return bool(arguments["days"]) == ('"days": 1' in asked)
    things = [str(value).removesuffix(".0") for name, value in arguments.items() if "itude" not in name]
    return all(thing in asked for thing in things)


def score(task: Task, agent: list[Json]) -> tuple[Json, Json]:
    """Official and strict similarity of an agent's turns."""
    outcome = rehearse(
        task, agent=agent, user=turns_of("users/plain.json", task.id), fixtures=fixtures_of(task)
    )
    verdicts = judge(task, outcome.end.outcome, trial=0, baselines=BASELINES)
    first = next(verdict for verdict in verdicts if verdict.metric == "similarity")
    return first.compat.value, first.strict.value


def test_suite_is_what_its_readme_says() -> None:
    """47 scenarios over all categories, 14 variants over all tool lists, every constraint kind."""
    result = import_suite()
    scenarios = [read_scenario(task) for task in result.tasks]
    bases = [scenario for scenario in scenarios if scenario.name == scenario.base]
    assert (61, 47, 8) == (len(scenarios), len(bases), len(result.answers))
    assert set(CATEGORIES) <= {name for scenario in bases for name in scenario.categories}
    assert set(SPLITS) == {task.split for task in result.tasks}
    assert set(AUGMENTATIONS) == {name for scenario in scenarios for name in scenario.augmentations}
    constraints = [c for s in bases for m in (*s.milestones, *s.minefields) for c in m.constraints]
    assert 6 == len({constraint.fn for constraint in constraints})
    assert {"tool_trace", "content"} <= {constraint.fill_to for constraint in constraints}
    assert -1 in {constraint.reference for constraint in constraints}


@pytest.mark.slow
def test_gold_agent_reaches_everything() -> None:
    """The gold agent scores 1 in every scenario, officially and strictly."""
    for task in import_suite().tasks:
        got = score(task, turns_of("scripts/gold.json", task.id))
        assert [1.0, 1.0] == pytest.approx(list(got), abs=1e-6), task.id


@pytest.mark.slow
def test_talker_is_told_apart() -> None:
    """An agent that only talks scores 0.39 officially and 0.07 strictly."""
    talks = [*({"say": "I am afraid I cannot help with that."},) * 3]
    scores = [
        score(task, [*turns_of("scripts/talker.json", task.id), *talks]) for task in import_suite().tasks
    ]
    means = [sum(side) / len(scores) for side in zip(*scores, strict=True)]
    assert [0.3907, 0.0656] == pytest.approx(means, abs=1e-4)


def test_every_difference_has_its_own_id() -> None:
    """The table of differences names each once."""
    ids = [entry.id for entry in ToolSandbox().differences]
    assert len(set(ids)) == len(ids)
