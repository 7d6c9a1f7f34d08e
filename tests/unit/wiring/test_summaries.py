"""What a run comes to: everything planned is accounted for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from replay.benchmarks.registry import get_benchmark
from replay.core.protocols import Metric
from replay.core.trajectory import CallStep, CompletionStep, Trajectory, make_trajectory
from replay.core.types import Completion, Digest, Provenance, Role, ToolCall, ToolResult, Verdict
from replay.engine.plan import PlanItem
from replay.engine.roles import EpisodeVerdicts, Judged
from replay.wiring.summaries import RunSummary, score_json, summarize_episodes
from tests.support.verdicts import make_verdict_of

PLAN = tuple(PlanItem(task=str(n), split="G1_instruction", trial=0, seed=n) for n in range(3))


def make_episode(task: str, *verdicts: Verdict, judged: tuple[Judged, ...] = ()) -> EpisodeVerdicts:
    """What was said about one episode."""
    return EpisodeVerdicts(task=task, split="G1_instruction", trial=0, verdicts=verdicts, judged=judged)


def make_played(task: str, *, stop: str = "finished", lookup: str = "canonical") -> Trajectory:
    """An episode of one completion and one recorded answer."""
    call = ToolCall(id="call_1", name="f", arguments="{}")
    steps = (
        CompletionStep(
            role=Role.CANDIDATE,
            request_digest=Digest("sha256:0"),
            completion=Completion(tool_calls=(call,), provenance=Provenance.SCRIPTED),
        ),
        CallStep(
            call=call, tool="t", result=ToolResult(content="", provenance=Provenance.IMPORTED, lookup=lookup)
        ),
    )
    return make_trajectory(
        benchmark="stabletoolbench",
        task=task,
        split="G1_instruction",
        trial=0,
        seed=0,
        steps=steps,
        stop=stop,
    )


def summarize(*episodes: EpisodeVerdicts, played: tuple[Trajectory, ...] = ()) -> RunSummary:
    """Summarise episodes over the plan of three."""

    def trajectories() -> Iterator[Trajectory]:
        return iter(played)

    return summarize_episodes(
        get_benchmark("stabletoolbench"), PLAN, episodes, candidate="me", trajectories=trajectories
    )


def test_scored_and_unscored_make_the_plan() -> None:
    """Each episode is scored or counted under its reason."""
    summary = summarize(
        make_episode("0", make_verdict_of("0", 1.0)),
        make_episode("1", make_verdict_of("1", "tool-miss")),
        make_episode("2", make_verdict_of("2", "judge-miss")),
    )
    assert (3, 1, {"judge-miss": 1, "tool-miss": 1}) == (summary.planned, summary.scored, summary.unscored)


def test_an_episode_without_verdicts_has_a_reason_too() -> None:
    """Nothing said is counted as such, never left out."""
    summary = summarize(make_episode("0"))
    assert {"no-verdict": 1} == summary.unscored


def test_provenance_is_counted_over_tools_models_and_judge() -> None:
    """Classes by boundary add up to the classes of the run; a question without an answer is no answer."""
    judged = (
        Judged(rubric="sopr", run=0, label="Solved", provenance=Provenance.IMPORTED),
        Judged(rubric="sopr", run=1),
    )
    summary = summarize(
        make_episode("0", make_verdict_of("0", 1.0), judged=judged), played=(make_played("0"),)
    )
    assert {"imported": 2, "scripted": 1} == summary.provenance
    assert {"candidate": {"scripted": 1}, "tools": {"imported": 1}, "judge": {"imported": 1}} == (
        summary.provenance_by_boundary
    )


def test_stops_and_lookups_are_counted_by_name() -> None:
    """How episodes ended and by which lookup their answers were found, sorted by name."""
    played = (make_played("0", lookup="python-repr"), make_played("1"), make_played("2", stop="gave-up"))
    summary = summarize(played=played)
    assert ["finished", "gave-up"] == list(summary.stops)
    assert {"canonical": 2, "python-repr": 1} == summary.lookups


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (
            Metric(value=66.7, n=3, planned=3, interval=(33.0, 100.0)),
            {"value": 66.7, "n": 3, "planned": 3, "missing": 0, "abstained": 0, "interval": [33.0, 100.0]},
        ),
        (
            Metric(value=None, n=0, planned=2, missing=2),
            {"value": None, "n": 0, "planned": 2, "missing": 2, "abstained": 0, "interval": None},
        ),
    ],
)
def test_a_score_shows_what_it_has(metric: Metric, expected: dict[str, object]) -> None:
    """Value, denominator and interval are always there; std, detail and groups where there are any."""
    assert expected == score_json(metric)


def test_a_score_shows_std_detail_and_groups() -> None:
    """Groups are scores themselves, in the benchmark's order."""
    part = Metric(value=50.0, n=2, planned=2, std=1.5)
    shown = score_json(Metric(value=50.0, n=4, planned=4, detail={"x": 1}, groups={"b": part, "a": part}))
    assert (["b", "a"], 1.5, {"x": 1}) == (
        list(shown["groups"]),
        shown["groups"]["a"]["std"],
        shown["detail"],
    )
