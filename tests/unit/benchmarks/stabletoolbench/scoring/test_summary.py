"""Verdicts over a plan become the paper's figures."""

from __future__ import annotations

import pytest

from replay.benchmarks.stabletoolbench.scoring.summary import GROUPS, summarize
from replay.core.types import Verdict
from replay.evaluate.states import make_verdict, scored, unscored
from tests.support.verdicts import make_task, make_verdict_of


def plan_of(*verdicts: Verdict) -> list[tuple[str, str, int]]:
    """The plan that these verdicts fill."""
    return sorted({(verdict.task, verdict.split, verdict.trial) for verdict in verdicts})


def absent(task: str) -> Verdict:
    """A verdict of a task without output."""
    return make_verdict_of(task, "not-in-result-file", strict="missing-output")


def by_rule(task: str) -> Verdict:
    """A verdict settled without a judge."""
    score = scored(0.0, detail={"by": "rule"})
    return make_verdict(make_task(task), 0, metric="SoPR", compat=score, strict=score)


def test_percent_with_full_precision() -> None:
    """Figures are percentages, not rounded."""
    verdicts = [make_verdict_of("1", 1.0), make_verdict_of("2", 1.0), make_verdict_of("3", 0.0)]
    assert summarize(plan_of(*verdicts), verdicts).compat["SoPR"].value == pytest.approx(200 / 3, abs=1e-9)


def test_a_crash_raises_the_official_score_only() -> None:
    """Official: one of one record. Strict: one of two planned tasks."""
    verdicts = [make_verdict_of("1", 1.0), absent("2")]
    summary = summarize(plan_of(*verdicts), verdicts)
    assert (100.0, 1) == (summary.compat["SoPR"].value, summary.compat["SoPR"].n)
    assert (50.0, 2, 1) == (
        summary.strict["SoPR"].value,
        summary.strict["SoPR"].n,
        summary.strict["SoPR"].missing,
    )


def test_planned_is_the_plan_on_both_sides() -> None:
    """The honest denominator is shown beside the official one."""
    verdicts = [make_verdict_of("1", 1.0), absent("2")]
    summary = summarize(plan_of(*verdicts), verdicts)
    assert (2, 2) == (summary.compat["SoPR"].planned, summary.strict["SoPR"].planned)


def test_groups_in_paper_order() -> None:
    """Groups come as in the paper's tables."""
    verdicts = [make_verdict_of(str(i), 1.0, split=split) for i, split in enumerate(sorted(GROUPS))]
    assert list(GROUPS) == list(summarize(plan_of(*verdicts), verdicts).compat["SoPR"].groups)


def test_average_is_unweighted_and_pooled_beside_it() -> None:
    """The paper's average weighs a group of three like a group of one."""
    verdicts = [make_verdict_of("0", 1.0, split="G3_instruction")]
    verdicts += [make_verdict_of(str(i), 0.0) for i in (1, 2, 3)]
    figure = summarize(plan_of(*verdicts), verdicts).compat["SoPR"]
    assert (50.0, 25.0) == (figure.value, figure.detail["pooled"])


def test_metric_without_items_is_absent() -> None:
    """No reference, no win rate: absent, not 0."""
    verdicts = [make_verdict_of("1", 1.0)]
    assert ["SoPR"] == list(summarize(plan_of(*verdicts), verdicts).compat)


def test_metric_of_crashed_tasks_alone_is_absent() -> None:
    """A crashed task has a verdict for every metric; that alone asks for none of them."""
    crashed = make_verdict_of("2", "not-in-result-file", strict="tool-miss", metric="SoWR")
    verdicts = [make_verdict_of("1", 1.0), absent("2"), crashed]
    summary = summarize(plan_of(*verdicts), verdicts)
    assert ["SoPR"] == list(summary.strict)
    assert ["SoPR"] == [item["metric"] for item in summary.differing]


def test_metric_that_could_not_be_scored_is_shown() -> None:
    """Asked for and unscored: value None with its counts."""
    verdicts = [make_verdict_of("1", "judge-miss"), make_verdict_of("2", "judge-miss")]
    figure = summarize(plan_of(*verdicts), verdicts).strict["SoPR"]
    assert (None, 2, {"judge-miss": 2}) == (figure.value, figure.missing, figure.detail["unscored"])


