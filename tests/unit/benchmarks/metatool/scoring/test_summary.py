"""Figures: accuracy, precision, recall, F1, CSR, parts, ranks, literal rules, constant answers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from replay.benchmarks.metatool.benchmark import MetaTool
from replay.benchmarks.metatool.records import SCENARIO, Sample
from replay.core.protocols import Settings, Summary
from replay.core.types import Json
from tests.unit.benchmarks.metatool.builders import (
    make_awareness,
    make_multi,
    make_reliability,
    make_similar,
    make_task,
)


def summarize(
    *items: tuple[Sample, str | None], splits: Sequence[str] = (), **flags: tuple[str, ...]
) -> Summary:
    """Score answers and aggregate them; None: nothing was produced. `flags` by task (`t0`)."""
    benchmark, plan, verdicts = MetaTool(), [], []
    settings = benchmark.check_settings(Settings())
    for number, (sample, text) in enumerate(items):
        name = f"t{number}"
        split = splits[number] if splits else sample.subtask
        task = make_task(sample, name, split=split, flags=flags.get(name, ()))
        outcome: Json = None if text is None else {"answer": text}
        play = benchmark.evaluate(task, outcome, trial=0, settings=settings, reference=None)
        with pytest.raises(StopIteration) as done:
            next(play)
        verdicts += list(done.value.value)
        plan.append((name, split, 0))
    return benchmark.summarize(plan, verdicts)


AWARENESS = (
    (make_awareness("yes"), "Yes."),
    (make_awareness("yes"), "Yes."),
    (make_awareness("yes"), "No."),
    (make_awareness("yes"), "Hm."),
    (make_awareness("no"), "Yes."),
    (make_awareness("no"), "No."),
    (make_awareness("no"), None),
    (make_awareness("no"), "Hm."),
)


def test_awareness_figures() -> None:
    """3 of 8 right; 2 of 3 predicted positives are; 2 of 4 positives are found."""
    figures = summarize(*AWARENESS).compat
    assert 37.5 == figures["awareness"].value
    assert (8, 1) == (figures["awareness"].planned, figures["awareness"].missing)
    assert pytest.approx(200 / 3) == figures["awareness.precision"].value
    assert 50.0 == figures["awareness.recall"].value
    assert pytest.approx(400 / 7) == figures["awareness.f1"].value


def test_what_is_undetermined_is_counted_beside() -> None:
    """Its rate is over the plan."""
    detail = summarize(*AWARENESS).compat["awareness"].detail
    assert (2, 25.0) == (detail["undetermined"], detail["undetermined_share"])
    assert {"false_negative": 1, "false_positive": 1, "undetermined": 2} == detail["errors"]


def test_the_literal_figure_has_bounds() -> None:
    """A plain no is a yes there; what is left to a person is wrong, and could all be right."""
    literal = summarize(*AWARENESS).compat["awareness.literal"]
    assert (37.5, 2, [37.5, 75.0]) == (literal.value, literal.detail["manual"], literal.detail["bounds"])


def test_a_constant_word_scores_the_larger_class() -> None:
    """Half of a balanced set."""
    constant = summarize(*AWARENESS[:6]).compat["awareness.constant"]
    assert pytest.approx(400 / 6) == constant.value
    assert {"answer": "yes"} == constant.detail


def test_csr_and_the_leak_beside_it() -> None:
    """The truth stands first in every list, so that answering 1 scores 100."""
    figures = summarize((make_similar(), "SkyTool"), (make_similar(), "NewsTool")).compat
    assert (50.0, 100.0) == (figures["similar"].value, figures["similar.constant"].value)
    assert {"position": "1"} == figures["similar.constant"].detail


def test_wrong_choices_are_ranked() -> None:
    """Among wrong choices of listed tools only."""
    answers = ("NewsTool", "Map&Route", "sql_scribe", "None.", "SkyTool")
    figures = summarize(*((make_similar(), text) for text in answers)).compat
    assert pytest.approx([100 / 3, 200 / 3, 200 / 3]) == [
        figures[f"similar.top@{k}"].value for k in (1, 3, 5)
    ]
    assert 3 == figures["similar.top@1"].n


def test_scenarios_are_groups() -> None:
    """Each with its own CSR."""
    items = [(make_similar(subtask=SCENARIO), text) for text in ("SkyTool", "NewsTool", "SkyTool")]
    figure = summarize(*items, splits=["scenario-a", "scenario-a", "scenario-b"]).compat["scenario"]
    assert {"scenario-a": 50.0, "scenario-b": 100.0} == {name: g.value for name, g in figure.groups.items()}


def test_multi_tool_parts_have_the_papers_names() -> None:
    """Shares of all planned items."""
    answers = ("SkyTool, NewsTool", "SkyTool", "SkyTool, Map", "None")
    figures = summarize(*((make_multi(), text) for text in answers)).compat
    assert [25.0] * 3 == [figures[name].value for name in ("multi-tool", "multi-tool.1/1", "multi-tool.1/2")]
    assert {"position": "1 and 2"} == figures["multi-tool.constant"].detail


def test_reliability_by_both_readings() -> None:
    """An empty answer is None by the published rule; strictly it is nothing."""
    summary = summarize((make_reliability(), ""), (make_reliability(), "None."))
    assert (100.0, 50.0) == (summary.compat["reliability"].value, summary.strict["reliability"].value)
    assert {"empty": 1} == summary.compat["reliability"].detail["oddities"]
    assert ["none-must-be-said"] == [item["difference"] for item in summary.differing]


def test_flagged_tasks_are_left_out_beside() -> None:
    """The figure holds all; the other one says what it would be."""
    summary = summarize((make_similar(), "SkyTool"), (make_similar(), "None."), t1=("several-labels",))
    assert 50.0 == summary.compat["similar"].value
    assert {"value": 100.0, "n": 1} == summary.compat["similar"].detail["without_flagged"]
    assert ({"task": "t1", "flags": ["several-labels"]},) == summary.flagged


def test_index_answers_that_would_be_right_are_counted() -> None:
    """They are wrong all the same."""
    figure = summarize((make_similar(), "1"), (make_similar(), "2")).compat["similar"]
    assert (0.0, 1) == (figure.value, figure.detail["index_answers_right"])


def test_a_subtask_that_is_not_planned_has_no_figure() -> None:
    """Nothing is 0 of 0."""
    assert not [name for name in summarize((make_similar(), "x")).compat if not name.startswith("similar")]


def test_nothing_scored_has_no_value() -> None:
    """Missing outputs alone."""
    figures = summarize((make_similar(), None), (make_similar(), None)).compat
    assert (None, 2) == (figures["similar"].value, figures["similar"].missing)
    assert None is figures["similar.literal"].value
    assert None is figures["similar.constant"].value


def test_nothing_predicted_positive_has_no_precision() -> None:
    """And an F1 of 0."""
    figures = summarize((make_awareness("yes"), "No."), (make_awareness("no"), "No.")).compat
    assert (None, 0.0, 0.0) == tuple(
        figures[f"awareness.{name}"].value for name in ("precision", "recall", "f1")
    )
