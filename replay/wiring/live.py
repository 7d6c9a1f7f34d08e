"""The live part of the shipped runs: this machine's model answers again, and is held to what is frozen.

With the numeric fingerprint of the recording everything must come out again: each answer, and the run root.
With another one nothing is promised (DESIGN section 1): the frozen answers are served all the same, and how
far this machine's answers are from them is told, not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from replay.core.canonical import canonical_bytes
from replay.core.costs import Cost
from replay.core.determinism import Stopwatch
from replay.core.errors import DamagedError, DivergedError, ModelError
from replay.core.types import Completion, Json, Record, Snapshot, SnapshotKind
from replay.engine.rundir.reading import load_run
from replay.store.answers import read_completion
from replay.store.snapshots import SnapshotStore
from replay.wiring.asking import ask_again
from replay.wiring.casting import find_models
from replay.wiring.checking import served_keys
from replay.wiring.engines import ModelPool
from replay.wiring.library import locate_stores, open_library
from replay.wiring.modes import Modes
from replay.wiring.overlays import OVERLAY
from replay.wiring.places import shipped_folder
from replay.wiring.recomputing import completions_behind
from replay.wiring.requests import FINDER
from replay.wiring.roles import ModelPlan, ModelWish
from replay.wiring.runs import RunRequest, execute_run
from replay.wiring.shipped import ExpectedRun, Place, load_expected, request_of

__all__ = ["ANOTHER_FINGERPRINT", "SAME_FINGERPRINT", "LiveMachine", "LiveRun", "live_runs", "play_live"]

SAME_FINGERPRINT: Final = "same-fingerprint"
ANOTHER_FINGERPRINT: Final = "another-fingerprint"


class LiveMachine(Record, frozen=True, kw_only=True):
    """How this machine's models are found and used; changes nothing but the time."""

    finder: str = FINDER
    threads: int = 0


class LiveRun(Record, frozen=True, kw_only=True):
    """One shipped run, answered again."""

    expected: ExpectedRun
    state: str
    """same-fingerprint: all of it must come out again. another-fingerprint: nothing of it has to."""
    fingerprint: str
    """Of this machine."""
    recorded_fingerprint: str
    answers: int
    """Answers that a model gave: completions of candidate, simulator, user and judge."""
    equal: int
    """Of these, the ones that are the frozen ones."""
    tokens: int
    """Tokens of the frozen answers."""
    differing_tokens: int
    """Of these, the ones from an answer's first difference on."""
    run_root: str = ""
    """Empty with another fingerprint, where the run is not played."""
    simulated: int = 0
    """API answers that the model made up in the run."""
    cost: dict[str, Cost]
    seconds: float

    @property
    def ok(self) -> bool:
        """True unless what must come out again did not."""
        is_same = self.run_root == self.expected.run_root and self.equal == self.answers
        return is_same or self.state == ANOTHER_FINGERPRINT


def live_runs() -> tuple[tuple[ExpectedRun, Path], ...]:
    """Name the shipped runs that are played live, with their archives."""
    return tuple((run, shipped_folder() / run.archive) for run in load_expected() if run.is_live)


def play_live(
    runs: Iterable[tuple[ExpectedRun, Path]],
    place: Place,
    machine: LiveMachine,
    *,
    starting: Callable[[ExpectedRun], None],
) -> Iterator[LiveRun]:
    """Answer recorded runs again with the model of this machine, below `place.out`.

    Errors:  ModelError when the model or the pinned build is not here, or is another one; DivergedError when
             the recording was made with other prompts than this program's.
    """
    for number, (expected, archive) in enumerate(runs):
        starting(expected)
        name = f"live-{number:02d}-{archive.stem}-{expected.candidate}"
        yield _Answering(expected, archive, replace(place, out=place.out / name), machine).run()


