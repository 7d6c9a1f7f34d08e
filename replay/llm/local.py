"""A chat model on this machine: an engine that generates, a dialect that renders and parses, a grammar.

What it answers is a function of its identity and the request, seed included; warm or cold, alone or beside
others. So everything that comes of a request is recorded, what went wrong with it too: a conversation that no
longer fits the context is a finish of its own (`error`, with the reason in `detail`), never a silent cut.
"""

from __future__ import annotations

import codecs
import threading
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol, Self

import msgspec

from replay.core.canonical import digest
from replay.core.costs import Cost, CostMeter
from replay.core.determinism import Stopwatch, deterministic_id
from replay.core.errors import GrammarError, HistoryError, ModelError
from replay.core.logprobs import RankedToken, write_logprobs
from replay.core.types import ChatRequest, Completion, Json, Provenance, Role, ToolCall
from replay.llm.grammar.fitting import compile_within
from replay.llm.grammar.schema import CompiledSchema, check_output, compile_schema
from replay.llm.guarding import Guard
from replay.llm.llamacpp.jobs import (
    FINISH_LENGTH,
    FINISH_OVERFLOW,
    FINISH_STOP,
    Generation,
    GenerationJob,
    Listener,
)
from replay.llm.ordering import in_key_order

__all__ = ["AT_RISK", "Dialect", "LocalModel", "LocalWeights", "TextEngine", "Voice", "WordListener"]

AT_RISK: Final = 1e-3
"""Nats between the best two tokens below which another machine may choose the other one."""

_MAX_SCHEMAS: Final = 256
"""Compiled schemas that are kept: more than the tools of one run."""

WordListener = Callable[[str, Sequence[RankedToken]], None]
"""Told while an answer is generated which words it begins with, and the ranked tokens so far.

It must not wait; a ReplayError that it raises ends the request. It may hear the same words again, or fewer.
"""


class TextEngine(Protocol):
    """Generates text (LocalEngine)."""

    def tokenize(self, text: str, *, special: bool = True, bos: bool | None = None) -> tuple[int, ...]:
        """Split text into tokens."""
        ...

    def generate(self, job: GenerationJob, listener: Listener | None = None) -> Generation:
        """Run one job to its end, telling of the text as it grows; blocks, thread-safe."""
        ...

    def halt(self) -> None:
        """End the jobs in flight with a ModelError."""
        ...

    def close(self) -> None:
        """Free the memory."""
        ...


class Dialect(Protocol):
    """How one family of models writes conversations and calls."""

    name: str
    stop: tuple[str, ...]

    def render(self, request: ChatRequest) -> str:
        """Write the prompt. Raises HistoryError when none can be made of the conversation."""
        ...

    def grammar_for(self, request: ChatRequest) -> str:
        """Grammar of the calls that the request demands, or empty. Raises GrammarError."""
        ...

    def parse(self, text: str) -> tuple[str | None, tuple[ToolCall, ...]]:
        """Split what was generated into what is said and what is called."""
        ...

    def settle(self, text: str) -> str:
        """Return what is said in every text that begins like this, as far as that is certain."""
        ...


class Voice(NamedTuple):
    """A loaded model that can be spoken to."""

    engine: TextEngine
    dialect: Dialect
    guard: Guard = Guard(())
    """Against control tokens in what people and tools wrote."""

    def read(self, request: ChatRequest) -> tuple[int, ...]:
        """Render a request and split it into tokens.

        Errors:  HistoryError when no prompt can be made of the conversation; ModelError when the template
                 fails.
        """
        guarded, mark = self.guard.write(request)
        tokens: list[int] = []
        for number, piece in enumerate(self.guard.cut(self.dialect.render(guarded), mark)):
            # The begin token stands before the first piece, as the model asks for it.
            bos = False if number else None
            tokens += self.engine.tokenize(piece.text, special=not piece.is_plain, bos=bos)
        return tuple(tokens)


