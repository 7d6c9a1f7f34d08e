"""StableToolBench behind the benchmark seam."""

from __future__ import annotations

import pytest

from replay.benchmarks.stabletoolbench.benchmark import StableToolBench
from replay.core.canonical import digest
from replay.core.errors import InputError, InternalError
from replay.core.protocols import EpisodeContext, Settings
from replay.core.types import Json, Task
from tests.support.verdicts import drive, make_task
from tests.unit.benchmarks.stabletoolbench.answers import finish, labels, make_outcome


def metrics_of(outcome: Json, *, reference_name: str = "", options: Json = None) -> list[str]:
    """Names of the metrics an evaluation gives."""
    settings = Settings(reference=reference_name, options=options)
    play = StableToolBench().evaluate(make_task(), outcome, trial=0, settings=settings, reference=None)
    return [verdict.metric for verdict in drive(play, labels({}))[0]]


@pytest.mark.parametrize(
    ("metrics", "outcome", "reference_name"),
    [
        (["SoPR", "FAC"], make_outcome(), ""),
        (["SoPR", "SoWR", "FAC"], make_outcome(), "theirs"),
        (["SoPR", "FAC"], None, ""),
        (["SoPR", "FAC"], {"converted": 3}, ""),
        (["SoPR"], {"statuses": {"0": "Solved"}}, ""),
        (["SoPR", "SoWR"], {"statuses": {"0": "Solved"}}, "theirs"),
        (["SoWR"], {"preferences": {"a": {"reference": 1, "candidate": 2}}}, ""),
        (["FAC"], {"fac": {"reply": "Solved"}}, ""),
    ],
)
def test_metrics_follow_the_outcome(metrics: list[str], outcome: Json, reference_name: str) -> None:
    """What an outcome holds, and whether there is a reference, says which metrics it has."""
    assert metrics == metrics_of(outcome, reference_name=reference_name)


def test_metrics_share_their_questions() -> None:
    """What one metric has asked, another does not ask again."""
    settings = Settings(reference="theirs")
    ours, theirs = make_outcome(), make_outcome(finish("No idea."))
    play = StableToolBench().evaluate(make_task(), ours, trial=0, settings=settings, reference=theirs)
    judge = labels({"answer-status": "Unsure", "whole-answer-status": "Solved", "preference": "first"})
    _, asked = drive(play, judge)
    keys = [str(digest("question", [r.rubric, r.evidence, r.run])) for r in asked]
    assert sorted(set(keys)) == sorted(keys)


def test_metrics_by_option() -> None:
    """Metrics that are asked for by name are given, scored or not."""
    assert ["SoPR", "SoWR"] == metrics_of(make_outcome(), options={"metrics": ["SoPR", "SoWR"]})


def test_unscored_has_a_verdict_for_each_metric() -> None:
    """An episode without an end leaves the official file and stays in the plan, by its reason."""
    verdicts = StableToolBench().unscored(make_task(), trial=2, reason="tool-miss")
    assert [("SoPR", 2, "tool-miss"), ("SoWR", 2, "tool-miss"), ("FAC", 2, "tool-miss")] == [
        (verdict.metric, verdict.trial, verdict.strict.unscored) for verdict in verdicts
    ]
    assert {"not-in-result-file"} == {verdict.compat.unscored for verdict in verdicts}


def test_unscored_refuses_an_unnamed_reason() -> None:
    """Reasons are a closed list."""
    with pytest.raises(InternalError, match="unnamed reason 'tired'"):
        StableToolBench().unscored(make_task(), trial=0, reason="tired")


def test_task_without_query_is_named() -> None:
    """A task that cannot be judged is a data error with its id."""
    task = Task(id="7", split="s", data={})
    play = StableToolBench().evaluate(task, None, trial=0, settings=Settings(), reference=None)
    with pytest.raises(InputError, match=r"no text `query` \(task 7\)"):
        next(play)


def test_no_world() -> None:
    """Every API of this benchmark is answered from records."""
    context = EpisodeContext(trial=0, seed=1, settings=Settings())
    assert StableToolBench().make_world(make_task(), context) is None


def test_flags_travel_to_the_verdict() -> None:
    """Oddities of a task are shown with each of its scores."""
    task = Task(id="1", split="s", data={"query": "q"}, flags=("odd",))
    play = StableToolBench().evaluate(task, None, trial=0, settings=Settings(), reference=None)
    verdicts, _ = drive(play, labels({}))
    assert {("odd",)} == {verdict.flags for verdict in verdicts}
