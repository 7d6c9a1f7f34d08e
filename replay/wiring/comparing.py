"""Two runs side by side: where they first part, which verdicts changed, what that does to the metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from replay.benchmarks.registry import get_pool_rules
from replay.core.errors import InputError
from replay.core.trajectory import Trajectory, find_difference
from replay.core.types import Json, Record, Verdict
from replay.engine.rundir.manifest import name_differences
from replay.engine.rundir.reading import Run, load_run
from replay.evaluate.paired import PairedComparison, compare_paired, scores_by_item

__all__ = ["Comparison", "compare_runs"]

_SHOWN = 20


class Parted(Record, frozen=True, kw_only=True):
    """Where the two trajectories of one episode part."""

    task: str
    trial: int
    step: int | None
    """None when the steps are equal and only the end differs."""
    path: str = ""
    left: Json = None
    right: Json = None


class ChangedVerdict(Record, frozen=True, kw_only=True):
    """One verdict that is another one in the other run."""

    task: str
    trial: int
    metric: str
    side: str
    left: float | None
    right: float | None
    left_unscored: str = ""
    right_unscored: str = ""


class Comparison(Record, frozen=True, kw_only=True):
    """Everything in which two runs differ."""

    left_root: str
    right_root: str
    same_content: bool
    """True when trajectories, verdicts and summary are equal to the bit, whatever the inputs were."""
    inputs: tuple[str, ...]
    """Inputs that differ, by path."""
    only_left: tuple[str, ...]
    only_right: tuple[str, ...]
    diverged: tuple[Parted, ...]
    changed: tuple[ChangedVerdict, ...]
    deltas: dict[str, dict[str, PairedComparison]]
    """compat and strict: metric to the paired comparison on shared items."""

    @property
    def is_same(self) -> bool:
        """True when the two runs have one root."""
        return self.left_root == self.right_root

    def to_json(self) -> dict[str, Json]:
        """The document of `compare --json`."""
        return {"same": self.is_same, **msgspec.to_builtins(self)}

    def lines(self) -> Iterator[str]:
        """The comparison as lines of text."""
        for difference in self.inputs:
            yield f"input differs  {difference}"
        for side, items in (("left", self.only_left), ("right", self.only_right)):
            if items:
                yield f"only in {side}: {len(items)} episodes, the first {items[0]}"
        for parted in self.diverged[:_SHOWN]:
            at = f"{'its end' if parted.step is None else f'step {parted.step}'} at {parted.path}"
            yield f"task {parted.task} trial {parted.trial} first differs in {at}"
        if len(self.diverged) > _SHOWN:
            yield f"and {len(self.diverged) - _SHOWN} more episodes differ"
        for change in self.changed[:_SHOWN]:
            left, right = (
                _shown(change.left, change.left_unscored),
                _shown(change.right, change.right_unscored),
            )
            where = f"{change.metric} ({change.side}) task {change.task} trial {change.trial}"
            yield f"verdict {where}: {left} -> {right}"
        if len(self.changed) > _SHOWN:
            yield f"and {len(self.changed) - _SHOWN} more verdicts changed"
        for side, metrics in self.deltas.items():
            for metric, delta in metrics.items():
                yield f"{metric} ({side}) {_delta(delta)}"
        yield from self._conclusion()

    def _conclusion(self) -> Iterator[str]:
        if self.same_content and not self.is_same:
            yield "every step, verdict and score is the same: the roots differ by the runs' inputs alone"
        yield "same run root" if self.is_same else "different run roots"


def compare_runs(left_path: Path, right_path: Path) -> Comparison:
    """Compare two run directories of one benchmark.

    Errors:  InputError when they are runs of different benchmarks, or when the benchmark's figures of the
             two runs may not be compared.
    """
    left, right = load_run(left_path), load_run(right_path)
    names = (left.manifest.inputs.benchmark, right.manifest.inputs.benchmark)
    if names[0] != names[1]:
        raise InputError(f"runs of {names[0]!r} and {names[1]!r}", expected="two runs of one benchmark")
    ours, theirs = _episodes(left), _episodes(right)
    left_verdicts, right_verdicts = _verdicts(left), _verdicts(right)
    rules = get_pool_rules(names[0])
    if rules is not None:
        rules.check([*left_verdicts.values(), *right_verdicts.values()])
    return Comparison(
        left_root=_root(left),
        right_root=_root(right),
        same_content=_content(left) == _content(right) != (),
        inputs=tuple(name_differences(left.manifest, right.manifest, sides=("left", "right"))),
        only_left=_names(ours.keys() - theirs.keys()),
        only_right=_names(theirs.keys() - ours.keys()),
        diverged=tuple(_diverged(left, right)),
        changed=tuple(_changed(left_verdicts, right_verdicts)),
        deltas={
            side: dict(_deltas(left_verdicts.values(), right_verdicts.values(), side))
            for side in ("compat", "strict")
        },
    )


def _content(run: Run) -> tuple[str, ...]:
    roots = run.manifest.roots
    return () if roots is None else (roots.trajectories, roots.verdicts, roots.summary)


_Place = tuple[str, int]


def _episodes(run: Run) -> dict[_Place, str]:
    return {(t.task, t.trial): t.root for t in run.trajectories()}


def _diverged(left: Run, right: Run) -> Iterator[Parted]:
    """Pair the trajectories of both runs by task and trial, in the left run's order."""
    theirs = {(t.task, t.trial): t for t in right.trajectories()}
    for trajectory in left.trajectories():
        other = theirs.get((trajectory.task, trajectory.trial))
        if other is not None and other.root != trajectory.root:
            yield _find_parting(trajectory, other)


