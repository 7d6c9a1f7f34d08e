"""Who answers at /v1: completions of an archive, local models, and in record mode remote ones.

A client's request, defaults filled in, is a complete request with a key; what has that key answers first. A
benchmark's request holds more than an OpenAI client can send (seed of the episode, digest of the prompt,
identity of each tool), so its completions are found in a second step by what a client can say: `Spoken`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from replay.core.determinism import derive_seed
from replay.core.errors import GrammarError
from replay.core.keys import completion_key
from replay.core.protocols import ChatModel
from replay.core.types import ChatRequest, Completion, Json, Mode, Role, Sampling, Snapshot, SnapshotKind
from replay.llm.grammar.schema import check_output, compile_schema
from replay.llm.local import LocalModel
from replay.llm.recorded import ChainedModel, RecordedModel, RecordingModel
from replay.llm.remote import RemoteModel, describe_remote
from replay.server.chat_talk import Listener
from replay.server.chat_wishes import ChatWish, WishError
from replay.server.counters import Counters
from replay.store.answers import COMPLETE
from replay.store.layers import LayeredStore
from replay.store.writing import PutOutcome
from replay.tools.flights import SingleFlight
from replay.tools.live_chat import LiveChatWire
from replay.tools.upstreams import OPENAI, load_upstreams
from replay.wiring.engines import ModelPool
from replay.wiring.library import Library
from replay.wiring.roles import ModelPlan
from replay.wiring.serving.server import ServePlan
from replay.wiring.serving.spoken import Spoken
from replay.wiring.upstreams import open_asker

__all__ = ["ServedModels", "open_remote", "request_of"]

_DEFAULT: Final = Sampling()


class ServedModels:
    """All models of one worker, by name. Safe to share between threads."""

    def __init__(
        self,
        library: Library,
        models: tuple[ModelPlan, ...],
        pool: ModelPool,
        *,
        remote: Mapping[str, ChatModel] | None = None,
        counters: Counters | None = None,
    ) -> None:
        """Serve the models recorded in an archive, and others: what is recorded of them is not asked again.

        Where the library has an overlay, what they say is written to it and counted.
        remote: models behind an API, by name; their failures are no answers.
        """
        self._store = library.store
        self._archive = library.paths.name
        self._local = {plan.name: LocalModel(plan.identity, pool.get(plan)) for plan in models}
        self._remote = dict(remote or {})
        self._sink = None if library.store.overlay is None else _Sink(library.store, counters or Counters())
        self._flights = SingleFlight()
        self._recorded = library.store.scopes(SnapshotKind.COMPLETION)
        self._spoken: dict[str, Spoken] = {}
        self._lock = threading.Lock()

    def models(self) -> tuple[str, ...]:
        """Names of the models that can be asked."""
        return tuple(sorted({*self._recorded, *self._local, *self._remote}))

    def answer(self, wish: ChatWish, listener: Listener) -> Iterator[Completion]:
        """Yield as many completions as are wished.

        Errors:  WishError for a model that is not here, or that failed to answer; MissError before the first
                 one where a recorded model never said so much.
        """
        model = self._model(wish, listener)
        if model is None and wish.model not in self._recorded:
            names = ", ".join(self.models())
            message = f"no model {wish.model!r}; there are: {names}"
            raise WishError(message, "model", status=404, code="model_not_found")
        found = self._look_up(wish) if model is None else _ask(model, wish)
        for completion in found:
            yield _hold(wish, completion)

    def _model(self, wish: ChatWish, listener: Listener) -> ChatModel | None:
        """Return the local or remote model of a name, its records before it."""
        local = self._local.get(wish.model)
        if local is not None:
            _check_local(wish)
            return self._chain(_Listening(local, listener), keep_errors=True)
        remote = self._remote.get(wish.model)
        return None if remote is None else self._chain(_Willing(remote), keep_errors=False)

    def _chain(self, model: ChatModel, *, keep_errors: bool) -> ChatModel:
        recorded = RecordedModel(self._store, model.identity, archive=self._archive)
        if self._sink is None:
            return ChainedModel(recorded, model)
        recording = RecordingModel(model, self._sink, keep_errors=keep_errors)
        return _Once(ChainedModel(recorded, recording), self._flights)

    def _look_up(self, wish: ChatWish) -> Iterator[Completion]:
        with self._lock:
            if wish.model not in self._spoken:
                self._spoken[wish.model] = Spoken(self._store, wish.model)
            spoken = self._spoken[wish.model]
        exact = self._look_up_exactly(wish, spoken.identities)
        return iter(spoken.find(wish, archive=self._archive) if exact is None else exact)

    def _look_up_exactly(self, wish: ChatWish, identities: tuple[Json, ...]) -> list[Completion] | None:
        request = request_of(wish)
        for identity in identities:
            recorded = RecordedModel(self._store, identity)
            found = [recorded.find(request, seed=seed, trial=0) for seed in _seeds(wish)]
            if None not in found:
                return [completion for completion in found if completion is not None]
        return None


class _Once:
    """Asks a model once for all that ask the same at the same time: who comes second reads the record."""

    def __init__(self, model: ChatModel, flights: SingleFlight) -> None:
        self._model = model
        self._flights = flights

    @property
    def identity(self) -> Json:
        return self._model.identity

    def complete(self, request: ChatRequest, *, seed: int, trial: int) -> Completion:
        with self._flights.holding(completion_key(self.identity, request, seed=seed, trial=trial)):
            return self._model.complete(request, seed=seed, trial=trial)


class _Sink:
    """The overlay of a server; what is new in it is counted."""

    def __init__(self, store: LayeredStore, counters: Counters) -> None:
        self.get = store.get
        self.count = store.count
        self.scope = store.scope
        self._put = store.put
        self._counters = counters

    def put(self, snapshot: Snapshot) -> str:
        outcome = self._put(snapshot)
        if outcome is PutOutcome.NEW:
            self._counters.add("recorded")
        return outcome


class _Listening:
    """A local model and who listens to it."""

    def __init__(self, model: LocalModel, listener: Listener) -> None:
        self._model = model
        self._listener = listener

    @property
    def identity(self) -> Json:
        return self._model.identity

    def complete(self, request: ChatRequest, *, seed: int, trial: int) -> Completion:
        return self._model.complete(request, seed=seed, trial=trial, listener=self._listener)


class _Willing:
    """A remote model; a failure on the way is refused, so that the client may ask again."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def identity(self) -> Json:
        return self._model.identity

    def complete(self, request: ChatRequest, *, seed: int, trial: int) -> Completion:
        completion = self._model.complete(request, seed=seed, trial=trial)
        if completion.finish != "error":
            return completion
        detail = completion.detail if isinstance(completion.detail, dict) else {}
        kind, message = detail.get("error", "error"), detail.get("message", "")
        raise WishError(f"the upstream gave no answer: {message}", "", status=502, code=f"upstream_{kind}")