def test_figure_of_failures_alone_is_withheld() -> None:
    """Without a judge only rule-settled failures have scores; they are no sample, so there is no figure."""
    verdicts = [by_rule("1"), make_verdict_of("2", "judge-miss")]
    figure = summarize(plan_of(*verdicts), verdicts).compat["SoPR"]
    assert (None, None, [0.0, 50.0]) == (figure.value, figure.interval, figure.detail["bounds"])
    assert "no judge answered" in figure.detail["withheld"]


def test_all_failures_by_rule_are_a_figure() -> None:
    """When no judge was needed, rules alone make the figure."""
    verdicts = [by_rule("1"), by_rule("2")]
    assert summarize(plan_of(*verdicts), verdicts).compat["SoPR"].value == 0.0


def test_win_rate_shows_its_results() -> None:
    """Wins, losses and ties stand beside the rate."""
    verdicts = []
    for task, result, value in (("1", "candidate", 1.0), ("2", "tie", 0.5), ("3", "reference", 0.0)):
        score = scored(value, detail={"by": "judge", "result": result})
        verdicts.append(make_verdict(make_task(task), 0, metric="SoWR", compat=score, strict=score))
    figure = summarize(plan_of(*verdicts), verdicts).strict["SoWR"]
    assert (50.0, {"win": 1, "lose": 1, "tie": 1}) == (figure.value, figure.detail["results"])


def test_judge_errors_are_counted() -> None:
    """Unreadable judge answers are shown with the figure."""
    score = scored(1.0, detail={"by": "judge", "labels": ["error", "Solved", "error"]})
    verdict = make_verdict(make_task("1"), 0, metric="SoPR", compat=score, strict=score)
    assert 2 == summarize(plan_of(verdict), [verdict]).strict["SoPR"].detail["judge_errors"]


def test_differing_items_are_listed_with_their_reason() -> None:
    """Every item on which the two sides disagree is there, in a fixed order."""
    verdicts = [absent("2"), make_verdict_of("1", 1.0, strict=0.0), make_verdict_of("3", 1.0)]
    differing = summarize(plan_of(*verdicts), verdicts).differing
    assert [("1", 1.0, 0.0), ("2", "not-in-result-file", "missing-output")] == [
        (item["task"], item["compat"], item["strict"]) for item in differing
    ]


def test_flagged_tasks_are_listed() -> None:
    """Data errors of tasks are shown with the scores."""
    task = make_task("1")
    flagged = type(task)(id="1", split=task.split, data=task.data, flags=("duplicate function names",))
    score = unscored("judge-miss")
    verdict = make_verdict(flagged, 0, metric="SoPR", compat=score, strict=score)
    expected = ({"task": "1", "flags": ["duplicate function names"]},)
    assert expected == summarize(plan_of(verdict), [verdict]).flagged


def test_planned_item_without_verdict_is_missing() -> None:
    """An interrupted run shows what it has not scored."""
    plan = [("1", "G1_instruction", 0), ("2", "G1_instruction", 0)]
    figure = summarize(plan, [make_verdict_of("1", 1.0)]).strict["SoPR"]
    assert (50.0, {"no-verdict": 1}) == (figure.value, figure.detail["unscored"])


def test_trials_are_items() -> None:
    """Each trial of a task is an item of its own."""
    verdicts = [make_verdict_of("1", 1.0, trial=0), make_verdict_of("1", 0.0, trial=1)]
    assert (50.0, 2) == (
        (figure := summarize(plan_of(*verdicts), verdicts).strict["SoPR"]).value,
        figure.n,
    )


def test_order_of_verdicts_is_nothing() -> None:
    """The summary of verdicts in another order is the same record."""
    verdicts = [make_verdict_of(str(i), i % 3 / 2, split=GROUPS[i % 6]) for i in range(30)]
    verdicts += [make_verdict_of("x", 1.0, strict=0.0)]
    plan = plan_of(*verdicts)
    assert summarize(plan, verdicts) == summarize(plan[::-1], verdicts[::-1])
