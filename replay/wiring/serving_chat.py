"""Who answers at /v1: completions of an archive, found by what a client can say, and local models.

A benchmark's request holds more than an OpenAI client can send (seed of the episode, digest of the prompt,
identity of each tool). So recorded completions are found by the conversation, the tools as shown, and the
answer's schema; sampling options that a client names must agree, those it leaves out do not matter.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from replay.core.canonical import digest
from replay.core.determinism import derive_seed
from replay.core.errors import DamagedError, MissError
from replay.core.types import (
    ChatRequest,
    Completion,
    Json,
    Key,
    Message,
    Role,
    Sampling,
    SnapshotKind,
    ToolSpec,
)
from replay.llm.local import LocalModel
from replay.server.chat_requests import ChatWish, WishError
from replay.store.answers import read_completion
from replay.wiring.engines import ModelPool
from replay.wiring.library import Library
from replay.wiring.roles import ModelPlan

__all__ = ["ServedModels"]


class _Recorded(NamedTuple):
    trial: int
    seed: int
    sampling: Sampling
    key: Key


class ServedModels:
    """All models of one worker, by name. Safe to share between threads."""

    def __init__(self, library: Library, models: tuple[ModelPlan, ...], pool: ModelPool) -> None:
        """Serve the models recorded in an archive, and local ones; a local one goes before its record."""
        self._store = library.store
        self._archive = library.paths.name
        self._local = {plan.name: LocalModel(plan.identity, pool.get(plan)) for plan in models}
        self._recorded = library.store.scopes(SnapshotKind.COMPLETION)
        self._index: dict[str, dict[str, list[_Recorded]]] = {}
        self._lock = threading.Lock()

    def models(self) -> tuple[str, ...]:
        """Names of the models that can be asked."""
        return tuple(sorted({*self._recorded, *self._local}))

    def complete(self, wish: ChatWish) -> tuple[Completion, ...]:
        """Answer with as many completions as are wished.

        Errors:  WishError for a model that is not here; MissError where a recorded model never said so much.
        """
        local = self._local.get(wish.model)
        if local is not None:
            return _generate(local, wish)
        if wish.model not in self._recorded:
            names = ", ".join(self.models())
            message = f"no model {wish.model!r}; there are: {names}"
            raise WishError(message, "model", status=404, code="model_not_found")
        return self._look_up(wish)

    def _look_up(self, wish: ChatWish) -> tuple[Completion, ...]:
        said = self._index_of(wish.model).get(
            _ask(wish.messages, wish.tools, wish.tool_choice, wish.schema), []
        )
        fitting = [recorded for recorded in said if _fits(recorded, wish)]
        if len(fitting) < wish.n:
            raise self._miss(wish, len(said), len(fitting))
        found = (self._store.get(recorded.key) for recorded in fitting[: wish.n])
        return tuple(read_completion(snapshot) for snapshot in found if snapshot is not None)

    def _index_of(self, model: str) -> dict[str, list[_Recorded]]:
        """Index a model's completions when it is first asked."""
        with self._lock:
            if model not in self._index:
                self._index[model] = self._make_index(model)
            return self._index[model]

    def _make_index(self, model: str) -> dict[str, list[_Recorded]]:
        index: dict[str, list[_Recorded]] = {}
        for key in self._store.scope(SnapshotKind.COMPLETION, model):
            snapshot = self._store.get(key)
            if snapshot is None:
                continue
            try:
                asked = msgspec.convert(snapshot.request["request"], ChatRequest)
                trial, seed = int(snapshot.request["trial"]), int(snapshot.request["seed"])
            except (msgspec.ValidationError, KeyError, TypeError, ValueError) as error:
                raise DamagedError(f"a completion's request is none: {error}", where=f"key {key}") from None
            place = _ask(asked.messages, asked.tools, asked.tool_choice, asked.response_schema)
            index.setdefault(place, []).append(_Recorded(trial, seed, asked.sampling, key))
        for recorded in index.values():
            recorded.sort(key=lambda one: (one.trial, one.seed, one.key))
        return index

    def _miss(self, wish: ChatWish, said: int, fitting: int) -> MissError:
        if not said:
            expected = "a conversation, tools and schema that were recorded"
        else:
            expected = f"{wish.n} of its {said} recorded answers with these options and seed; {fitting} fit"
        error = MissError(
            f"no recorded completion of model {wish.model!r} in archive {self._archive!r} for this request",
            expected=expected,
            next_step="replay archive list ARCHIVE --table snapshots-completion shows what there is",
        )
        error.want = {"kind": "completion", "request": msgspec.to_builtins(wish)}
        return error


def _generate(model: LocalModel, wish: ChatWish) -> tuple[Completion, ...]:
    """Ask a local model: greedily where the client names no sampling; choice N has a seed of its own."""
    default = Sampling()
    request = ChatRequest(
        role=Role.CANDIDATE,
        messages=wish.messages,
        tools=wish.tools,
        tool_choice=wish.tool_choice,
        response_schema=wish.schema,
        sampling=Sampling(
            temperature=default.temperature if wish.temperature is None else wish.temperature,
            top_p=default.top_p if wish.top_p is None else wish.top_p,
            max_tokens=default.max_tokens if wish.max_tokens is None else wish.max_tokens,
            stop=wish.stop or (),
        ),
    )
    first = derive_seed("served", wish.seed or 0)
    seeds = [first, *(derive_seed(first, choice) for choice in range(1, wish.n))]
    return tuple(model.complete(request, seed=seed, trial=0) for seed in seeds)


def _fits(recorded: _Recorded, wish: ChatWish) -> bool:
    asked: Mapping[str, Json] = {
        "temperature": wish.temperature,
        "top_p": wish.top_p,
        "max_tokens": wish.max_tokens,
        "stop": wish.stop,
    }
    agrees = all(value is None or getattr(recorded.sampling, name) == value for name, value in asked.items())
    return agrees and wish.seed in (None, recorded.seed)


def _ask(messages: tuple[Message, ...], tools: tuple[ToolSpec, ...], choice: str, schema: Json) -> str:
    """Digest of what a client can say of a request."""
    shown = [[tool.name, tool.description, tool.parameters] for tool in tools]
    said = [msgspec.to_builtins(message) for message in messages]
    return digest("served-ask", {"messages": said, "tools": shown, "choice": choice, "schema": schema})
