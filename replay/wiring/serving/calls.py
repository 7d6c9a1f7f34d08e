"""Calls of `/virtual` answered: from records, and in other ways where the mode has any."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from replay.core.errors import MissError
from replay.core.keys import call_key
from replay.core.protocols import Settings
from replay.core.types import CallRequest, ToolResult
from replay.engine.worker import Answerers
from replay.server.counters import Counters
from replay.server.virtual_api import Found, write_result
from replay.server.wire import as_it_stands
from replay.store.answers import read_result
from replay.store.answers_only import AnswersOnly
from replay.store.writing import PutOutcome
from replay.tools.flights import SingleFlight
from replay.tools.keys import recipe_for
from replay.tools.resolver import SnapshotSource
from replay.wiring.casting import describe_makers
from replay.wiring.engines import ModelPool
from replay.wiring.library import Library
from replay.wiring.modes import Modes
from replay.wiring.overlays import put_makers
from replay.wiring.serving.server import ServePlan
from replay.wiring.sources import RECORDED, AnswerPlan, CandidatePlan, open_answerers
from replay.wiring.upstreams import plan_upstreams

__all__ = ["ArchiveCalls", "RecordingCalls"]


class ArchiveCalls:
    """Answers calls from the archive, and in another way where the mode allows one. Safe to share."""

    def __init__(self, plan: ServePlan, library: Library, pool: ModelPool) -> None:
        """Answer from this archive."""
        self._source = SnapshotSource(AnswersOnly(library.store), recipe_for(plan.library.benchmark))
        self._open: Callable[[], Answerers] = open_answerers(
            _plan_answers(plan), library.store, library.store, pool
        )

    def hit(self, request: CallRequest) -> Found | None:
        """Give the first recorded answer as it is sent, or None."""
        hit = self._source.first(request)
        if hit is None:
            return None
        read = partial(read_result, hit.snapshot, lookup=hit.label)
        body = as_it_stands(hit.snapshot.body) if hit.snapshot.media == "json" else None
        return Found(body or write_result(read()), hit.snapshot.provenance, read)

    def find(self, request: CallRequest) -> ToolResult | None:
        """Answer with the first recorded answer, or None."""
        return self._source.answer(request, occurrence=0)

    def resolve(self, request: CallRequest) -> ToolResult:
        """Ask everyone who may answer. Raises MissError, explained."""
        return self._ask(self._open(), request)

    @staticmethod
    def _ask(answerers: Answerers, request: CallRequest) -> ToolResult:
        try:
            return answerers.tools.for_episode("virtual", world=None).answer(request, step=0)
        except MissError as error:
            error.where = ""
            error.next_step = "replay misses LOG lists it where the server was started with --log LOG"
            if isinstance(error.want, dict):
                error.want |= {"task": "", "command": ""}
            raise


class RecordingCalls(ArchiveCalls):
    """The same in record mode: what live upstreams and models say is on disk before it is an answer."""

    def __init__(self, plan: ServePlan, library: Library, pool: ModelPool, *, counters: Counters) -> None:
        """Write to the overlay of this library."""
        super().__init__(plan, library, pool)
        self._store = library.store
        self._recipe = recipe_for(plan.library.benchmark)
        self._counters = counters
        self._flights = SingleFlight()
        if plan.simulator is not None and self._store.overlay is not None:
            # Named in what is frozen, so that a replay can choose the simulator by its name.
            put_makers(self._store.overlay, describe_makers(_plan_answers(plan), Settings()))

    def resolve(self, request: CallRequest) -> ToolResult:
        """Ask once for all that ask the same at the same time."""
        with self._flights.holding(call_key(self._recipe.apply(request))):
            held = self.find(request)
            if held is not None:
                return held
            answerers = self._open()
            try:
                result = self._ask(answerers, request)
            except MissError as error:
                if isinstance(error.want, dict) and error.want.get("upstream"):
                    self._counters.add("upstream_failures")
                raise
            kept = self._store.put_many(answerers.drain())
            for _ in range(kept[PutOutcome.NEW]):
                self._counters.add("recorded")
            return result


def _plan_answers(plan: ServePlan) -> AnswerPlan:
    """Say who may answer calls: nobody's candidate, and upstreams in record mode only."""
    modes = Modes(tools=plan.mode)
    return AnswerPlan(
        benchmark=plan.library.benchmark,
        archive=plan.library.name,
        modes=modes,
        candidate=CandidatePlan(kind=RECORDED, name="", identity=None),
        simulator_model=plan.simulator,
        upstreams=plan_upstreams(plan.upstream_file, modes),
        keep_errors=plan.keep_errors,
    )
