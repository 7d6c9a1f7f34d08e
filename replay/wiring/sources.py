"""Who answers in a run: modes and settings become models, tools and judges (DESIGN section 4).

This is the one place where a mode is looked at. Below it there are only objects: a strict run has no overlay
to read, no simulator, no local model and no live source, because none was made.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from replay.core.costs import CostMeter
from replay.core.errors import InternalError, MissError, RecordMissError
from replay.core.keys import SIMULATED
from replay.core.protocols import ChatModel, ChatModelFactory, Judge, ToolSource
from replay.core.types import CallRequest, Digest, Json, Mode, Record, Role, SnapshotKind
from replay.engine.worker import Answerers
from replay.evaluate.judge import ModelJudge
from replay.llm.judges import JudgeChain, RecordedJudge, RecordingJudge
from replay.llm.local import LocalModel
from replay.llm.recorded import ChainedModels, RecordedModel, RecordingModels
from replay.llm.remote import AnsweringModel
from replay.llm.scripted import ScriptedCandidate
from replay.store.hiding import HidingStore, is_made_by_model, is_recorded_of
from replay.store.layers import LayeredStore
from replay.store.pending import PendingOverlay, SnapshotReader
from replay.tools.examples import ExampleBook
from replay.tools.keys import recipe_for
from replay.tools.misses import MissReporter
from replay.tools.recording import RecordingSource
from replay.tools.resolver import Resolver, SnapshotSource
from replay.tools.simulated import SimulatedAnswers, SimulatedSource, Simulator, SourceSimulator
from replay.tools.simulator import ModelSimulator, digest_documentation
from replay.wiring.engines import ModelPool
from replay.wiring.forms import api_form
from replay.wiring.modes import Modes
from replay.wiring.roles import ModelPlan, RemotePlan, RolePlan, UpstreamPlan
from replay.wiring.upstreams import open_upstreams

__all__ = [
    "JUDGE_MAKER",
    "AnswerPlan",
    "CandidatePlan",
    "episodes_at_once",
    "identify_makers",
    "keeps_candidate",
    "may_ask_models",
    "models_in_use",
    "open_answerers",
]

RECORDED: Final = "recorded"
SCRIPTED: Final = "scripted"
MODEL: Final = "model"
REMOTE: Final = "remote"

JUDGE_MAKER: Final = "judge-maker"
"""Name of a judge that can decide, among a run's models."""


class CandidatePlan(Record, frozen=True, kw_only=True):
    """Which agent is evaluated, as another process can make it again."""

    kind: str
    """recorded, scripted, outputs, model or remote."""
    name: str
    identity: Json
    path: str = ""
    """Script file or outputs folder; never hashed and never stored."""
    model: ModelPlan | None = None
    """The local model, for kind `model`."""
    remote: RemotePlan | None = None
    """The remote model, for kind `remote`."""


class AnswerPlan(Record, frozen=True, kw_only=True):
    """Everything that decides who answers; plain data that crosses to worker processes."""

    benchmark: str
    archive: str
    """Name shown in messages."""
    modes: Modes
    candidate: CandidatePlan
    judge: Json = None
    """Identity of the judge whose recorded verdicts are read; None when the archive has none."""
    live: str = ""
    """`module:function` that makes live tool sources; only looked at when tools are recorded."""
    upstreams: UpstreamPlan | None = None
    """Live upstreams of a file; opened when something is recorded from one."""
    simulator: str = ""
    """`module:function` that makes a simulator source; not looked at in a strict run."""
    judge_maker: str = ""
    """`module:function` that makes a judge which can decide; not looked at in a strict run."""
    keep_errors: bool = False
    without: tuple[str, ...] = ()
    """Globs of tools whose recorded answers are not served."""
    fresh: bool = False
    """Generated answers that are recorded are not read, so that models answer again."""
    user_model: RolePlan | None = None
    simulator_model: RolePlan | None = None
    judge_model: RolePlan | None = None
    """Models in these roles. A strict run reads what they said before and makes none of them."""
    seed: int = 0
    """The run's seed, from which simulator and judge derive theirs."""


