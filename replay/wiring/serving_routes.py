"""The routes of one worker, each from what it needs: store, rules, models."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from replay.benchmarks.stabletoolbench.virtual_calls import VirtualCalls
from replay.core.errors import MissError
from replay.core.types import CallRequest, ToolResult
from replay.engine.worker import Answerers
from replay.server.chat_api import ChatApi, ModelsApi
from replay.server.counters import Counters
from replay.server.http_api import PREFIX, HttpApi
from replay.server.virtual_api import RequestLog, Virtual
from replay.tools.keys import recipe_for
from replay.tools.resolver import SnapshotSource
from replay.wiring.engines import ModelPool
from replay.wiring.library import Library
from replay.wiring.modes import Modes
from replay.wiring.serving import ServePlan
from replay.wiring.serving_chat import ServedModels
from replay.wiring.serving_exchanges import ArchiveExchanges
from replay.wiring.sources import RECORDED, AnswerPlan, CandidatePlan, open_answerers

__all__ = ["make_chat_routes", "make_http_routes", "make_virtual_routes"]


class _ArchiveCalls:
    """Answers calls from the archive, and in another way where the mode allows one."""

    def __init__(self, plan: ServePlan, library: Library, pool: ModelPool) -> None:
        self._source = SnapshotSource(library.store, recipe_for(plan.library.benchmark))
        answers = AnswerPlan(
            benchmark=plan.library.benchmark,
            archive=plan.library.name,
            modes=Modes(tools=plan.mode),
            candidate=CandidatePlan(kind=RECORDED, name="", identity=None),
            simulator_model=plan.simulator,
        )
        self._open: Callable[[], Answerers] = open_answerers(answers, library.store, library.store, pool)

    def find(self, request: CallRequest) -> ToolResult | None:
        """Answer with the first recorded answer, or None."""
        return self._source.answer(request, occurrence=0)

    def resolve(self, request: CallRequest) -> ToolResult:
        """Ask everyone who may answer. Raises MissError, explained."""
        try:
            return self._open().tools.for_episode("virtual", world=None).answer(request, step=0)
        except MissError as error:
            error.where = ""
            error.next_step = "replay misses LOG lists it where the server was started with --log LOG"
            if isinstance(error.want, dict):
                error.want |= {"task": "", "command": ""}
            raise


def make_virtual_routes(
    plan: ServePlan, library: Library, counters: Counters, log: RequestLog | None, stack: ExitStack
) -> dict[str, Any]:
    """POST /virtual over a StableToolBench archive."""
    pool = ModelPool()
    stack.callback(pool.close)
    rules = VirtualCalls(library.tools().values(), strict=plan.strict_rules)
    calls = _ArchiveCalls(plan, library, pool)
    return {"/virtual": Virtual(rules, calls, counters=counters, log=log, max_body=plan.max_body)}


def make_http_routes(
    plan: ServePlan, library: Library, counters: Counters, log: RequestLog | None
) -> dict[str, Any]:
    """/http/NAME/... over an archive of HTTP exchanges."""
    sources = ArchiveExchanges(plan, library)
    return {PREFIX: HttpApi(sources, counters=counters, log=log, max_body=plan.max_body)}


def make_chat_routes(
    plan: ServePlan, library: Library, counters: Counters, log: RequestLog | None, stack: ExitStack
) -> dict[str, Any]:
    """/v1/... from recorded completions and from local models."""
    pool = ModelPool()
    stack.callback(pool.close)
    sources = ServedModels(library, plan.models, pool)
    if not sources.models():
        return {}
    chat = ChatApi(sources, counters=counters, log=log, max_body=plan.max_body)
    text = ChatApi(sources, counters=counters, is_chat=False, log=log, max_body=plan.max_body)
    models = ModelsApi(sources)
    return {
        "/v1/chat/completions": chat,
        "/v1/completions": text,
        "/v1/models": models,
        "/v1/models/": models,
    }
