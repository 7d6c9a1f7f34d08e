"""One run from a request to its root: archive, plan, workers, run directory, summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

import msgspec
from msgspec.structs import replace

from replay import __version__
from replay.benchmarks.registry import get_benchmark, get_library_versions
from replay.core.canonical import digest
from replay.core.costs import Cost, sum_costs
from replay.core.errors import DivergedError, NetworkBlockedError, UsageError
from replay.core.keys import RECIPE_VERSION
from replay.core.network import NetworkGuard
from replay.core.protocols import Settings
from replay.core.types import Json, Record
from replay.engine.plan import PlanItem, digest_plan, make_plan
from replay.engine.rundir.manifest import RunInputs, RunManifest
from replay.engine.rundir.reading import load_run
from replay.engine.rundir.writing import RunFolder
from replay.engine.runner import Progress, run_plan
from replay.wiring.casting import cast_answers, cast_candidate, describe_makers
from replay.wiring.library import Library, LibraryPaths, find_archive, locate_stores, open_library
from replay.wiring.modes import STRICT
from replay.wiring.overlays import OVERLAY, digest_overlay, open_sink
from replay.wiring.requests import RunRequest
from replay.wiring.sources import MODEL, REMOTE, CandidatePlan, identify_makers, models_in_use
from replay.wiring.summaries import RunSummary, summarize_run
from replay.wiring.upstreams import JOURNAL
from replay.wiring.workers import WorkPlan, read_reference, worker_spec

__all__ = ["Prepared", "RunReport", "RunRequest", "execute_run", "prepare_run"]


class Prepared(Record, frozen=True, kw_only=True):
    """A request made definite: everything that the run is a function of."""

    library: LibraryPaths
    work: WorkPlan
    plan: tuple[PlanItem, ...]
    manifest: RunManifest
    out: str


class RunReport(Record, frozen=True, kw_only=True):
    """What came out."""

    out: str
    manifest: RunManifest
    summary: RunSummary
    cost: dict[str, Cost] = msgspec.field(default_factory=dict)
    """What local models cost over the whole run, by the part that asked; differs from run to run."""
    recorded: dict[str, int]
    """Snapshots that this command wrote to the run's overlay: new, same, or conflict (the first was kept)."""
    kept: int = 0
    """Episodes that an earlier command of the same request had finished."""

    @property
    def has_recorded(self) -> bool:
        """True when the run has written something, be it before it was stopped and gone on with."""
        return (Path(self.out) / OVERLAY).exists()

    def to_json(self) -> dict[str, Json]:
        """The document of `run --json`."""
        roots, guard = self.manifest.roots, self.manifest.guard
        return {
            "run_root": None if roots is None else roots.run_root,
            **msgspec.to_builtins(self.summary),
            "archives": dict(self.manifest.inputs.archives),
            "network_attempts": None if guard is None else guard.network_attempts,
            "roots": None if roots is None else msgspec.to_builtins(roots),
            "recorded": self.recorded,
            "cost": msgspec.to_builtins(self.cost),
        }

    def check(self, *, expect_root: str = "") -> None:
        """Raise NetworkBlockedError for a void run, DivergedError for another root than the expected one."""
        roots, guard = self.manifest.roots, self.manifest.guard
        if guard is not None and guard.network_attempts:
            raise NetworkBlockedError(
                f"{guard.network_attempts} calls reached for the network; the run is void",
                where=self.out,
                expected="an offline run",
                next_step="the episodes that stopped as network-blocked: replay explain RUN TASK",
            )
        found = "none" if roots is None else roots.run_root
        if expect_root and found != expect_root:
            raise DivergedError(
                f"run root {found}",
                where=self.out,
                expected=expect_root,
                next_step="replay compare THIS_RUN THE_RECORDED_RUN names the first differing step",
            )


def execute_run(request: RunRequest, *, progress: Callable[[Progress], None] | None = None) -> RunReport:
    """Run a request to its end, or go on where an earlier run of the same request stopped.

    Errors:  those of opening archives and of the run directory, which can be resumed whatever happens.
    """
    prepared = prepare_run(request)
    with RunFolder(Path(prepared.out), prepared.manifest, prepared.plan) as folder:
        kept = folder.done
        with ExitStack() as stack:
            if request.modes.is_offline:
                stack.enter_context(NetworkGuard())
            sink = stack.enter_context(open_sink(Path(prepared.out)))
            run_plan(
                prepared.plan,
                folder,
                worker_spec(prepared.work),
                jobs=request.jobs,
                sink=sink.write,
                progress=progress,
            )
            sink.describe(describe_makers(prepared.work.answers, prepared.work.settings))
        benchmark = get_benchmark(prepared.library.benchmark)
        candidate = prepared.work.answers.candidate.name
        run = load_run(Path(prepared.out))
        summary = summarize_run(benchmark, run, prepared.plan, candidate=candidate)
        manifest = folder.finish(msgspec.to_builtins(summary))
    recorded = dict(sorted(sink.outcomes.items()))
    cost = sum_costs(timing.costs for timing in run.timings())
    return RunReport(
        out=prepared.out, manifest=manifest, summary=summary, recorded=recorded, cost=cost, kept=kept
    )


