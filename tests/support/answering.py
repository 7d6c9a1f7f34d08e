"""Builders of calls, chats and snapshots, and a store that lives in memory."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from replay.core.types import (
    CallAlias,
    CallRequest,
    ChatRequest,
    Json,
    Key,
    Message,
    Provenance,
    RepeatPolicy,
    Role,
    Snapshot,
    SnapshotKind,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from replay.store.answers import ApiAnswer, make_api_snapshot

__all__ = [
    "BENCHMARK",
    "CountingSource",
    "MemoryStore",
    "make_alias",
    "make_answer",
    "make_call",
    "make_chat",
    "make_spec",
    "make_tool_call",
]

BENCHMARK = "demo"


class MemoryStore:
    """A store with the semantics of the real one and no disk."""

    def __init__(self, *snapshots: Snapshot) -> None:
        self.rows: dict[tuple[Key, int], Snapshot] = {}
        self.aliases: dict[Key, Key] = {}
        for snapshot in snapshots:
            self.put(snapshot)

    def get(self, key: Key, sequence: int = 0) -> Snapshot | None:
        """Return one answer or None."""
        return self.rows.get((self.aliases.get(key, key), sequence))

    def get_body(self, key: Key, sequence: int = 0) -> bytes | None:
        """Body of one answer, or None."""
        held = self.get(key, sequence)
        return None if held is None else held.body.encode()

    def count(self, key: Key) -> int:
        """Count the answers of a key."""
        primary = self.aliases.get(key, key)
        return sum(1 for held, _ in self.rows if held == primary)

    def scope(self, kind: SnapshotKind, scope: str) -> Iterator[Key]:
        """List the keys of a scope, sorted."""
        return iter(sorted({s.key for s in self.rows.values() if s.kind is kind and s.scope == scope}))

    def put(self, snapshot: Snapshot) -> str:
        """Write an answer if its place is free."""
        place = (snapshot.key, snapshot.sequence)
        held = self.rows.setdefault(place, snapshot)
        if held is not snapshot:
            return "same" if held == snapshot else "conflict"
        for alias in snapshot.aliases:
            self.aliases.setdefault(alias, snapshot.key)
        return "new"


class CountingSource:
    """Answers every call with a text, or passes, or raises; counts how often it was asked."""

    def __init__(self, name: str, *, says: str | None = None, fails: Exception | None = None) -> None:
        self.name = name
        self.asked: list[CallRequest] = []
        self._says = says
        self._fails = fails

    def answer(self, request: CallRequest, *, occurrence: int) -> ToolResult | None:
        """Answer, pass or raise, as built."""
        self.asked.append(request)
        if self._fails is not None:
            raise self._fails
        if self._says is None:
            return None
        text = f"{self._says} {len(self.asked)}"
        return ToolResult(content=text, body=text, provenance=Provenance.SIMULATED, lookup=self.name)


def make_call(arguments: Json = None, **changes: Json) -> CallRequest:
    """Build a call of `weather/now`."""
    call = CallRequest(
        benchmark=BENCHMARK,
        tool="weather/now",
        arguments={"city": "Oslo"} if arguments is None else arguments,
    )
    return msgspec.structs.replace(call, **changes)


def make_spec(policy: RepeatPolicy = RepeatPolicy.STICKY_LAST, **changes: Json) -> ToolSpec:
    """Build the spec of `weather/now`."""
    return msgspec.structs.replace(
        ToolSpec(name="now", identity="weather/now", repeat_policy=policy), **changes
    )


def make_alias(text: str, label: str = "python-repr") -> CallAlias:
    """Build an alias of `weather/now`."""
    return CallAlias(label=label, tool="weather/now", text=text)


def make_answer(request: CallRequest | None = None, body: str = '"rain"', **changes: Json) -> Snapshot:
    """Build the snapshot of one answer; `sequence` and `aliases` as in make_api_snapshot."""
    sequence = changes.pop("sequence", 0)
    aliases = changes.pop("aliases", ())
    answer = ApiAnswer(body=body, **changes)
    return make_api_snapshot(request or make_call(), answer, sequence=sequence, aliases=aliases)


def make_chat(text: str = "hello", role: Role = Role.CANDIDATE) -> ChatRequest:
    """Build a chat request with one message."""
    return ChatRequest(role=role, messages=(Message(role="user", content=text),))


def make_tool_call(name: str = "now", arguments: str = '{"city": "Oslo"}') -> ToolCall:
    """Build a tool call as a candidate writes it."""
    return ToolCall(id="call_1", name=name, arguments=arguments)
