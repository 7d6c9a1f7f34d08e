"""Figures: sessions, parts, the official weighting and the honest ones, published tables."""

from __future__ import annotations

import math

import pytest

from replay.benchmarks.acebench.records import CATEGORIES, MULTI_TURN
from replay.benchmarks.acebench.scoring.overall import official_mean, official_overall
from replay.benchmarks.acebench.scoring.summary import summarize
from replay.core.types import Score, Task, Verdict
from replay.evaluate.states import make_verdict, scored, unscored
from tests.support.ace_leaderboard import PUBLISHED, Row

Item = tuple[str, str, int]


def _verdict(item: Item, compat: Score, strict: Score | None = None, *, metric: str = "accuracy") -> Verdict:
    task = Task(id=item[0], split=item[1], data={})
    return make_verdict(
        task, item[2], metric=metric, compat=compat, strict=strict or compat, cause="text-inside-text"
    )


def _items(*categories: str, count: int = 2, language: str = "en") -> list[Item]:
    found = []
    for category in categories:
        for number in range(count):
            name = f"{category}_{number}_0" if category in MULTI_TURN else f"{category}_{number}"
            found.append((f"{language}/{name}", f"{language}/{category}", 0))
    return found


def test_a_session_is_right_when_all_its_turns_are() -> None:
    """And counts once; turns and the share of right turns stand beside it."""
    split = "en/normal_multi_turn_user_switch"
    plan = [(f"en/normal_multi_turn_user_switch_{s}_{t}", split, 0) for s in range(2) for t in range(3)]
    verdicts = [
        _verdict(item, scored(0.0, why="lack_args") if item[0].endswith("1_2") else scored(1.0))
        for item in plan
    ]
    figures = summarize(plan, verdicts).compat
    assert (50.0, 2) == (figures["accuracy"].value, figures["accuracy"].n)
    assert pytest.approx(500 / 6) == figures["turns"].value
    assert pytest.approx(100 * (1 + 0.667) / 2) == figures["session-process"].value
    assert figures["accuracy"].detail["errors"] == {"lack_args": 1}


def test_a_session_without_all_scores_is_wrong_or_unscored() -> None:
    """Wrong as soon as one turn is; otherwise its missing turn keeps it unscored and in the denominator."""
    split = "en/normal_multi_turn_user_adjust"
    plan = [(f"en/normal_multi_turn_user_adjust_{s}_{t}", split, 0) for s in range(2) for t in range(2)]
    gone = unscored("missing-output")
    scores = [scored(0.0, why="x"), gone, scored(1.0), gone]
    figure = summarize(plan, [_verdict(i, s) for i, s in zip(plan, scores, strict=True)]).strict["accuracy"]
    assert (0.0, 2, 1) == (figure.value, figure.n, figure.missing)
    assert figure.detail["bounds"] == [0.0, 50.0]


def test_the_overall_score_weighs_three_parts_officially_and_by_size() -> None:
    """All categories planned: constants, and square roots of the planned sizes."""
    plan = _items(*CATEGORIES)
    good = {"normal_atom_bool", "special_irrelevant", "agent_multi_step"}
    verdicts = [_verdict(item, scored(1.0 if item[1].split("/")[1] in good else 0.0)) for item in plan] + [
        _verdict(item, scored(0.5), metric="process")
        for item in plan
        if item[1].split("/")[1].startswith("agent")
    ]
    summary = summarize(plan, verdicts)
    english = summary.compat["overall"].groups["en"]
    parts = {"normal": 1 / 12, "special": 1 / 3, "agent": 1 / 2}
    weights = {"normal": 0.578, "special": 0.2676, "agent": 0.1545}
    expected = 100 * sum(weights[name] * share for name, share in parts.items())
    assert pytest.approx(expected) == english.value == summary.compat["overall"].value
    assert pytest.approx(expected / 1.0001) == summary.strict["overall"].value
    assert (
        round(weights["normal"] * 0.083 + weights["special"] * 0.333 + weights["agent"] * 0.5, 3)
        == (english.detail["official"])
    )
    roots = {"normal": math.sqrt(24), "special": math.sqrt(6), "agent": math.sqrt(4)}
    by_size = 100 * sum(roots[name] * share for name, share in parts.items()) / sum(roots.values())
    assert pytest.approx(by_size) == english.detail["by_sessions"]
    assert pytest.approx(50.0) == summary.strict["process"].value


def test_categories_that_are_not_planned_count_zero_officially_and_leave_no_strict_overall() -> None:
    """With their names."""
    plan = _items("normal_atom_bool")
    summary = summarize(plan, [_verdict(item, scored(1.0)) for item in plan])
    assert summary.compat["overall"].detail["official"] == round(0.578 * 0.083, 3)
    assert summary.strict["overall"].value is None
    assert len(summary.strict["overall"].detail["missing_categories"]) == 16
    assert summary.strict["normal"].value == 100.0


def test_languages_are_averaged_as_the_leaderboard_does() -> None:
    """One figure a language and their mean."""
    plan = [*_items("normal_atom_bool"), *_items("normal_atom_bool", language="zh")]
    verdicts = [_verdict(item, scored(1.0 if item[0].startswith("zh") else 0.0)) for item in plan]
    normal = summarize(plan, verdicts).compat["normal"]
    assert (50.0, 0.0, 100.0) == (normal.value, normal.groups["en"].value, normal.groups["zh"].value)


def test_differing_items_and_flags_are_listed() -> None:
    """Item by item with the reason."""
    plan = _items("normal_atom_bool", count=1)
    task = Task(id=plan[0][0], split=plan[0][1], data={}, flags=("truth-empty-value:x",))
    verdict = make_verdict(
        task, 0, metric="accuracy", compat=scored(1.0), strict=scored(0.0), cause="values-not-compared"
    )
    summary = summarize(plan, [verdict])
    assert [{"task": task.id, "flags": ["truth-empty-value:x"]}] == list(summary.flagged)
    (item,) = summary.differing
    assert (1.0, 0.0, "values-not-compared") == (item["compat"], item["strict"], item["difference"])


def _recomputes(row: Row) -> bool:
    """Tell whether Normal and Overall follow from the row's own parts, as far as one decimal can tell."""
    normal = official_mean(
        [row.atom / 100] * 6
        + [row.single / 100] * 2
        + [row.multi / 100] * 2
        + [row.similar / 100, row.preference / 100]
    )
    overall = official_overall(normal=row.normal / 100, special=row.special / 100, agent=row.agent / 100)
    return abs(100 * normal - row.normal) <= 0.16 and abs(100 * overall - row.overall) <= 0.16


def test_published_rows_recompute_but_for_two() -> None:
    """Every leaderboard row that is at hand: parts give Normal, Normal with the others gives Overall."""
    wrong = {(row.table, row.model) for row in PUBLISHED if not _recomputes(row)}
    assert {("zh", "Hammer2.1-7B"), ("zh", "Watt-Tool-8B")} == wrong
    assert len(PUBLISHED) == 66
