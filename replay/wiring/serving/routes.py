"""The routes of one worker, each from what it needs: store, rules, models."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from starlette.concurrency import run_in_threadpool

from replay.benchmarks.stabletoolbench.virtual_calls import VirtualCalls
from replay.core.types import Mode
from replay.server.chat_api import ChatApi, ModelsApi
from replay.server.counters import Counters
from replay.server.http_api import PREFIX, HttpApi, Runner
from replay.server.virtual_api import RequestLog, Virtual
from replay.server.waiting import run_aside
from replay.wiring.engines import ModelPool
from replay.wiring.library import Library
from replay.wiring.serving.calls import ArchiveCalls, RecordingCalls
from replay.wiring.serving.chat import ServedModels, open_remote
from replay.wiring.serving.exchanges import ArchiveExchanges, Services
from replay.wiring.serving.recording import RecordingExchanges
from replay.wiring.serving.server import ServePlan

__all__ = ["make_chat_routes", "make_http_routes", "make_virtual_routes"]


def make_virtual_routes(
    plan: ServePlan, library: Library, counters: Counters, log: RequestLog | None, stack: ExitStack
) -> dict[str, Any]:
    """POST /virtual over a StableToolBench archive."""
    pool = ModelPool()
    stack.callback(pool.close)
    rules = VirtualCalls(library.tools().values(), strict=plan.strict_rules)
    records = plan.mode is Mode.RECORD
    calls = (
        RecordingCalls(plan, library, pool, counters=counters)
        if records
        else ArchiveCalls(plan, library, pool)
    )
    virtual = Virtual(
        rules, calls, counters=counters, log=log, max_body=plan.max_body, keeps_misses=not records
    )
    return {"/virtual": virtual}


def make_http_routes(
    plan: ServePlan, library: Library, counters: Counters, log: RequestLog | None
) -> dict[str, Any]:
    """/http/NAME/... over an archive of HTTP exchanges."""
    services = Services(plan, library)
    records = plan.mode is Mode.RECORD
    sources = (
        RecordingExchanges(services, keep_errors=plan.keep_errors) if records else ArchiveExchanges(services)
    )
    # A live service may be slow: who waits for it must not keep others from what is recorded.
    run: Runner = run_aside if records else run_in_threadpool
    api = HttpApi(sources, counters=counters, log=log, max_body=plan.max_body, run=run)
    return {PREFIX: api}


def make_chat_routes(
    plan: ServePlan, library: Library, counters: Counters, log: RequestLog | None, stack: ExitStack
) -> dict[str, Any]:
    """/v1/... from recorded completions, from local models, and from remote ones that are recorded."""
    pool = ModelPool()
    stack.callback(pool.close)
    sources = ServedModels(library, plan.models, pool, remote=open_remote(plan), counters=counters)
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