class LocalWeights:
    """The loaded model of one process, shared by every role; loaded when the first request comes."""

    def __init__(self, load: Callable[[], Voice]) -> None:
        """Load with this function, once."""
        self._load = load
        self._voice: Voice | None = None
        self._is_halted = False
        self._lock = threading.Lock()
        self._schemas: dict[str, CompiledSchema] = {}

    def voice(self) -> Voice:
        """Return the loaded model.

        Errors:  those of loading; ModelError once the model was halted.
        """
        with self._lock:
            if self._is_halted:
                raise ModelError("the local model was stopped", expected="a run that goes on")
            if self._voice is None:
                self._voice = self._load()
            return self._voice

    def compile(self, schema: Json, *, within: int = 0) -> CompiledSchema:
        """Compile a schema once, with `within` to texts that end in so many tokens.

        Errors:  GrammarError when it cannot constrain.
        """
        key = digest("response-schema", [schema, within])
        with self._lock:
            found = self._schemas.get(key)
        if found is None:
            found = compile_within(schema, max_tokens=within) if within else compile_schema(schema)
            with self._lock:
                if len(self._schemas) >= _MAX_SCHEMAS:
                    self._schemas.clear()
                self._schemas[key] = found
        return found

    def halt(self) -> None:
        """Refuse further requests and end those in flight."""
        with self._lock:
            self._is_halted = True
            voice = self._voice
        if voice is not None:
            voice.engine.halt()

    def close(self) -> None:
        """Refuse further requests, wait for those in flight, and free the memory."""
        with self._lock:
            self._is_halted = True
            voice, self._voice = self._voice, None
        if voice is not None:
            voice.engine.close()


