"""A chat model in the place of an API: what it is shown, and when what it says may pass for an answer.

Owns the prompt (a versioned file in our own words), the order and length of what goes into it, and the check
of the answer. What the API's documentation is and which form its answers have is told by whoever builds the
simulator. Writing answers down and finding them again is tools/simulated.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources
from typing import Final

import msgspec

from replay.core.canonical import canonical_bytes, digest
from replay.core.determinism import derive_seed
from replay.core.errors import InputError, MissError, RecordMissError, UpstreamError
from replay.core.keys import call_key
from replay.core.prompts import Prompt, parse_prompt
from replay.core.protocols import ChatModel
from replay.core.types import (
    CallRequest,
    ChatRequest,
    Completion,
    Digest,
    Json,
    Message,
    Origin,
    Provenance,
    Role,
    Sampling,
    ToolSpec,
)
from replay.store.answers import COMPLETE, ApiAnswer
from replay.tools.examples import Example, ExampleBook, render_examples
from replay.tools.simulated import SimulationFailure

__all__ = [
    "SIMULATOR_SAMPLING",
    "ApiForm",
    "ModelSimulator",
    "describe_simulator",
    "digest_documentation",
    "load_prompt",
]

SIMULATOR_SAMPLING: Final = Sampling(max_tokens=1024)
"""Greedy, so that one call gets one answer; as many tokens as upstream's simulator may write."""

_PROMPT: Final = "simulator-1"

_RULES_VERSION: Final = 1
"""Raised when the choice of examples or the rendering below changes; a part of the simulator's identity."""

_MAX_DOCUMENTATION: Final = 4_000
_MAX_CALL: Final = 4_000
"""Characters shown. A call with longer arguments is cut for the prompt, never for its key."""

_REASONS: Final = {"length": "truncated", "refused": "refused", "tool_calls": "invalid"}


class ApiForm:
    """What a benchmark's APIs look like from outside: their documentation and the form of their answers."""

    def __init__(
        self,
        *,
        document: Callable[[ToolSpec], Json],
        schema: Callable[[ToolSpec], Json],
        check: Callable[[Json, str], Json],
    ) -> None:
        """Keep the three functions.

        document: the documentation of an API, parameters included, as JSON in the order it is shown.
        schema: JSON Schema of an API's answers; InputError when the recorded shape cannot be used.
        check: (schema, text) -> the parsed text; InputError when it does not fit the schema.
        """
        self.document = document
        self.schema = schema
        self.check = check


