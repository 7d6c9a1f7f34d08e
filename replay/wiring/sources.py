"""Who answers in a run: modes and settings become models, tools and judges (DESIGN section 4).

This is the one place where a mode is looked at. Below it there are only objects: a strict run has no overlay
to read, no simulator and no live source, because none was made.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from replay.core.errors import InternalError, MissError, RecordMissError
from replay.core.protocols import ChatModelFactory, Judge, ToolSource
from replay.core.types import Json, Mode, Record, Role, SnapshotKind
from replay.llm.judges import JudgeChain, RecordedJudge, RecordingJudge
from replay.llm.recorded import ChainedModels, RecordedModel, RecordingModels
from replay.llm.scripted import ScriptedCandidate
from replay.store.layers import LayeredStore
from replay.store.pending import PendingOverlay, SnapshotReader
from replay.tools.keys import KeyRecipe, recipe_for
from replay.tools.misses import MissReporter
from replay.tools.recording import RecordingSource
from replay.tools.resolver import Resolver, SnapshotSource
from replay.wiring.modes import Modes

__all__ = ["JUDGE_MAKER", "AnswerPlan", "Answerers", "CandidatePlan", "build_answerers", "identify_makers"]

RECORDED: Final = "recorded"
SCRIPTED: Final = "scripted"

JUDGE_MAKER: Final = "judge-maker"
"""Name of a judge that can decide, among a run's models."""


class CandidatePlan(Record, frozen=True, kw_only=True):
    """Which agent is evaluated, as another process can make it again."""

    kind: str
    """recorded, scripted or outputs."""
    name: str
    identity: Json
    path: str = ""
    """Script file or outputs folder; never hashed and never stored."""


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
    simulator: str = ""
    """`module:function` that makes a simulator source; not looked at in a strict run."""
    judge_maker: str = ""
    """`module:function` that makes a judge which can decide; not looked at in a strict run."""
    keep_errors: bool = False


class Answerers:
    """The objects that answer in one worker."""

    def __init__(
        self,
        *,
        chat: Mapping[Role, ChatModelFactory],
        tools: Resolver,
        judge: Judge,
        pending: PendingOverlay,
    ) -> None:
        """Keep them together with the snapshots they make."""
        self.chat = chat
        self.tools = tools
        self.judge = judge
        self.pending = pending


def build_answerers(plan: AnswerPlan, frozen: LayeredStore, layered: LayeredStore) -> Answerers:
    """Choose the objects for a run.

    frozen: the archives alone. layered: the archives and, where one is read, an overlay of an earlier run.
    """
    pending = PendingOverlay(layered)
    recipe = recipe_for(plan.benchmark)
    tools = Resolver(_tool_sources(plan, frozen, pending, recipe), recipe, _make_reporter(plan, frozen))
    return Answerers(
        chat={Role.CANDIDATE: _make_candidate(plan, frozen, pending)},
        tools=tools,
        judge=_make_judge(plan, frozen, pending),
        pending=pending,
    )


def identify_makers(plan: AnswerPlan) -> dict[str, Json]:
    """Say who may make answers beside the recorded ones, for the inputs of a run; nobody in a strict one."""
    tools = plan.modes.tools
    found: dict[str, Json] = {}
    if plan.live and tools is Mode.RECORD:
        found["live"] = {"maker": plan.live}
    if plan.simulator and tools is not Mode.STRICT:
        found["simulator"] = {"maker": plan.simulator}
    if plan.judge_maker and plan.modes.judge is not Mode.STRICT:
        found[JUDGE_MAKER] = _make(plan.judge_maker, plan.benchmark).identity
    return found


def _tool_sources(
    plan: AnswerPlan, frozen: LayeredStore, pending: PendingOverlay, recipe: KeyRecipe
) -> list[ToolSource]:
    mode = plan.modes.tools
    if mode is Mode.STRICT:
        return [SnapshotSource(frozen, recipe)]
    sources: list[ToolSource] = [SnapshotSource(pending, recipe)]
    makers = [plan.live if mode is Mode.RECORD else "", plan.simulator]
    sources += [
        RecordingSource(_make(maker, plan.benchmark), pending, recipe, keep_errors=plan.keep_errors)
        for maker in makers
        if maker
    ]
    return sources


def _make_candidate(plan: AnswerPlan, frozen: LayeredStore, pending: PendingOverlay) -> ChatModelFactory:
    mode, candidate = plan.modes.candidate, plan.candidate
    readable: SnapshotReader = frozen if mode is Mode.STRICT else pending
    recorded = RecordedModel(readable, candidate.identity, archive=plan.archive)
    if candidate.kind != SCRIPTED:
        return recorded
    # A script is a file of the user's: deterministic, offline, and so allowed in every mode.
    scripted = ScriptedCandidate.load(Path(candidate.path))
    if mode is not Mode.RECORD:
        return scripted
    recorder = RecordingModels(scripted, pending, keep_errors=plan.keep_errors)
    return ChainedModels(recorded, recorder)


def _make_judge(plan: AnswerPlan, frozen: LayeredStore, pending: PendingOverlay) -> Judge:
    mode = plan.modes.judge
    readable: SnapshotReader = frozen if mode is Mode.STRICT else pending
    recorded = [RecordedJudge(readable, plan.judge)] if plan.judge is not None else []
    makers: list[Judge] = []
    if mode is not Mode.STRICT and plan.judge_maker:
        makers.append(RecordingJudge(_make(plan.judge_maker, plan.benchmark), pending))
    return JudgeChain(recorded, makers)


def _make_reporter(plan: AnswerPlan, frozen: LayeredStore) -> MissReporter:
    error: type[MissError] = RecordMissError if plan.modes.tools is Mode.RECORD else MissError
    return MissReporter(
        frozen,
        archive=plan.archive,
        tools=frozen.scopes(SnapshotKind.API),
        command=f"replay run {plan.archive} --select {{task}} --mode record",
        error=error,
    )


def _make(maker: str, benchmark: str) -> Any:
    module, _, name = maker.partition(":")
    function: Callable[[str], Any] | None = getattr(importlib.import_module(module), name, None)
    if function is None:
        raise InternalError(f"maker {maker!r} does not exist", expected="module:function")
    return function(benchmark)
