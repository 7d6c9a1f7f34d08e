"""Ordered sources -> the first answer; otherwise a miss, explained.

Order is given by whoever builds the resolver (wiring): world, snapshots, live, simulator. Nothing here knows
a mode. Corrupt data in any source is an error and ends the lookup; it is never treated as a miss.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from replay.core.canonical import digest
from replay.core.errors import SimulationError, UpstreamError
from replay.core.keys import alias_key, call_key
from replay.core.protocols import ToolSource, World
from replay.core.types import CallRequest, Key, RepeatPolicy, Snapshot, ToolResult
from replay.store.answers import read_result
from replay.store.pending import SnapshotReader
from replay.tools.keys import KeyRecipe
from replay.tools.misses import MissReporter, Use

__all__ = [
    "EpisodeResolver",
    "Hit",
    "Resolver",
    "SnapshotSource",
    "WorldSource",
    "lookup_keys",
    "repeat_policy",
]

CANONICAL: Final = "canonical"


def lookup_keys(request: CallRequest) -> tuple[tuple[str, Key], ...]:
    """List the lookups of a call in order, as (label, key): aliases first, canonical, other aliases."""
    before = tuple((alias.label, alias_key(request.benchmark, alias)) for alias in request.aliases_first)
    after = tuple((alias.label, alias_key(request.benchmark, alias)) for alias in request.aliases)
    return (*before, (CANONICAL, call_key(request)), *after)


def repeat_policy(request: CallRequest) -> RepeatPolicy:
    """Return what the tool spec says about repeated equal calls; the last answer sticks without a spec."""
    return request.spec.repeat_policy if request.spec is not None else RepeatPolicy.STICKY_LAST


class WorldSource:
    """Answers from stateful tools that run in this process."""

    name = "world"

    def __init__(self, world: World) -> None:
        """Wrap the world of one episode."""
        self._world = world

    def answer(self, request: CallRequest, *, occurrence: int) -> ToolResult | None:  # noqa: ARG002
        """Run the call against the world; a world keeps its own state and needs no occurrence."""
        result = self._world.handle(request)
        if result is None or result.lookup:
            return result
        return msgspec.structs.replace(result, lookup=self.name)


class Hit(NamedTuple):
    """A recorded answer, and the lookup that found it."""

    label: str
    key: Key
    snapshot: Snapshot


class SnapshotSource:
    """Answers from recorded snapshots: the frozen archives, then the overlay, as the store layers them."""

    name = "snapshot"

    def __init__(
        self, store: SnapshotReader, recipe: KeyRecipe, *, repeats: RepeatPolicy | None = None
    ) -> None:
        """Read from this store; every request goes through the recipe before it is looked up.

        repeats: what equal calls get, instead of what their tools say.
        """
        self._store = store
        self._recipe = recipe
        self._repeats = repeats

    def answer(self, request: CallRequest, *, occurrence: int) -> ToolResult | None:
        """Answer with the recorded answer that this occurrence of the call gets under the repeat policy.

        A sequence that has run out passes; no later lookup step is tried, for it could only lead to an answer
        that has been used.

        Errors:  DamagedError when the recorded bytes do not agree with their digest.
        """
        hit = self.first(request)
        if hit is None:
            return None
        if occurrence == 0:
            return read_result(hit.snapshot, lookup=hit.label)
        last = self._store.count(hit.key) - 1
        if occurrence > last and (self._repeats or repeat_policy(request)) is RepeatPolicy.ONCE:
            return None
        found = self._store.get(hit.key, min(occurrence, last))
        return None if found is None else read_result(found, lookup=hit.label)

    def first(self, request: CallRequest) -> Hit | None:
        """Find the first recorded answer as it is stored. Errors: as `answer`."""
        for label, key in self._lookups(request):
            found = self._store.get(key)
            if found is not None:
                return Hit(label, key, found)
        return None

    def _lookups(self, request: CallRequest) -> Iterator[tuple[str, Key]]:
        """Make the keys of `lookup_keys` one by one: most calls are answered by the first."""
        for alias in request.aliases_first:
            yield alias.label, alias_key(request.benchmark, alias)
        keyed = self._recipe.apply(request)
        yield CANONICAL, call_key(keyed)
        for alias in keyed.aliases:
            yield alias.label, alias_key(keyed.benchmark, alias)

    def recorded(self, request: CallRequest) -> int:
        """Count the answers recorded for a call under the first lookup that finds any."""
        for _, key in self._lookups(request):
            recorded = self._store.count(key)
            if recorded:
                return recorded
        return 0


class Resolver:
    """Who answers the tool calls of a run: a fixed order of sources and a way to explain misses."""

    def __init__(self, sources: Sequence[ToolSource], recipe: KeyRecipe, reporter: MissReporter) -> None:
        """Keep the sources in the order they are asked; each episode's world is asked before them."""
        self._sources = tuple(sources)
        self._recipe = recipe
        self._reporter = reporter

    def for_episode(self, task: str, *, world: World | None = None) -> EpisodeResolver:
        """Return the tools of one episode, with occurrence counts and state of its own."""
        own: tuple[ToolSource, ...] = () if world is None else (WorldSource(world),)
        return EpisodeResolver((*own, *self._sources), self._recipe, self._reporter, task=task)


class EpisodeResolver:
    """Answers the tool calls of one episode."""

    def __init__(
        self, sources: Sequence[ToolSource], recipe: KeyRecipe, reporter: MissReporter, *, task: str
    ) -> None:
        """Start an episode: no call made yet, no state changed."""
        self._sources = tuple(sources)
        self._recipe = recipe
        self._reporter = reporter
        self._task = task
        self._steps: dict[Key, list[int]] = {}
        self._state = ""

    def answer(self, request: CallRequest, *, step: int) -> ToolResult:
        """Ask the sources in order and return the first answer.

        Sources get the call as the candidate made it, secrets included: a world or a live upstream needs
        the values, and a mask must never be sent as one. Whoever stores or looks up applies the recipe.

        Errors:  MissError (or RecordMissError) with the explained report when every source passes or fails;
                 DamagedError and other errors of a source as they are.
        """
        whole = self._with_state(request)
        keyed = self._recipe.apply(whole)
        steps = self._steps.setdefault(call_key(keyed), [])
        refused: dict[str, str] = {}
        for source in self._sources:
            try:
                result = source.answer(whole, occurrence=len(steps))
            except UpstreamError as error:
                # A live upstream that fails passes to the next source; what it said stays in the report.
                refused["upstream"] = str(error)
                continue
            except SimulationError as error:
                refused["simulator"] = str(error)
                continue
            if result is not None:
                steps.append(step)
                self._advance(keyed)
                return result
        raise self._reporter.make_error(
            keyed,
            task=self._task,
            step=step,
            lookups=tuple(label for label, _ in lookup_keys(keyed)),
            used=self._use(keyed, steps),
            refused=refused,
        )

    def _with_state(self, request: CallRequest) -> CallRequest:
        depends = request.spec is not None and request.spec.depends_on_state
        if not depends or request.state or not self._state:
            return request
        return msgspec.structs.replace(request, state=self._state)

    def _advance(self, request: CallRequest) -> None:
        if request.spec is not None and request.spec.mutates:
            self._state = digest("call-state", [self._state, call_key(request)])

    def _use(self, request: CallRequest, steps: list[int]) -> Use | None:
        recorded = sum(
            source.recorded(request) for source in self._sources if isinstance(source, SnapshotSource)
        )
        return Use(recorded=recorded, steps=tuple(steps[-recorded:])) if recorded else None