def open_answerers(
    plan: AnswerPlan, frozen: LayeredStore, layered: LayeredStore, pool: ModelPool
) -> Callable[[], Answerers]:
    """Set up who answers in a worker and return how the answerers of one episode are made.

    frozen: the archives alone. layered: the archives and, where one is read, an overlay of an earlier run.
    pool: the local models of this process; each is loaded when something asks it.
    """
    return _Workshop(plan, frozen, layered, pool).open


def identify_makers(plan: AnswerPlan) -> dict[str, Json]:
    """Say who may answer beside candidate and recorded judge, for the inputs of a run.

    What makes new answers is nobody in a strict run; models in roles are named in every run, because what
    they said before is read by their identity.
    """
    tools = plan.modes.tools
    found: dict[str, Json] = {}
    if plan.live and tools is Mode.RECORD:
        found["live"] = {"maker": plan.live}
    if plan.upstreams is not None and tools is Mode.RECORD:
        found["upstreams"] = plan.upstreams.identity
    if plan.simulator and tools is not Mode.STRICT:
        found[SIMULATED] = {"maker": plan.simulator}
    if plan.judge_maker and plan.modes.judge is not Mode.STRICT:
        found[JUDGE_MAKER] = _make(plan.judge_maker, plan.benchmark).identity
    roles = {SIMULATED: plan.simulator_model, JUDGE_MAKER: plan.judge_model, Role.USER.value: plan.user_model}
    return found | {name: role.identity for name, role in roles.items() if role is not None}


def models_in_use(plan: AnswerPlan) -> tuple[ModelPlan, ...]:
    """List the local models that a run may ask: none in a strict one."""
    return tuple(_models(plan))


def may_ask_models(mode: Mode) -> bool:
    """Tell whether a local model may make new answers at a boundary of this mode."""
    return mode is not Mode.STRICT


def keeps_candidate(plan: AnswerPlan) -> bool:
    """Tell whether a run records what its candidate says: a local model always, a script in record mode."""
    mode, kind = plan.modes.candidate, plan.candidate.kind
    return may_ask_models(mode) if kind == MODEL else kind in {SCRIPTED, REMOTE} and mode is Mode.RECORD