class _Answering:
    """One shipped run on this machine."""

    def __init__(self, expected: ExpectedRun, archive: Path, place: Place, machine: LiveMachine) -> None:
        self._expected, self._archive, self._place, self._machine = expected, archive, place, machine
        # Open for a moment only: the run opens the same store itself.
        self._paths, _ = locate_stores(archive, home=place.home)
        with open_library(self._paths) as library:
            self._row = library.candidates()[expected.candidate]
        self._recorded = self._row.identity
        wish = ModelWish(home=place.home, jobs=place.jobs, threads=machine.threads)
        self._plan = find_models(machine.finder, wish)(expected.candidate)

    def run(self) -> LiveRun:
        """Play or ask, as far as this machine can be held to the recording."""
        _check_identity(self._plan, self._recorded, self._expected)
        watch = Stopwatch()
        request = request_of(self._expected, self._archive, self._place)
        is_same = canonical_bytes(self._plan.identity) == canonical_bytes(self._recorded)
        made = self._play(request) if is_same else self._ask(request)
        return replace(made, seconds=watch.elapsed_s())

    def _play(self, request: RunRequest) -> LiveRun:
        """Play the whole run again, under its recorded settings, and compare each answer, and the root."""
        settings = self._row.settings
        report = execute_run(
            replace(
                request,
                candidate=f"model:{request.candidate}",
                protocol=request.protocol or settings.protocol,
                rules=request.rules or settings.rules,
                seed=settings.seed if request.seed is None else request.seed,
                options={**(settings.options or {}), **request.options},
                user_model=_as_model(request.user_model),
                simulator_model=_as_model(request.simulator_model),
                judge_model=_as_model(request.judge_model),
                modes=Modes(),
                fresh=True,
                finder=self._machine.finder,
                threads=self._machine.threads,
            )
        )
        roots = report.manifest.roots
        with SnapshotStore.open_reader(Path(report.out) / OVERLAY) as overlay:
            answers = list(overlay.scan(SnapshotKind.COMPLETION))
        with open_library(self._paths) as library:
            frozen = [library.store.get(answer.key) for answer in answers]
        pairs = [(old, new) for old, new in zip(frozen, answers, strict=True) if old is not None]
        equal = sum(old.body == new.body for old, new in pairs)
        drift = self._count_tokens([(old, read_completion(new)) for old, new in pairs])
        return self._result(
            SAME_FINGERPRINT,
            counts=(len(answers), equal, *drift),
            run_root="" if roots is None else roots.run_root,
            simulated=report.summary.provenance.get("simulated", 0),
            cost=report.cost,
        )

    def _ask(self, request: RunRequest) -> LiveRun:
        """Serve the frozen run and ask for each of its answers again."""
        report = execute_run(request)
        keys = sorted(served_keys(load_run(Path(report.out))))
        with open_library(self._paths) as library:
            frozen = list(completions_behind(library.store, keys))
        pool = ModelPool()
        try:
            pairs = list(ask_again(frozen, self._plan, pool))
        finally:
            pool.close()
        equal = sum(_words(read_completion(old)) == _words(new) for old, new in pairs)
        return self._result(ANOTHER_FINGERPRINT, counts=(len(pairs), equal, *self._count_tokens(pairs)))

    def _count_tokens(self, pairs: list[tuple[Snapshot, Completion]]) -> tuple[int, int]:
        """Count the tokens of frozen answers, and those from the first difference on."""
        recorded = [(read_completion(old), new) for old, new in pairs]
        differing = [(old, new) for old, new in recorded if _words(old) != _words(new)]
        total = sum(old.completion_tokens for old, _ in recorded)
        if not differing:
            return total, 0
        pool = ModelPool()
        try:
            tokenize = pool.get(self._plan).voice().engine.tokenize
            texts = [(tokenize(_words(old)), tokenize(_words(new))) for old, new in differing]
            return total, sum(_count_lost(old, new) for old, new in texts)
        finally:
            pool.close()

    def _result(
        self,
        state: str,
        *,
        counts: tuple[int, int, int, int],
        run_root: str = "",
        simulated: int = 0,
        cost: dict[str, Cost] | None = None,
    ) -> LiveRun:
        answers, equal, tokens, differing = counts
        return LiveRun(
            expected=self._expected,
            state=state,
            fingerprint=str(_fingerprint(self._plan.identity)),
            recorded_fingerprint=str(_fingerprint(self._recorded)),
            answers=answers,
            equal=equal,
            tokens=tokens,
            differing_tokens=differing,
            run_root=run_root,
            simulated=simulated,
            cost=cost or {},
            seconds=0.0,
        )


def _check_identity(plan: ModelPlan, recorded: Json, expected: ExpectedRun) -> None:
    """Refuse another model, and a recording that this program's prompts do not fit."""
    ours = plan.identity
    if not isinstance(ours, dict) or not isinstance(recorded, dict):
        raise DamagedError("the recorded candidate is no local model", where=expected.archive)
    fields = {name for name in ours.keys() | recorded.keys() if ours.get(name) != recorded.get(name)}
    if "tensors" in fields:
        raise ModelError(
            f"the model {plan.name} here has other weights than the one that was recorded",
            where=f"tensors {ours.get('tensors')}",
            expected=str(recorded.get("tensors")),
            next_step=f"replay models fetch {plan.name}",
        )
    other = sorted(fields - {"fingerprint"})
    if other:
        raise DivergedError(
            f"the shipped answers of {plan.name} were recorded with another {', '.join(other)}",
            where=expected.archive,
            expected="the prompts of this version",
            next_step="install the version that the archive came with; a maintainer records again",
        )


def _as_model(name: str) -> str:
    return f"model:{name}" if name else ""


def _fingerprint(identity: Json) -> Json:
    return identity.get("fingerprint", "") if isinstance(identity, dict) else ""


def _count_lost(old: Sequence[int], new: Sequence[int]) -> int:
    """Tokens of `old` from its first difference on; one at least, where only the end differs."""
    kept = next((n for n, (ours, theirs) in enumerate(zip(old, new, strict=False)) if ours != theirs), None)
    return max(1, len(old) - (min(len(old), len(new)) if kept is None else kept))


def _words(completion: Completion) -> str:
    calls = (f"{call.name} {call.arguments}" for call in completion.tool_calls)
    return "\n".join((completion.content or "", *calls))
