"""The plan is a function of the tasks and of what was asked for."""

from __future__ import annotations

import pytest

from replay.core.determinism import derive_seed
from replay.core.errors import InputError
from replay.core.types import Json
from replay.engine.plan import PlanItem, digest_plan, make_plan
from tests.support.demo_run import demo_tasks


def plan_ids(**asked: Json) -> list[str]:
    """Ids of a plan over six tasks."""
    return [item.task for item in make_plan(demo_tasks(6), benchmark="squares", **asked)]


def test_trials_of_a_task_follow_one_another() -> None:
    """Task by task in archive order, trial by trial."""
    plan = make_plan(demo_tasks(2), benchmark="squares", trials=2)
    assert [("t0", 0), ("t0", 1), ("t1", 0), ("t1", 1)] == [(item.task, item.trial) for item in plan]


def test_seeds_come_from_names() -> None:
    """A seed depends on run seed, benchmark, task and trial; never on the place in the plan."""
    (item,) = make_plan(demo_tasks(6), benchmark="squares", seed=7, select=["t5"])
    assert PlanItem(task="t5", split="odd", trial=0, seed=derive_seed(7, "squares", "t5", 0)) == item


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        (["t3"], ["t3"]),
        (["odd"], ["t1", "t3", "t5"]),
        (["even/*"], ["t0", "t2", "t4"]),
        (["odd/t[13]"], ["t1", "t3"]),
        (["t5", "t0"], ["t0", "t5"]),
        ([], ["t0", "t1", "t2", "t3", "t4", "t5"]),
    ],
)
def test_globs_select_by_id_split_or_both(select: list[str], expected: list[str]) -> None:
    """What is selected keeps the archive's order."""
    assert expected == plan_ids(select=select)


def test_limit_counts_selected_tasks() -> None:
    """The first two of what was selected."""
    assert ["t1", "t3"] == plan_ids(select=["odd"], limit=2)


def test_limit_counts_tasks_not_trials() -> None:
    """A limited task keeps all its trials."""
    assert ["t0", "t0"] == plan_ids(limit=1, trials=2)


def test_nothing_selected_is_an_error_with_the_splits() -> None:
    """A glob that matches nothing names what there is."""
    with pytest.raises(InputError, match=r"no task matches 'evn'.*splits even, odd.*did you mean even"):
        plan_ids(select=["evn"])


def test_an_archive_without_tasks_is_an_error() -> None:
    """An empty plan is no run."""
    with pytest.raises(InputError, match="no tasks to run"):
        make_plan((), benchmark="squares")


@pytest.mark.parametrize("asked", [{"limit": 0}, {"trials": 0}, {"limit": -1}])
def test_less_than_one_is_refused(asked: dict[str, int]) -> None:
    """Zero trials or tasks are a mistake."""
    with pytest.raises(InputError, match="expected 1 or more"):
        plan_ids(**asked)


def test_any_change_of_the_plan_changes_its_digest() -> None:
    """Selection, limit, trials and seed are in the digest."""
    plans = [
        make_plan(demo_tasks(4), benchmark="squares"),
        make_plan(demo_tasks(4), benchmark="squares", limit=3),
        make_plan(demo_tasks(4), benchmark="squares", trials=2),
        make_plan(demo_tasks(4), benchmark="squares", seed=1),
        make_plan(demo_tasks(4), benchmark="other"),
    ]
    assert len(plans) == len({digest_plan(plan) for plan in plans})
