"""Live upstreams of a run: planned from a file, opened where something is recorded.

The network client is imported here and only when it is needed: a process that does not record never loads it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from replay.benchmarks.registry import get_live_form, get_record_filter
from replay.core.errors import InputError, MissingExtraError, UsageError
from replay.core.protocols import ToolSource
from replay.core.types import Json, Mode, RepeatPolicy
from replay.llm.remote import RemoteModel, describe_remote
from replay.store.journal import Journal
from replay.tools.asking import Asker
from replay.tools.keys import recipe_for
from replay.tools.live_chat import LiveChatWire
from replay.tools.live_source import JournaledSource, LiveSource, UpstreamChoice
from replay.tools.upstreams import OPENAI, PROXY, Upstream, describe_upstream, load_upstreams
from replay.wiring.modes import Modes
from replay.wiring.roles import RemotePlan, UpstreamPlan

__all__ = ["OpenUpstreams", "find_remote", "open_asker", "open_upstreams", "plan_upstreams"]

JOURNAL = "live"
"""Folder inside a run directory that holds what upstreams said, as it came."""


def plan_upstreams(file: str, modes: Modes, *, workers: int = 1) -> UpstreamPlan | None:
    """Read a file of upstreams into a plan; None without a file.

    Errors:  InputError for a file that is wrong; UsageError when nothing records.
    """
    if not file:
        return None
    if not modes.records:
        raise UsageError(
            "only a recording run asks upstreams",
            where=f"--upstream {file}",
            expected="--mode record, or record for one boundary",
        )
    found = load_upstreams(Path(file))
    of_tools = [describe_upstream(upstream) for upstream in found.values() if upstream.kind != OPENAI]
    return UpstreamPlan(
        file=str(Path(file).resolve()),
        identity=of_tools,
        workers=workers,
        at_once=max(upstream.at_once for upstream in found.values()),
    )


def find_remote(name: str, plan: UpstreamPlan | None) -> RemotePlan:
    """Find a remote model by the name of its upstream.

    Errors:  InputError listing the models of the file; UsageError without a file.
    """
    if plan is None:
        raise UsageError(f"remote:{name} has no upstream", expected="--upstream FILE.toml that describes it")
    models = {key: up for key, up in load_upstreams(Path(plan.file)).items() if up.kind == OPENAI}
    if name not in models:
        raise InputError(
            f"no remote model {name!r}",
            where=Path(plan.file).name,
            expected=f"one of: {', '.join(sorted(models)) or '(no upstream of kind openai)'}",
        )
    upstream = models[name]
    return RemotePlan(name=name, identity=describe_remote(name, upstream.model or name, upstream.options))


def open_asker(upstream: Upstream, *, workers: int = 1) -> Asker:
    """Make the client of an upstream. Errors: MissingExtraError without httpx; InputError for secrets."""
    try:
        from replay.tools.live import LiveClient  # noqa: PLC0415  see above
    except ModuleNotFoundError:
        raise MissingExtraError(
            "asking a live upstream needs httpx", next_step="pip install 'replay-bench[record]'"
        ) from None
    return LiveClient(upstream, workers=workers)


def open_upstreams(
    plan: UpstreamPlan | None, modes: Modes, benchmark: str, *, keep_errors: bool = False
) -> OpenUpstreams | None:
    """Open the upstreams of a worker; None where nothing records."""
    if plan is None or not modes.records:
        return None
    return OpenUpstreams(plan, modes, benchmark, keep_errors=keep_errors)


class OpenUpstreams:
    """The clients of one worker, each made when it is first needed. Safe to share between threads."""

    def __init__(self, plan: UpstreamPlan, modes: Modes, benchmark: str, *, keep_errors: bool) -> None:
        """Read the file again: secrets never cross to a worker, places do."""
        self._plan = plan
        self._upstreams = load_upstreams(Path(plan.file))
        self._journal = Journal(Path(plan.journal)) if plan.journal else None
        self._askers: dict[str, Asker] = {}
        self._lock = threading.Lock()
        self.tools: ToolSource | None = None
        """Answers tool calls, where tools are recorded."""
        self.repeats: RepeatPolicy | None = None
        """What equal calls get while recording; None leaves it to the tools."""
        if modes.tools is Mode.RECORD:
            self._open_tools(benchmark, keep_errors=keep_errors)

    def model(self, remote: RemotePlan, identity: Json) -> RemoteModel:
        """Make a remote model that answers under this identity."""
        upstream = self._upstreams.get(remote.name)
        if upstream is None:
            raise InputError(f"no upstream {remote.name!r}", where=Path(self._plan.file).name)
        wire = LiveChatWire(self._asker(upstream))
        return RemoteModel(identity, wire, options=upstream.options, journal=self._journal)

    def _open_tools(self, benchmark: str, *, keep_errors: bool) -> None:
        sources = [
            LiveSource(
                self._asker(upstream),
                keep_errors=keep_errors,
                check=_filter_of(upstream, benchmark),
                form=get_live_form(benchmark),
            )
            for upstream in self._upstreams.values()
            if upstream.kind != OPENAI
        ]
        if not sources:
            return
        chosen = UpstreamChoice(sources)
        self.repeats = chosen.repeats
        self.tools = (
            chosen if self._journal is None else JournaledSource(chosen, self._journal, recipe_for(benchmark))
        )

    def _asker(self, upstream: Upstream) -> Asker:
        with self._lock:
            if upstream.name not in self._askers:
                self._askers[upstream.name] = open_asker(upstream, workers=self._plan.workers)
            return self._askers[upstream.name]


def _filter_of(upstream: Upstream, benchmark: str) -> Callable[[Json], str] | None:
    return get_record_filter(benchmark) if (upstream.kind, upstream.filter) == (PROXY, "upstream") else None