def _find_parting(left: Trajectory, right: Trajectory) -> Parted:
    found = find_difference(left, right)
    if found is None:
        return Parted(task=left.task, trial=left.trial, step=None, path="digests")
    at_end = found.index >= max(len(left.steps), len(right.steps))
    return Parted(
        task=left.task,
        trial=left.trial,
        step=None if at_end else found.index,
        path=found.path,
        left=found.left,
        right=found.right,
    )


def _verdicts(run: Run) -> dict[tuple[str, int, str], Verdict]:
    return {
        (verdict.task, verdict.trial, verdict.metric): verdict
        for episode in run.verdicts()
        for verdict in episode.verdicts
    }


def _changed(
    left: Mapping[tuple[str, int, str], Verdict], right: Mapping[tuple[str, int, str], Verdict]
) -> Iterator[ChangedVerdict]:
    for place, ours in left.items():
        theirs = right.get(place)
        if theirs is None:
            continue
        for side in ("compat", "strict"):
            a, b = getattr(ours, side), getattr(theirs, side)
            if (a.value, a.unscored) != (b.value, b.unscored):
                yield ChangedVerdict(
                    task=place[0],
                    trial=place[1],
                    metric=place[2],
                    side=side,
                    left=a.value,
                    right=b.value,
                    left_unscored=a.unscored,
                    right_unscored=b.unscored,
                )


def _deltas(
    left: Iterable[Verdict], right: Iterable[Verdict], side: str
) -> Iterator[tuple[str, PairedComparison]]:
    ours, theirs = list(left), list(right)
    for metric in sorted({verdict.metric for verdict in (*ours, *theirs)}):
        yield (
            metric,
            compare_paired(
                scores_by_item(ours, metric=metric, side=side),
                scores_by_item(theirs, metric=metric, side=side),
                name=metric,
            ),
        )


def _names(places: Iterable[_Place]) -> tuple[str, ...]:
    return tuple(f"{task} trial {trial}" for task, trial in sorted(places))


def _root(run: Run) -> str:
    return run.manifest.roots.run_root if run.manifest.roots is not None else "none (unfinished)"


def _shown(value: float | None, unscored: str) -> str:
    return f"unscored ({unscored})" if value is None else f"{value:.3f}"


def _delta(found: PairedComparison) -> str:
    if found.delta is None or found.left is None or found.right is None:
        return f"no shared items ({found.only_left} only left, {found.only_right} only right)"
    interval = "" if found.interval is None else f" [{found.interval[0]:+.3f}, {found.interval[1]:+.3f}]"
    return (
        f"{found.left:.3f} -> {found.right:.3f}, delta {found.delta:+.3f}{interval} on {found.n} shared "
        f"items, {found.better} better, {found.worse} worse, p = {found.p_value:.3f}"
    )
