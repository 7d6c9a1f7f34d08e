"""The fixed plan of a run: which trials of which tasks, in which order, with which seeds.

The plan is the denominator of every score. It depends on the archive and on what was asked for, never on the
number of workers or on what has been done already.
"""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Iterable

import msgspec

from replay.core.canonical import digest
from replay.core.determinism import derive_seed
from replay.core.errors import InputError
from replay.core.types import Digest, Record, Task

__all__ = ["PlanItem", "digest_plan", "is_selected", "make_plan"]


class PlanItem(Record, frozen=True, kw_only=True):
    """One episode to run."""

    task: str
    split: str
    trial: int
    seed: int
    """Derived from run seed, benchmark, task and trial."""


def make_plan(
    tasks: Iterable[Task],
    *,
    benchmark: str,
    seed: int = 0,
    trials: int = 1,
    select: Iterable[str] = (),
    limit: int | None = None,
) -> tuple[PlanItem, ...]:
    """Plan every trial of the selected tasks, in the order in which the tasks are given.

    select: globs over a task's id, its split, or `split/id`; none selects everything.
    limit: at most so many tasks, counted after selection.

    Errors:  InputError when nothing is selected, or when trials or limit are below 1.
    """
    for name, number in (("trials", trials), ("limit", 1 if limit is None else limit)):
        if number < 1:
            raise InputError(f"{name} {number}", expected="1 or more")
    globs = tuple(select)
    known = tuple(tasks)
    chosen = [task for task in known if is_selected(task, globs)]
    if not chosen:
        raise _nothing_selected(known, globs)
    return tuple(
        PlanItem(
            task=task.id, split=task.split, trial=trial, seed=derive_seed(seed, benchmark, task.id, trial)
        )
        for task in chosen[:limit]
        for trial in range(trials)
    )


def is_selected(task: Task, globs: Iterable[str]) -> bool:
    """Tell whether a task matches one of the globs; with none given every task does."""
    patterns = tuple(globs)
    names = (task.id, task.split, f"{task.split}/{task.id}")
    return not patterns or any(fnmatch.fnmatchcase(name, glob) for glob in patterns for name in names)


def digest_plan(plan: Iterable[PlanItem]) -> Digest:
    """Digest of a plan: tasks, splits, trials and seeds in order."""
    return digest("plan", msgspec.to_builtins(tuple(plan)))


def _nothing_selected(tasks: tuple[Task, ...], globs: tuple[str, ...]) -> InputError:
    if not tasks:
        return InputError("there are no tasks to run", expected="an archive with at least one task")
    splits = sorted({task.split for task in tasks})
    names = sorted({task.id for task in tasks} | set(splits))
    near = sorted({name for glob in globs for name in difflib.get_close_matches(glob, names, n=3)})
    return InputError(
        f"no task matches {', '.join(repr(glob) for glob in globs)}",
        expected=f"a glob over task ids, `split/id` or the splits {', '.join(splits[:20])}",
        next_step=f"did you mean {', '.join(near)}?" if near else "",
    )
