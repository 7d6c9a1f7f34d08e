"""Scores what another harness produced, item by item, without a run directory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from replay.benchmarks.registry import get_benchmark, get_case_scorer
from replay.core.errors import InputError
from replay.core.types import Json, Record
from replay.engine.roles import EpisodeVerdicts
from replay.engine.worker import EpisodeResult
from replay.wiring.library import LibraryPaths, find_archive, locate_stores, open_library
from replay.wiring.runs import Prepared, RunRequest, prepare_run
from replay.wiring.summaries import RunSummary, summarize_episodes
from replay.wiring.workers import make_output_worker

__all__ = ["Scored", "item_line", "score_case_file", "score_outputs"]


class Scored(Record, frozen=True, kw_only=True):
    """All items and what they come to."""

    items: tuple[EpisodeVerdicts, ...]
    summary: RunSummary
    archives: dict[str, str]


def score_outputs(
    request: RunRequest, *, benchmark: str, each: Callable[[EpisodeVerdicts, int, int], None] | None = None
) -> Scored:
    """Score every planned item of a request whose candidate is a set of outputs.

    Errors:  InputError when the archive is of another benchmark, when outputs cannot be read, or when the
             candidate is none of outputs.
    """
    made = get_benchmark(benchmark)
    _locate(request, benchmark)
    prepared = prepare_run(request)
    results = tuple(_score(prepared, each))
    episodes = tuple(result.verdicts for result in results)
    candidate = prepared.work.answers.candidate.name
    summary = summarize_episodes(
        made,
        prepared.plan,
        episodes,
        candidate=candidate,
        trajectories=lambda: iter(result.trajectory for result in results),
    )
    return Scored(items=episodes, summary=summary, archives=dict(prepared.manifest.inputs.archives))


def score_case_file(request: RunRequest, outputs: Path, *, benchmark: str) -> tuple[Json, ...] | None:
    """Score a file of single cases, one JSON object a line and the counts last; None when it holds none.

    Errors:  InputError when the archive is of another benchmark or the file cannot be read.
    """
    scorer = get_case_scorer(benchmark)
    if scorer is None or not outputs.is_file():
        return None
    paths = _locate(request, benchmark)
    with open_library(paths) as library:
        cases = scorer.score_cases(outputs, {task.id: task for task in library.tasks()})
        if cases is None:
            return None
        lines = tuple(cases)
    told = [line["agrees"] for line in lines if "agrees" in line]
    counts = {
        "summary": True,
        "archives": {paths.name: str(paths.root)},
        "cases": len(lines),
        "with_expected_verdict": len(told),
        "agree": sum(told),
        "disagree": [line["line"] for line in lines if line.get("agrees") is False],
        "cannot_be_scored": [line["line"] for line in lines if "error" in line],
    }
    return (*lines, counts)


def _locate(request: RunRequest, benchmark: str) -> LibraryPaths:
    """Find the stores of a request's archive. Errors: InputError when it is of another benchmark."""
    home = Path(request.home) if request.home else None
    paths, _ = locate_stores(
        find_archive(request.archive), home=home, bases=[Path(base) for base in request.bases]
    )
    if benchmark != paths.benchmark:
        raise InputError(
            f"archive {paths.name!r} is of benchmark {paths.benchmark!r}",
            expected=f"an archive of {benchmark!r}",
            next_step=f"replay score {paths.benchmark} ...",
        )
    return paths


def item_line(episode: EpisodeVerdicts, benchmark: str) -> dict[str, Json]:
    """One JSON line of `replay score --json`: id, compat and strict by metric."""
    sides: dict[str, dict[str, Json]] = {"compat": {}, "strict": {}}
    for verdict in episode.verdicts:
        sides["compat"][verdict.metric] = _score_json(verdict.compat)
        sides["strict"][verdict.metric] = _score_json(verdict.strict)
    differs = {v.metric: v.differs for v in episode.verdicts if v.differs}
    flags = sorted({flag for verdict in episode.verdicts for flag in verdict.flags})
    return {
        "id": episode.task,
        "benchmark": benchmark,
        "split": episode.split,
        "trial": episode.trial,
        **sides,
        "differs": differs,
        "flags": flags,
    }


def _score(
    prepared: Prepared, each: Callable[[EpisodeVerdicts, int, int], None] | None
) -> Iterator[EpisodeResult]:
    kind = prepared.work.answers.candidate.kind
    if kind != "outputs":
        raise InputError(
            f"candidate {prepared.work.answers.candidate.name!r} has no outputs to score",
            expected="--outputs PATH, or a candidate whose outputs are in the archive",
            next_step="play it with: replay run",
        )
    worker = make_output_worker(msgspec.to_builtins(prepared.work))
    try:
        for done, item in enumerate(prepared.plan, start=1):
            result = worker.run(item)
            if each is not None:
                each(result.verdicts, done, len(prepared.plan))
            yield result
    finally:
        worker.close()


def _score_json(score: Json) -> Json:
    plain = msgspec.to_builtins(score)
    return {name: value for name, value in plain.items() if name == "value" or value not in (None, "", [], 0)}
