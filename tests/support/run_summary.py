"""What a run came to: planned, scored, unscored by reason, where answers came from, and the scores.

Counts are taken over the plan. An episode counts as scored when at least one metric has a value for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from replay.core.canonical import canonical_bytes
from replay.core.protocols import Benchmark, Summary
from replay.core.trajectory import CallStep, CompletionStep, NoteStep, Trajectory
from replay.core.types import Json, Provenance, Record, Verdict
from replay.engine.episode import MISS_NOTE
from replay.engine.plan import PlanItem
from replay.engine.roles import EpisodeVerdicts

__all__ = ["RunSummary", "collect_wants", "summarize_run"]

_NO_METRIC: Final = "no-metric"
"""Reason of an episode for which the benchmark gave no verdict at all."""

_PLACE: Final = frozenset({"task", "trial", "step", "used", "command"})
"""Where a miss was met: not a part of what is wanted."""


class RunSummary(Record, frozen=True, kw_only=True):
    """summary.json of a run directory."""

    benchmark: str
    planned: int
    scored: int
    unscored: dict[str, int]
    """Reason to number of episodes; `planned` is `scored` and these together."""
    stops: dict[str, int]
    """How episodes ended, to number."""
    provenance: dict[str, int]
    """Class of answer to number of answers of any kind."""
    answers: dict[str, dict[str, int]]
    """The same by kind: completions, calls, verdicts, outputs."""
    lookups: dict[str, int]
    """Lookup step (canonical, an alias label, world) to number of calls it answered."""
    scores: Summary


def summarize_run(
    benchmark: Benchmark,
    plan: Sequence[PlanItem],
    *,
    trajectories: Iterable[Trajectory],
    verdicts: Iterable[EpisodeVerdicts],
) -> RunSummary:
    """Aggregate a finished run. A pure function of its arguments; reads each episode once."""
    counts = _Counts()
    for trajectory in trajectories:
        counts.add_trajectory(trajectory)
    all_verdicts: list[Verdict] = []
    for episode in verdicts:
        counts.add_verdicts(episode)
        all_verdicts.extend(episode.verdicts)
    rows = [(item.task, item.split, item.trial) for item in plan]
    total: Counter[str] = Counter()
    for kind in counts.answers.values():
        total.update(kind)
    return RunSummary(
        benchmark=benchmark.name,
        planned=len(plan),
        scored=len(plan) - counts.unscored.total(),
        unscored=_sorted(counts.unscored),
        stops=_sorted(counts.stops),
        provenance=_sorted(total),
        answers={kind: _sorted(found) for kind, found in sorted(counts.answers.items())},
        lookups=_sorted(counts.lookups),
        scores=benchmark.summarize(rows, all_verdicts),
    )


def collect_wants(trajectories: Iterable[Trajectory]) -> tuple[Json, ...]:
    """List what a connected site should record: every miss once, with the episodes that met it."""
    wants: dict[bytes, tuple[Json, list[Json]]] = {}
    for trajectory in trajectories:
        for step in trajectory.steps:
            if isinstance(step, NoteStep) and step.name == MISS_NOTE and isinstance(step.data, dict):
                want = {name: value for name, value in step.data.items() if name not in _PLACE}
                met = wants.setdefault(canonical_bytes(want), (want, []))[1]
                met.append({"task": trajectory.task, "trial": trajectory.trial})
    return tuple({**want, "met": met} for want, met in wants.values())


class _Counts:
    """Counters over all episodes."""

    def __init__(self) -> None:
        self.unscored: Counter[str] = Counter()
        self.stops: Counter[str] = Counter()
        self.lookups: Counter[str] = Counter()
        self.answers: dict[str, Counter[str]] = {
            kind: Counter() for kind in ("completions", "calls", "verdicts", "outputs")
        }

    def add_trajectory(self, trajectory: Trajectory) -> None:
        self.stops[trajectory.stop] += 1
        for step in trajectory.steps:
            if isinstance(step, CompletionStep):
                self.answers["completions"][step.completion.provenance] += 1
            elif isinstance(step, CallStep):
                self.answers["calls"][step.result.provenance] += 1
                self.lookups[step.result.lookup or "rule"] += 1
            elif step.name == "output":
                self.answers["outputs"][Provenance.IMPORTED] += 1

    def add_verdicts(self, episode: EpisodeVerdicts) -> None:
        for judged in episode.judged:
            if judged.provenance is not None:
                self.answers["verdicts"][judged.provenance] += 1
        scores = [score for verdict in episode.verdicts for score in (verdict.compat, verdict.strict)]
        if any(score.value is not None for score in scores):
            return
        reasons = [score.unscored for score in scores if score.unscored]
        self.unscored[reasons[0] if reasons else _NO_METRIC] += 1


def _sorted(counter: Counter[str]) -> dict[str, int]:
    return {str(name): counter[name] for name in sorted(counter)}