class ModelSimulator:
    """Makes up API answers with a chat model. Safe to share between threads when the model is."""

    def __init__(self, model: ChatModel, form: ApiForm, examples: ExampleBook, *, seed: int = 0) -> None:
        """Simulate with `model`; every call gets a seed of its own, derived from `seed` and the call."""
        self._model = model
        self._form = form
        self._examples = examples
        self._seed = seed
        self._prompt = load_prompt()

    @property
    def identity(self) -> Json:
        """Model, prompt, rules, sampling and seed: what tells this simulator's answers from another's."""
        return describe_simulator(self._model.identity, seed=self._seed)

    def document(self, request: CallRequest) -> Digest:
        """Digest of the documentation and the recorded shape that answers to this call follow."""
        return digest_documentation(self._form, request)

    def simulate(self, request: CallRequest, *, occurrence: int) -> ApiAnswer | SimulationFailure | None:
        """Make up the answer to a call, or say why there is none; None when the model has nothing to say.

        Errors:  DamagedError and ModelError of the stores and the model, as they are; UpstreamError when a
                 remote model failed to answer, which is nothing that it said.
        """
        examples = self._examples.choose(request.tool)
        meta = {"simulator": self.identity, "examples": [example.key for example in examples]}
        try:
            schema = self._form.schema(_spec_of(request))
            seed = derive_seed(self._seed, Role.SIMULATOR.value, call_key(request), occurrence)
            chat = self._ask(request, examples, schema)
            completion = self._model.complete(chat, seed=seed, trial=occurrence)
        except RecordMissError as error:
            raise UpstreamError(error.what) from None
        except MissError:
            return None
        except InputError as error:
            # A shape that cannot be used or a template that refuses: this call has no answer, others may.
            return SimulationFailure(reason="error", detail=str(error), meta=meta)
        return self._read(completion, schema, {**meta, "completion": completion.key})

    def _ask(self, request: CallRequest, examples: tuple[Example, ...], schema: Json) -> ChatRequest:
        return ChatRequest(
            role=Role.SIMULATOR,
            messages=self._render(request, examples),
            sampling=SIMULATOR_SAMPLING,
            response_schema=schema,
            prompt_digest=self._prompt.digest,
        )

    def _render(self, request: CallRequest, examples: tuple[Example, ...]) -> tuple[Message, ...]:
        documentation = json.dumps(self._form.document(_spec_of(request)), ensure_ascii=False)
        shown = {
            "documentation": _cut(documentation, _MAX_DOCUMENTATION),
            "examples": render_examples(examples),
            "call": _cut(canonical_bytes(request.arguments).decode(), _MAX_CALL),
        }
        # A mark depends on what it encloses, so that nothing inside can hold the line that closes it; the
        # call has its own, so that all calls of a tool share the text before it.
        mark = digest("evidence", [shown["documentation"], shown["examples"]])
        call_mark = digest("evidence", shown["call"])
        return self._prompt.fill({**shown, "mark": mark[7:15], "call_mark": call_mark[7:15]})

    def _read(
        self, completion: Completion, schema: Json, meta: dict[str, Json]
    ) -> ApiAnswer | SimulationFailure:
        if completion.finish not in COMPLETE or completion.tool_calls:
            reason, detail = _explain_finish(completion)
            return SimulationFailure(reason=reason, detail=detail, meta=meta)
        text = completion.content or ""
        try:
            self._form.check(schema, text)
        except InputError as error:
            return SimulationFailure(reason="invalid", detail=str(error), meta=meta)
        return ApiAnswer(body=text, provenance=Provenance.SIMULATED, origin=Origin.SIMULATED, meta=meta)


def load_prompt() -> Prompt:
    """Load the simulator's prompt file."""
    file = resources.files("replay.tools") / "prompts" / f"{_PROMPT}.txt"
    return parse_prompt(file.read_text(encoding="utf-8"), where=f"tools/prompts/{_PROMPT}.txt")


def describe_simulator(model: Json, *, seed: int) -> Json:
    """Identity of a simulator over a model: model, prompt, rules, sampling and seed."""
    return {
        "model": model,
        "prompt": load_prompt().digest,
        "rules": _RULES_VERSION,
        "sampling": msgspec.to_builtins(SIMULATOR_SAMPLING),
        "seed": seed,
    }


def digest_documentation(form: ApiForm, request: CallRequest) -> Digest:
    """Digest of what a call's documentation says and of the recorded shape of its answers."""
    spec = _spec_of(request)
    return digest("documentation", {"shown": form.document(spec), "shape": spec.response_shape})


def _spec_of(request: CallRequest) -> ToolSpec:
    return request.spec or ToolSpec(name=request.tool, identity=request.tool)


def _explain_finish(completion: Completion) -> tuple[str, str]:
    """Name a completion that is no answer: reason in one word, detail."""
    detail = completion.detail if isinstance(completion.detail, dict) else {}
    named = detail.get("error")
    if completion.finish == "error" and isinstance(named, str) and named:
        return named, str(detail.get("message", ""))
    if completion.tool_calls:
        return "invalid", "it called a tool instead of answering"
    tokens = f"after {completion.completion_tokens} tokens" if completion.completion_tokens else ""
    return _REASONS.get(completion.finish, "error"), tokens


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]} ...[cut]"
