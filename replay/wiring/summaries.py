"""What a run comes to: scores with their denominators, provenance, what was not scored and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import msgspec

from replay.core.protocols import Benchmark, Metric, Summary
from replay.core.trajectory import CallStep, Trajectory
from replay.core.types import Json, Record, Verdict
from replay.engine.plan import PlanItem
from replay.engine.roles import EpisodeVerdicts
from replay.engine.rundir.reading import Run
from replay.evaluate.provenance import count_provenance

__all__ = ["RunSummary", "score_json", "summarize_episodes", "summarize_run", "summarize_verdicts"]


class RunSummary(Record, frozen=True, kw_only=True):
    """summary.json of a run directory; hashed into the run root."""

    benchmark: str
    candidate: str
    planned: int
    scored: int
    """Episodes whose first metric has a score (strict)."""
    unscored: dict[str, int]
    """Reason to count; together with `scored` it makes `planned`."""
    scores: dict[str, dict[str, Json]]
    """compat and strict: metric name to value, n, interval and groups."""
    provenance: dict[str, int]
    """Answers by class over tools, models and judge."""
    provenance_by_boundary: dict[str, dict[str, int]]
    lookups: dict[str, int]
    """Tool answers by the lookup step that found them."""
    stops: dict[str, int]
    differing: tuple[Json, ...]
    """Items on which compat and strict disagree, with the id of the known difference."""
    flagged: tuple[Json, ...]
    """Tasks with data errors."""


def summarize_run(
    benchmark: Benchmark, run: Run, plan: tuple[PlanItem, ...], *, candidate: str
) -> RunSummary:
    """Summarise the episodes of a run directory over its whole plan."""
    return summarize_episodes(
        benchmark, plan, tuple(run.verdicts()), candidate=candidate, trajectories=run.trajectories
    )


def summarize_episodes(
    benchmark: Benchmark,
    plan: tuple[PlanItem, ...],
    episodes: tuple[EpisodeVerdicts, ...],
    *,
    candidate: str,
    trajectories: Callable[[], Iterator[Trajectory]],
) -> RunSummary:
    """Summarise scored episodes; `trajectories` is called as often as they are looked through."""
    verdicts = [verdict for episode in episodes for verdict in episode.verdicts]
    summary = summarize_verdicts(benchmark, plan, verdicts)
    reasons = Counter(filter(None, (_unscored(episode) for episode in episodes)))
    counts = count_provenance(trajectories())
    judged = Counter(
        str(item.provenance) for episode in episodes for item in episode.judged if item.provenance
    )
    if judged:
        counts["judge"] = dict(sorted(judged.items()))
    stops, lookups = _count_steps(trajectories())
    return RunSummary(
        benchmark=benchmark.name,
        candidate=candidate,
        planned=len(plan),
        scored=len(episodes) - sum(reasons.values()),
        unscored=dict(sorted(reasons.items())),
        scores={
            side: {name: score_json(metric) for name, metric in metrics.items()}
            for side, metrics in (("compat", summary.compat), ("strict", summary.strict))
        },
        provenance=_total(counts),
        provenance_by_boundary=counts,
        lookups=lookups,
        stops=stops,
        differing=tuple(msgspec.to_builtins(item) for item in summary.differing),
        flagged=tuple(msgspec.to_builtins(item) for item in summary.flagged),
    )


def summarize_verdicts(
    benchmark: Benchmark, plan: tuple[PlanItem, ...], verdicts: Iterable[Verdict]
) -> Summary:
    """Aggregate verdicts over a plan."""
    return benchmark.summarize([(item.task, item.split, item.trial) for item in plan], verdicts)


def score_json(metric: Metric) -> Json:
    """One score as `--json` shows it: value, std where there is one, n, interval, groups."""
    shown: dict[str, Json] = {"value": metric.value}
    if metric.std is not None:
        shown["std"] = metric.std
    shown |= {
        "n": metric.n,
        "planned": metric.planned,
        "missing": metric.missing,
        "abstained": metric.abstained,
        "interval": None if metric.interval is None else list(metric.interval),
    }
    if metric.detail is not None:
        shown["detail"] = metric.detail
    if metric.groups:
        shown["groups"] = {name: score_json(group) for name, group in metric.groups.items()}
    return shown


def _count_steps(trajectories: Iterable[Trajectory]) -> tuple[dict[str, int], dict[str, int]]:
    stops: Counter[str] = Counter()
    lookups: Counter[str] = Counter()
    for trajectory in trajectories:
        stops[trajectory.stop] += 1
        results = (step.result for step in trajectory.steps if isinstance(step, CallStep))
        lookups.update(result.lookup for result in results if result.lookup)
    return dict(sorted(stops.items())), dict(sorted(lookups.items()))


def _unscored(episode: EpisodeVerdicts) -> str:
    """Why an episode has no score: the reason of its first metric, or none."""
    if not episode.verdicts:
        return "no-verdict"
    first = episode.verdicts[0].strict
    return "" if first.value is not None else first.unscored


def _total(counts: dict[str, dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for by_class in counts.values():
        total.update(by_class)
    return dict(sorted(total.items()))