def episodes_at_once(plan: AnswerPlan) -> int:
    """How many episodes a worker runs side by side: as many as its models or its upstreams take at once."""
    width = max((model.settings.sequences for model in _models(plan)), default=1)
    live = plan.upstreams if plan.modes.records else None
    return width if live is None else max(width, live.at_once // live.workers)


def _models(plan: AnswerPlan) -> Iterator[ModelPlan]:
    modes = plan.modes
    roles = (
        (modes.candidate, plan.candidate),
        (modes.user, plan.user_model),
        (modes.tools, plan.simulator_model),
        (modes.judge, plan.judge_model),
    )
    for mode, role in roles:
        if role is not None and role.model is not None and may_ask_models(mode):
            yield role.model


class _Workshop:
    """What all episodes of one worker share: nothing in it remembers an episode."""

    def __init__(
        self, plan: AnswerPlan, frozen: LayeredStore, layered: LayeredStore, pool: ModelPool
    ) -> None:
        self._plan = plan
        self._frozen = _view(frozen, plan)
        self._layered = _view(layered, plan)
        self._pool = pool
        self._recipe = recipe_for(plan.benchmark)
        self._reporter = _make_reporter(plan, frozen, self._frozen)
        self._form = api_form(plan.benchmark)
        self._examples = ExampleBook(self._frozen)
        # A script is a file of the user's: deterministic, offline, and so allowed in every mode.
        self._script = _load_script(plan.candidate.path if plan.candidate.kind == SCRIPTED else "")
        self._user_script = _load_script("" if plan.user_model is None else plan.user_model.script)
        tools, judge = plan.modes.tools, plan.modes.judge
        self._live = self._made(plan.live if tools is Mode.RECORD else "")
        self._upstreams = open_upstreams(
            plan.upstreams, plan.modes, plan.benchmark, keep_errors=plan.keep_errors
        )
        self._stand_in = self._made(plan.simulator if tools is not Mode.STRICT else "")
        self._decider = self._made(plan.judge_maker if judge is not Mode.STRICT else "")

    def open(self) -> Answerers:
        """Make the answerers of one episode."""
        pending, meter = PendingOverlay(self._layered), CostMeter()
        plan = self._plan
        chat: dict[Role, ChatModelFactory] = {Role.CANDIDATE: self._candidate(pending, meter)}
        if plan.user_model is not None:
            chat[Role.USER] = self._user(plan.user_model, pending, meter)
        return Answerers(
            chat=chat,
            tools=Resolver(self._tool_sources(pending, meter), self._recipe, self._reporter),
            judge=self._judge(pending, meter),
            drain=pending.drain,
            costs=meter.read,
        )

    def _made(self, maker: str) -> Any:
        return _make(maker, self._plan.benchmark) if maker else None

    def _readable(self, mode: Mode, pending: PendingOverlay) -> SnapshotReader:
        return self._frozen if mode is Mode.STRICT else pending

    def _candidate(self, pending: PendingOverlay, meter: CostMeter) -> ChatModelFactory:
        mode, candidate = self._plan.modes.candidate, self._plan.candidate
        if self._script is None:
            return self._chat(mode, candidate, pending, meter)
        return self._scripted(mode, self._script, pending)

    def _user(self, role: RolePlan, pending: PendingOverlay, meter: CostMeter) -> ChatModelFactory:
        mode = self._plan.modes.user
        if self._user_script is None:
            return self._chat(mode, role, pending, meter)
        return self._scripted(mode, self._user_script, pending)

    def _scripted(self, mode: Mode, script: ScriptedCandidate, pending: PendingOverlay) -> ChatModelFactory:
        if mode is not Mode.RECORD:
            return script
        recorder = RecordingModels(script, pending, keep_errors=self._plan.keep_errors)
        return ChainedModels(RecordedModel(pending, script.identity, archive=self._plan.archive), recorder)

    def _chat(
        self, mode: Mode, speaker: CandidatePlan | RolePlan, pending: PendingOverlay, meter: CostMeter
    ) -> ChainedModels | RecordedModel:
        """Recorded completions of a model and, where it may be asked, the model itself."""
        made_by = speaker.model or speaker.remote
        # A role adds prompt and seed to its own identity; what the model says is recorded under the model's.
        identity = speaker.identity if made_by is None else made_by.identity
        recorded = RecordedModel(self._readable(mode, pending), identity, archive=self._plan.archive)
        if not _may_ask(speaker, mode):
            return recorded
        if speaker.remote is not None and self._upstreams is not None:
            remote = self._upstreams.model(speaker.remote, identity)
            if self._plan.keep_errors:
                return ChainedModels(recorded, RecordingModels(remote, pending, keep_errors=True))
            return ChainedModels(recorded, RecordingModels(AnsweringModel(remote), pending))
        if speaker.model is None:
            return recorded
        local = LocalModel(identity, self._pool.get(speaker.model), meter=meter)
        # What goes wrong in a local model is as repeatable as an answer, so a replay must find it too.
        return ChainedModels(recorded, RecordingModels(local, pending, keep_errors=True))

    def _tool_sources(self, pending: PendingOverlay, meter: CostMeter) -> list[ToolSource]:
        mode, keep = self._plan.modes.tools, self._plan.keep_errors
        upstreams = None if self._upstreams is None else self._upstreams.tools
        repeats = None if self._upstreams is None else self._upstreams.repeats
        readable = self._readable(mode, pending)
        sources: list[ToolSource] = [SnapshotSource(readable, self._recipe, repeats=repeats)]
        for live in (self._live, upstreams):
            if live is not None:
                recorder = RecordingSource(live, pending, self._recipe, keep_errors=keep, repeats=repeats)
                sources.append(recorder)
        if self._stand_in is not None:
            stand_in = SourceSimulator(self._stand_in, {"maker": self._plan.simulator}, self._document)
            sources.append(SimulatedSource(stand_in, pending, self._recipe, keep_errors=keep))
        if self._plan.simulator_model is not None:
            sources.append(self._simulated(self._plan.simulator_model, pending, meter))
        return sources

    def _simulated(self, role: RolePlan, pending: PendingOverlay, meter: CostMeter) -> ToolSource:
        mode = self._plan.modes.tools
        if not _may_ask(role, mode):
            return SimulatedAnswers(
                self._readable(mode, pending),
                self._recipe,
                identity=role.identity,
                document=self._document,
            )
        chat = self._chat(mode, role, pending, meter)
        model: Simulator = ModelSimulator(_speaker(chat), self._form, self._examples, seed=self._plan.seed)
        return SimulatedSource(model, pending, self._recipe)

    def _document(self, request: CallRequest) -> Digest:
        return digest_documentation(self._form, request)

    def _judge(self, pending: PendingOverlay, meter: CostMeter) -> Judge:
        plan, mode = self._plan, self._plan.modes.judge
        readable = self._readable(mode, pending)
        role = plan.judge_model
        read = [plan.judge, None if role is None else role.identity]
        recorded = [RecordedJudge(readable, identity) for identity in read if identity is not None]
        makers: list[Judge] = []
        if self._decider is not None:
            makers.append(RecordingJudge(self._decider, pending))
        if role is not None and _may_ask(role, mode):
            chat = self._chat(mode, role, pending, meter)
            decider = ModelJudge(_speaker(chat), seed=plan.seed)
            keep = plan.keep_errors if role.model is None else True
            makers.append(RecordingJudge(decider, pending, keep_errors=keep))
        return JudgeChain(recorded, makers)


def _may_ask(speaker: CandidatePlan | RolePlan, mode: Mode) -> bool:
    """Tell whether the model of a role may make new answers: a remote one only where it is recorded."""
    if speaker.remote is not None:
        return mode is Mode.RECORD
    return speaker.model is not None and may_ask_models(mode)


def _load_script(path: str) -> ScriptedCandidate | None:
    return ScriptedCandidate.load(Path(path)) if path else None


def _speaker(chat: ChainedModels | RecordedModel) -> ChatModel:
    """One chat model for all that a role is asked in an episode: recorded and local ones keep no state."""
    return chat.for_episode("", trial=0)


def _view(store: SnapshotReader, plan: AnswerPlan) -> SnapshotReader:
    """What of a store a run may see."""
    seen = HidingStore(store, is_made_by_model) if plan.fresh else store
    return HidingStore(seen, is_recorded_of(plan.without)) if plan.without else seen


def _make_reporter(plan: AnswerPlan, frozen: LayeredStore, seen: SnapshotReader) -> MissReporter:
    error: type[MissError] = RecordMissError if plan.modes.tools is Mode.RECORD else MissError
    return MissReporter(
        seen,
        archive=plan.archive,
        tools=(name for name in frozen.scopes(SnapshotKind.API) if not name.startswith(f"{SIMULATED}:")),
        command=f"replay run {plan.archive} --select {{task}} --mode record",
        error=error,
    )


def _make(maker: str, benchmark: str) -> Any:
    module, _, name = maker.partition(":")
    function: Callable[[str], Any] | None = getattr(importlib.import_module(module), name, None)
    if function is None:
        raise InternalError(f"maker {maker!r} does not exist", expected="module:function")
    return function(benchmark)
