"""What a recorded model said, by what a client can say of a request: conversation, tools as shown, schema.

Sampling options that a client names must agree, those it leaves out do not matter. Log-probabilities are
there or they are not: an answer that was recorded without them answers no request for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from replay.core.canonical import canonical_bytes, digest
from replay.core.determinism import derive_seed
from replay.core.errors import DamagedError, MissError
from replay.core.logprobs import read_logprobs
from replay.core.types import (
    ChatRequest,
    Completion,
    Json,
    Key,
    Message,
    Sampling,
    Snapshot,
    SnapshotKind,
    ToolSpec,
)
from replay.server.chat_wishes import ChatWish
from replay.store.answers import read_completion
from replay.store.pending import SnapshotReader

__all__ = ["Spoken"]


class _Recorded(NamedTuple):
    trial: int
    seed: int
    sampling: Sampling
    key: Key


class Spoken:
    """The completions of one name in an archive, indexed once. Safe to share between threads."""

    def __init__(self, store: SnapshotReader, model: str) -> None:
        """Read all of them. Errors: DamagedError for a completion whose request is none."""
        self._store = store
        self._index: dict[str, list[_Recorded]] = {}
        identities: dict[bytes, Json] = {}
        for key in store.scope(SnapshotKind.COMPLETION, model):
            snapshot = store.get(key)
            if snapshot is None:
                continue
            asked, recorded = _read(snapshot)
            identities[canonical_bytes(snapshot.request["model"])] = snapshot.request["model"]
            place = _ask(asked.messages, asked.tools, asked.tool_choice, asked.response_schema)
            self._index.setdefault(place, []).append(recorded)
        for listed in self._index.values():
            listed.sort(key=lambda one: (one.trial, one.seed, one.key))
        self.identities = tuple(identities[name] for name in sorted(identities))
        """The models of this name."""

    def find(self, wish: ChatWish, *, archive: str) -> tuple[Completion, ...]:
        """Find as many completions as are wished.

        Errors:  MissError saying how far the recorded ones fit.
        """
        said = self._index.get(_ask(wish.messages, wish.tools, wish.tool_choice, wish.schema), [])
        # A benchmark's seed can be named as it is; one that came with a client's request was derived from it.
        seeds = None if wish.seed is None else {wish.seed, derive_seed("served", wish.seed)}
        fitting = [
            recorded
            for recorded in said
            if (seeds is None or recorded.seed in seeds) and _agrees(recorded.sampling, wish)
        ]
        found: list[Completion] = []
        for recorded in fitting:
            snapshot = self._store.get(recorded.key)
            if snapshot is not None and len(found) < wish.n:
                completion = read_completion(snapshot)
                found += [completion] if _has_ranks(completion, wish) else []
        if len(found) < wish.n:
            raise _miss(wish, archive, (len(said), len(fitting), len(found)))
        return tuple(found)


def _read(snapshot: Snapshot) -> tuple[ChatRequest, _Recorded]:
    try:
        asked = msgspec.convert(snapshot.request["request"], ChatRequest)
        trial, seed = int(snapshot.request["trial"]), int(snapshot.request["seed"])
    except (msgspec.ValidationError, KeyError, TypeError, ValueError) as error:
        raise DamagedError(f"a completion's request is none: {error}", where=f"key {snapshot.key}") from None
    return asked, _Recorded(trial, seed, asked.sampling, snapshot.key)


def _miss(wish: ChatWish, archive: str, counts: tuple[int, int, int]) -> MissError:
    said, fitting, found = counts
    where = ""
    if not said:
        expected = "a conversation, tools and schema that were recorded"
    elif fitting < wish.n:
        expected = f"{wish.n} of its {said} recorded answers with these options and seed; {fitting} fit"
    else:
        where = "logprobs"
        expected = (
            f"{wish.n} of its {fitting} fitting answers with log-probabilities and {wish.top_logprobs} "
            f"alternatives; {found} were recorded with so many"
        )
    error = MissError(
        f"no recorded completion of model {wish.model!r} in archive {archive!r} for this request",
        where=where,
        expected=expected,
        next_step="replay archive list ARCHIVE --table snapshots-completion shows what there is",
    )
    error.want = {"kind": "completion", "request": msgspec.to_builtins(wish)}
    return error


def _agrees(sampling: Sampling, wish: ChatWish) -> bool:
    asked: Mapping[str, Json] = {
        "temperature": wish.temperature,
        "top_p": wish.top_p,
        "max_tokens": wish.max_tokens,
        "stop": wish.stop,
    }
    return all(value is None or getattr(sampling, name) == value for name, value in asked.items())


def _has_ranks(completion: Completion, wish: ChatWish) -> bool:
    if wish.top_logprobs is None:
        return True
    held = read_logprobs(completion.detail)
    return held is not None and held.top >= wish.top_logprobs


def _ask(messages: tuple[Message, ...], tools: tuple[ToolSpec, ...], choice: str, schema: Json) -> str:
    """Digest of what a client can say of a request."""
    shown = [[tool.name, tool.description, tool.parameters] for tool in tools]
    said = [msgspec.to_builtins(message) for message in messages]
    return digest("served-ask", {"messages": said, "tools": shown, "choice": choice, "schema": schema})