class LocalModel:
    """Answers chat requests with a local model. Without per-episode state; thread-safe."""

    def __init__(
        self,
        identity: Json,
        weights: LocalWeights,
        *,
        meter: CostMeter | None = None,
        keep_tokens: bool = False,
    ) -> None:
        """Answer under this identity with these weights.

        meter: where costs are counted, by role.
        keep_tokens: put the token ids and a digest of all logits into each completion's detail.
        """
        self._identity = identity
        self._weights = weights
        self._meter = meter or CostMeter()
        self._keep_tokens = keep_tokens

    @property
    def identity(self) -> Json:
        """Name, tensor digest, numeric fingerprint and dialect: what tells this model from every other."""
        return self._identity

    def for_episode(self, task: str, *, trial: int) -> Self:  # noqa: ARG002
        """Return this model: nothing of an episode stays in it."""
        return self

    def complete(
        self,
        request: ChatRequest,
        *,
        seed: int,
        trial: int,  # noqa: ARG002
        listener: WordListener | None = None,
    ) -> Completion:
        """Generate the answer to a request.

        listener: hears the words as they come.
        Finish:  stop, tool_calls, length (the token budget), or error with `detail.error`: overflow (the
                 context is full), history (no prompt can be made), grammar (the schema cannot constrain; the
                 model was not asked), invalid (the output does not fit its schema).
        Errors:  those of loading the model; ModelError when the library fails.
        """
        voice = self._weights.voice()
        request = in_key_order(request)
        try:
            prompt = voice.read(request)
        except (HistoryError, ModelError) as error:
            # A template that refuses this conversation may take the next one.
            return _failed("history", str(error))
        try:
            schema = request.response_schema
            compiled = None if schema is None else self._weights.compile(schema)
            grammar = voice.dialect.grammar_for(request) if compiled is None else compiled.gbnf
        except GrammarError as error:
            return _failed("grammar", str(error))
        top = None if request.top_logprobs is msgspec.UNSET else request.top_logprobs
        job = GenerationJob(
            tokens=prompt,
            sampling=request.sampling,
            seed=seed,
            grammar=grammar,
            stop=voice.dialect.stop,
            logits_digest=self._keep_tokens,
            top_logprobs=top,
        )
        hear = None if listener is None else _ear(voice.dialect, listener, is_held=compiled is not None)
        generation = self._generate(request, voice.engine, job, hear)
        if compiled is not None and request.role is Role.SIMULATOR and generation.finish == FINISH_LENGTH:
            return self._begin_again(request, voice, job, compiled)
        completion = self._read(generation, compiled, voice.dialect, seed)
        if top is None:
            return completion
        ranked = write_logprobs(generation.ranked, top=top)
        return msgspec.structs.replace(completion, detail={**completion.detail, **ranked})

    def _begin_again(
        self, request: ChatRequest, voice: Voice, job: GenerationJob, compiled: CompiledSchema
    ) -> Completion:
        """Generate what was cut once more, under a grammar of which every text ends within the budget.

        A small model that stands in for an API may write one string for ever, and a cut answer is none.
        """
        bounded = self._weights.compile(compiled.schema, within=request.sampling.max_tokens)
        generation = self._generate(request, voice.engine, msgspec.structs.replace(job, grammar=bounded.gbnf))
        completion = self._read(generation, bounded, voice.dialect, job.seed)
        return msgspec.structs.replace(completion, detail={**completion.detail, "bounded": True})

    def _generate(
        self, request: ChatRequest, engine: TextEngine, job: GenerationJob, hear: Listener | None = None
    ) -> Generation:
        watch = Stopwatch()
        generation = engine.generate(job, hear)
        cost = Cost(
            requests=1,
            prompt_tokens=generation.prompt_tokens,
            reused_tokens=generation.reused_tokens,
            generated_tokens=len(generation.tokens),
            seconds=watch.elapsed_s(),
            overflowed=int(generation.finish == FINISH_OVERFLOW),
        )
        self._meter.add(request.role.value, cost)
        return generation

    def _read(
        self, generation: Generation, compiled: CompiledSchema | None, dialect: Dialect, seed: int
    ) -> Completion:
        detail = self._detail(generation)
        finish = "stop" if generation.finish == FINISH_STOP else "length"
        content: str | None = generation.text
        calls: tuple[ToolCall, ...] = ()
        if generation.finish == FINISH_OVERFLOW:
            used = generation.prompt_tokens + len(generation.tokens)
            finish = "error"
            detail |= {"error": "overflow", "message": f"the context is full after {used} tokens"}
        elif compiled is not None:
            fault = _check(compiled, generation) if finish == "stop" else ""
            if fault:
                finish = "error"
                detail |= {"error": "invalid", "message": fault}
        else:
            content, found = dialect.parse(generation.text)
            calls = tuple(_rename(call, seed, number) for number, call in enumerate(found))
            if calls and finish == "stop":
                finish = "tool_calls"
        return Completion(
            content=content,
            tool_calls=calls,
            finish=finish,
            prompt_tokens=generation.prompt_tokens,
            completion_tokens=len(generation.tokens),
            provenance=Provenance.GENERATED,
            detail=detail,
        )

    def _detail(self, generation: Generation) -> dict[str, Json]:
        detail: dict[str, Json] = {
            "at_risk": sum(1 for margin in generation.margins if margin < AT_RISK),
            "min_margin": min(generation.margins, default=None),
        }
        if self._keep_tokens:
            detail |= {"token_ids": list(generation.tokens), "logits_digest": generation.logits_digest}
        return detail


def _ear(dialect: Dialect, listener: WordListener, *, is_held: bool) -> Listener:
    """Turn bytes that stay into words that stay, for a listener; is_held: a schema says what is said."""
    settle = _settle_held if is_held else dialect.settle

    def hear(data: bytes, ranked: Sequence[RankedToken]) -> None:
        # A character that is not whole yet is left out.
        listener(settle(codecs.getincrementaldecoder("utf-8")("replace").decode(data)), ranked)

    return hear


def _settle_held(text: str) -> str:
    """Keep a text as it is; white space in front is taken away where the answer fails."""
    return "" if text[:1].isspace() else text


def _check(compiled: CompiledSchema, generation: Generation) -> str:
    """Say what is wrong with a finished output, or nothing."""
    try:
        check_output(compiled, generation.text)
    except GrammarError as error:
        return str(error)
    return ""


def _rename(call: ToolCall, seed: int, number: int) -> ToolCall:
    """Give a call an id of its own: models write none, or the same one each time."""
    return ToolCall(id=deterministic_id("call", seed, number), name=call.name, arguments=call.arguments)


def _failed(error: str, message: str) -> Completion:
    detail = {"error": error, "message": message}
    return Completion(finish="error", provenance=Provenance.GENERATED, detail=detail)