def prepare_run(request: RunRequest) -> Prepared:
    """Open the archive, fill in what the request left out, and fix plan, seeds and inputs.

    Nothing is written: whatever is wrong with a request is found before there is a run directory.
    """
    _refuse_contradictions(request)
    home = Path(request.home) if request.home else None
    paths, _ = locate_stores(
        find_archive(request.archive), home=home, bases=[Path(base) for base in request.bases]
    )
    with open_library(paths) as library:
        benchmark = get_benchmark(paths.benchmark)
        candidate = cast_candidate(request, benchmark, library)
        settings = benchmark.check_settings(_settings(request, library, candidate))
        read_reference(benchmark, library, settings.reference)
        plan = make_plan(
            library.tasks(),
            benchmark=paths.benchmark,
            seed=settings.seed,
            trials=request.trials,
            select=request.select,
            limit=request.limit,
        )
        work = WorkPlan(
            library=paths,
            settings=settings,
            overlay=request.overlay,
            answers=cast_answers(request, library, candidate=candidate, settings=settings),
        )
        manifest = _manifest(request, work, plan, _archives(library, request.overlay))
    out = request.out or _default_out(paths, manifest)
    return Prepared(library=paths, work=_journaled(work, out), plan=plan, manifest=manifest, out=out)


def _journaled(work: WorkPlan, out: str) -> WorkPlan:
    """Keep what live upstreams say in the run's own folder."""
    live = work.answers.upstreams
    if live is None:
        return work
    kept = replace(live, journal=str(Path(out) / JOURNAL))
    return replace(work, answers=replace(work.answers, upstreams=kept))


def _refuse_contradictions(request: RunRequest) -> None:
    """Refuse options that cannot hold together. Errors: UsageError."""
    if request.fresh and request.modes == STRICT:
        raise UsageError(
            "a strict run computes nothing",
            where="--fresh",
            expected="--mode replay",
            next_step="leave out --fresh to read the recorded answers",
        )
    if request.overlay and request.modes == STRICT:
        raise UsageError(
            "a strict run reads no overlay",
            where=f"--overlay {request.overlay}",
            expected="--mode replay or --mode record",
            next_step="to read it strictly, freeze it as a layer first: replay archive freeze --help",
        )


def _settings(request: RunRequest, library: Library, candidate: CandidatePlan) -> Settings:
    """What was recorded with the candidate, overridden by what the user named.

    A model that answers itself takes the benchmark's own: bounds that another run had are not its bounds.
    """
    row = None if candidate.kind in {MODEL, REMOTE} else library.candidates().get(candidate.name)
    base = Settings() if row is None or row.identity != candidate.identity else row.settings
    merged = {**(base.options or {}), **request.options}
    return replace(
        base,
        protocol=request.protocol or base.protocol,
        rules=request.rules or base.rules,
        judge_runs=base.judge_runs if request.judge_runs is None else request.judge_runs,
        reference=request.reference or base.reference,
        seed=base.seed if request.seed is None else request.seed,
        options=merged or None,
    )


def _archives(library: Library, overlay: str) -> dict[str, str]:
    archives = {library.paths.name: str(library.paths.root)}
    if overlay:
        archives[OVERLAY] = digest_overlay(Path(overlay))
    return archives


def _manifest(
    request: RunRequest, work: WorkPlan, plan: tuple[PlanItem, ...], archives: dict[str, str]
) -> RunManifest:
    models: dict[str, Json] = {"candidate": work.answers.candidate.identity}
    if work.answers.judge is not None:
        models["judge"] = work.answers.judge
    models |= identify_makers(work.answers)
    return RunManifest(
        inputs=RunInputs(
            benchmark=work.answers.benchmark,
            archives=archives,
            models=models,
            settings=work.settings,
            trials=request.trials,
            plan=digest_plan(plan),
            planned=len(plan),
            recipe_version=RECIPE_VERSION,
            fingerprint=_fingerprints(models) or None,
            extra={"without": sorted(request.without)} if request.without else None,
        ),
        conditions=_conditions(request, work),
    )


def _fingerprints(models: Mapping[str, Json]) -> dict[str, Json]:
    """Numeric fingerprints of local models: of this machine, or of the one that made recorded answers."""
    bare = [
        identity["model"] if isinstance(identity.get("model"), dict) else identity
        for identity in models.values()
        if isinstance(identity, dict)
    ]
    return {str(model.get("model")): model["fingerprint"] for model in bare if "fingerprint" in model}


def _conditions(request: RunRequest, work: WorkPlan) -> dict[str, Json]:
    conditions = {"modes": msgspec.to_builtins(request.modes), "program": __version__}
    conditions |= {"fresh": True} if request.fresh else {}
    libraries = get_library_versions(work.answers.benchmark)
    conditions |= {"libraries": libraries} if libraries else {}
    unpinned = sorted({model.name for model in models_in_use(work.answers) if model.is_unpinned})
    # A run that no pinned build made says so for good: on another machine it may not come out again.
    return conditions | ({"unpinned": unpinned} if unpinned else {})


def _default_out(paths: LibraryPaths, manifest: RunManifest) -> str:
    """Name a run directory after what goes in, so that the same command finds its own run again."""
    asked = digest("run-name", [msgspec.to_builtins(manifest.inputs), manifest.conditions])
    return str(Path("runs") / f"{paths.name}-{asked.removeprefix('sha256:')[:12]}")