def open_remote(plan: ServePlan) -> dict[str, ChatModel]:
    """Open the remote models of a recording server, by name; none in any other mode.

    Errors:  InputError for a file of upstreams that is wrong; MissingExtraError without the HTTP client.
    """
    if plan.mode is not Mode.RECORD or not plan.upstream_file:
        return {}
    found = load_upstreams(Path(plan.upstream_file), needs_routes=False)
    return {
        name: RemoteModel(
            describe_remote(name, upstream.model or name, upstream.options),
            LiveChatWire(open_asker(upstream)),
            options=upstream.options,
        )
        for name, upstream in found.items()
        if upstream.kind == OPENAI
    }


def request_of(wish: ChatWish) -> ChatRequest:
    """Make the complete request of a wish: greedy where the client names no sampling."""
    return ChatRequest(
        role=Role.CANDIDATE,
        messages=wish.messages,
        tools=wish.tools,
        tool_choice=wish.tool_choice,
        response_schema=wish.schema,
        sampling=Sampling(
            temperature=_DEFAULT.temperature if wish.temperature is None else wish.temperature,
            top_p=_DEFAULT.top_p if wish.top_p is None else wish.top_p,
            max_tokens=_DEFAULT.max_tokens if wish.max_tokens is None else wish.max_tokens,
            stop=wish.stop or (),
        ),
        top_logprobs=msgspec.UNSET if wish.top_logprobs is None else wish.top_logprobs,
    )


def _ask(model: ChatModel, wish: ChatWish) -> Iterator[Completion]:
    """Ask once for each choice."""
    request = request_of(wish)
    for seed in _seeds(wish):
        yield model.complete(request, seed=seed, trial=0)


def _seeds(wish: ChatWish) -> Iterator[int]:
    """Derive a seed for each choice; the first is that of one choice alone."""
    first = derive_seed("served", wish.seed or 0)
    yield first
    yield from (derive_seed(first, choice) for choice in range(1, wish.n))


def _check_local(wish: ChatWish) -> None:
    """Refuse what a local model would not heed: names that no template writes, a schema beside calls."""
    code = "unsupported_parameter"
    for place, message in enumerate(wish.messages):
        if message.name and message.role != "tool":
            where = f"messages[{place}].name"
            raise WishError(f"{where} is not honoured by a local model", where, code=code)
    if wish.schema is not None and wish.tools and wish.tool_choice != "none":
        what = "a local model is held to a schema or may call tools, not both; tool_choice: none allows it"
        raise WishError(what, "response_format", code=code)


def _hold(wish: ChatWish, completion: Completion) -> Completion:
    """Turn an answer into a failure where it is not such as was asked for, whoever gave it."""
    fault = next(_faults(wish, completion), "") if completion.finish != "error" else ""
    if not fault:
        return completion
    detail = {"error": "invalid", "message": fault}
    return msgspec.structs.replace(completion, finish="error", detail=detail)


def _faults(wish: ChatWish, completion: Completion) -> Iterator[str]:
    if wish.schema is not None and completion.finish in COMPLETE and not completion.tool_calls:
        yield from _misfits(wish.schema, completion.content or "")
    if wish.one_call and len(completion.tool_calls) > 1:
        yield f"it makes {len(completion.tool_calls)} calls where one at a time was asked for"
    may_call = bool(wish.tools) and wish.tool_choice != "none"
    for call in completion.tool_calls:
        if not may_call:
            yield f"it calls {call.name[:80]!r} where nothing may be called"
        elif call.name in wish.strict_tools:
            schema = next(tool.parameters for tool in wish.tools if tool.name == call.name)
            for misfit in _misfits(schema or {"type": "object"}, call.arguments):
                yield f"the call of {call.name[:80]!r}, which is strict: {misfit}"


def _misfits(schema: Json, text: str) -> Iterator[str]:
    try:
        check_output(compile_schema(schema), text)
    except GrammarError as error:
        yield str(error)
