"""A local model without llama.cpp: an engine that answers by looking at its prompt, and how a run finds it.

Named to a run as `finder="tests.support.engines:find_model"`. Its answers are a function of prompt and seed;
how long they take is not, so that jobs of several threads end in an order of their own.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from replay.core.canonical import digest
from replay.core.errors import HistoryError, ModelError
from replay.core.logprobs import RankedToken
from replay.core.types import ChatRequest, Json, ToolCall
from replay.llm.llamacpp.jobs import EngineSettings, Generation, GenerationJob, Listener
from replay.llm.llamacpp.output import Output
from replay.llm.local import Voice
from replay.wiring.roles import ModelPlan, ModelWish
from tests.support.models import make_identity

__all__ = [
    "FINDER",
    "LEFT",
    "LINGER",
    "OPENED",
    "PATIENT",
    "SIGN",
    "LineDialect",
    "PromptEngine",
    "find_model",
    "open_voice",
]

FINDER = "tests.support.engines:find_model"

OPENED: list[str] = []
"""Names of the models that were loaded in this process, in order; a test empties it first."""

PATIENT = "patient"
"""Name of a model that waits for a sign."""

SIGN = threading.Event()

LINGER = threading.Event()
"""While it is set, the patient model says no more until nobody listens."""

LEFT: list[str] = []
"""Why the patient model was interrupted, each time; a test empties it first."""

_PLACE = "Atlantis"


class LineDialect:
    """Prompts are JSON of the whole request; calls are lines `CALL name {arguments}`."""

    name = "lines"
    stop: tuple[str, ...] = ("\n\n\n",)

    def render(self, request: ChatRequest) -> str:
        """Write everything the engine looks at. A conversation with an orphaned result is refused."""
        called = {call.id for message in request.messages for call in message.tool_calls}
        for message in request.messages:
            if message.role == "tool" and message.tool_call_id not in called:
                raise HistoryError("a tool result without its call", where=f"call {message.tool_call_id}")
        return json.dumps(
            {
                "role": request.role,
                "said": [[message.role, message.content or ""] for message in request.messages],
                "tools": [[tool.name, tool.parameters] for tool in request.tools],
                "schema": request.response_schema,
            }
        )

    def grammar_for(self, request: ChatRequest) -> str:
        """No calls are demanded."""
        return ""

    def parse(self, text: str) -> tuple[str | None, tuple[ToolCall, ...]]:
        """Take the call lines out."""
        lines = text.splitlines()
        calls = [line.split(" ", 2) for line in lines if line.startswith("CALL ")]
        said = "\n".join(line for line in lines if not line.startswith("CALL ")).strip()
        return said or None, tuple(ToolCall(id="call_0", name=c[1], arguments=c[2]) for c in calls)

    def settle(self, text: str) -> str:
        """Keep the lines before one that may be a call."""
        lines = text.split("\n")
        call = next((n for n, line in enumerate(lines) if line.startswith("CALL ")), len(lines))
        if call == len(lines) and "CALL ".startswith(lines[-1]):
            call -= 1
        return "\n".join(lines[:call]).strip()


class PromptEngine:
    """Calls the first tool, then finishes; fills any schema; ends conversations when asked to."""

    def __init__(self, name: str, *, context_tokens: int = 100_000, pauses: bool = True) -> None:
        self.name = name
        self.jobs: list[GenerationJob] = []
        self._context_tokens = context_tokens
        self._pauses = itertools.cycle((0.004, 0.0, 0.002, 0.0, 0.001) if pauses else (0.0,))
        self._is_closed = False

    def tokenize(self, text: str, *, special: bool = True, bos: bool | None = None) -> tuple[int, ...]:
        """One token a byte."""
        return tuple(text.encode())

    def generate(self, job: GenerationJob, listener: Listener | None = None) -> Generation:
        """Answer by what the prompt asks for."""
        if self._is_closed:
            raise ModelError("the engine is closed")
        time.sleep(next(self._pauses))
        self.jobs.append(job)
        prompt = json.loads(bytes(job.tokens))
        whole = self._answer(prompt, job).encode()
        tokens = tuple(whole)[: job.sampling.max_tokens]
        output, settled = Output((*job.stop, *job.sampling.stop)), []
        is_stopped = False
        for token in tokens:
            is_stopped = is_stopped or output.add(bytes([token]))
            settled += [] if is_stopped else [output.settled()]
        ranked = () if job.top_logprobs is None else rank(output.kept(), job.top_logprobs)
        if listener is not None:
            self._tell(listener, settled[:-1], ranked)
        finish = "length" if len(tokens) < len(whole) and not is_stopped else "stop"
        if len(job.tokens) + len(tokens) > self._context_tokens:
            finish = "overflow"
        return Generation(
            tokens=tokens,
            text=output.text(),
            finish=finish,
            margins=tuple(0.0005 if token % 64 == 0 else 0.25 for token in tokens),
            prompt_tokens=len(job.tokens),
            reused_tokens=len(self.jobs) % 7,
            ranked=ranked,
        )

    def halt(self) -> None:
        """Refuse further jobs."""
        self._is_closed = True

    def close(self) -> None:
        """Refuse further jobs."""
        self._is_closed = True

    def _tell(self, listener: Listener, settled: Sequence[bytes], ranked: Sequence[RankedToken]) -> None:
        for number, known in enumerate(settled, 1):
            listener(known, ranked[:number])

    def _answer(self, prompt: dict[str, Json], job: GenerationJob) -> str:
        if prompt["schema"] is not None:
            assert job.grammar, "a constrained request without a grammar"
            if self.name == "endless":
                return "[" * (job.sampling.max_tokens + 1)
            value = fill(prompt["schema"], f"{self.name} {digest('prompt', prompt['said'])[7:15]}")
            return json.dumps(value)
        if prompt["role"] == "user":
            turns = sum(1 for role, _ in prompt["said"] if role == "assistant")
            return "CALL end_conversation {}" if turns > 1 else f"Please do step {turns}."
        return self._play(prompt, job)

    def _play(self, prompt: dict[str, Json], job: GenerationJob) -> str:
        tools = [(name, schema) for name, schema in prompt["tools"] if name != "Finish"]
        if not prompt["tools"]:
            return f"{self.name} says {job.seed % 1000}"
        results = [content for role, content in prompt["said"] if role == "tool"]
        if tools and not results:
            name, schema = tools[0]
            asked = {key: sample(part) for key, part in schema.get("properties", {}).items()}
            return f"I look it up.\nCALL {name} {json.dumps(asked)}"
        answer = {"return_type": "give_answer", "final_answer": f"It is {results[-1] if results else 'so'}"}
        return f"CALL Finish {json.dumps(answer)}"


class PatientEngine(PromptEngine):
    """Says eight words; behind half of them it waits for a sign where somebody listens."""

    def _tell(self, listener: Listener, settled: Sequence[bytes], ranked: Sequence[RankedToken]) -> None:
        try:
            half = settled[: len(settled) // 2]
            super()._tell(listener, half, ranked)
            while LINGER.wait(0.01):
                super()._tell(listener, half, ranked)
                time.sleep(0.01)
            assert SIGN.wait(20), "nobody gave the sign"
            super()._tell(listener, settled, ranked)
        except ModelError as error:
            LEFT.append(error.what)
            raise

    def _play(self, prompt: dict[str, Json], job: GenerationJob) -> str:
        return "one two three four five six seven eight"


def rank(tokens: bytes, count: int) -> tuple[RankedToken, ...]:
    """Each byte is likely, the end of the text less so."""
    found = [(bytes([token]), -0.125 * (token % 4 + 1)) for token in tokens]
    others = ((b"<|end|>", -1.5), *((b"%d" % number, -2.0 - number) for number in range(count)))
    return tuple(
        RankedToken(piece=piece, logprob=value, top=((piece, value), *others)[:count])
        for piece, value in found
    )


def sample(schema: Json) -> Json:
    """A value for a parameter that no archive knows."""
    return {"integer": 7, "number": 7.5, "boolean": True}.get(schema.get("type"), _PLACE)


def fill(schema: Any, text: str) -> Json:
    """The smallest value that fits a schema of the usual kinds."""
    if not isinstance(schema, dict) or not schema:
        return text
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        return {name: fill(schema["properties"][name], text) for name in schema.get("required", [])}
    if kind == "array":
        return [fill(schema.get("items"), text)] * min(1, schema.get("maxItems", 1))
    return {"string": text, "integer": 3, "number": 1.5, "boolean": True, "null": None}[kind or "string"]


def find_model(word: str, wish: ModelWish) -> ModelPlan:
    """Find any name but `absent`: with the fingerprint N when it ends in `@N`; `endless` closes no answer."""
    if word == "absent":
        raise ModelError("there is no model 'absent'", next_step="replay models add FILE.gguf")
    name, _, number = word.partition("@")
    fingerprint = f"sha256:{number or 'bb'}"
    return ModelPlan(
        name=name,
        identity=make_identity(name, fingerprint=fingerprint),
        fingerprint=fingerprint,
        weights=name,
        settings=EngineSettings(sequences=3),
        opener="tests.support.engines:open_voice",
        is_unpinned=wish.allow_unpinned,
    )


def open_voice(plan: ModelPlan) -> Voice:
    """Load it."""
    OPENED.append(plan.name)
    return Voice((PatientEngine if plan.name == PATIENT else PromptEngine)(plan.name), LineDialect())


def find_elsewhere(word: str, wish: ModelWish) -> ModelPlan:
    """Find the same weights on a machine that computes otherwise."""
    return find_model(f"{word}@dd", wish)


def find_another_mind(word: str, wish: ModelWish) -> ModelPlan:
    """Find a model that claims to be the one asked for and says other things."""
    return msgspec.structs.replace(find_model(word, wish), opener="tests.support.engines:open_another_mind")


def open_another_mind(plan: ModelPlan) -> Voice:
    """Load a model of another name under this identity."""
    return Voice(PromptEngine("impostor"), LineDialect())


def find_nothing(word: str, wish: ModelWish) -> ModelPlan:
    """Find no model at all."""
    raise ModelError(f"there is no model {word!r}", next_step="replay models add FILE.gguf")


def find_other_weights(word: str, wish: ModelWish) -> ModelPlan:
    """Find a model of that name with other tensors."""
    return _with_other(find_model(word, wish), "tensors")


def find_other_prompts(word: str, wish: ModelWish) -> ModelPlan:
    """Find the model of that name, spoken to in another dialect."""
    return _with_other(find_model(word, wish), "dialect")


def _with_other(plan: ModelPlan, field: str) -> ModelPlan:
    return msgspec.structs.replace(plan, identity={**plan.identity, field: "another"})
