"""A chat model behind an OpenAI-compatible API: one request, one whole answer or a named failure.

It is asked in record mode only. What comes back is recorded like any completion, the raw answer (or the raw
events of a stream) beside the joined message; a failure on the way is a finish of its own and no answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, Protocol, Self

import msgspec

from replay.core.determinism import deterministic_id
from replay.core.errors import RecordMissError, UpstreamError
from replay.core.keys import completion_key, completion_request
from replay.core.logprobs import write_logprobs
from replay.core.types import ChatRequest, Completion, Json, Message, Provenance, ToolCall, ToolSpec
from replay.llm.remote_answers import RemoteAnswer, read_answer_text, read_events, read_ranks
from replay.store.journal import Journal

__all__ = ["AnsweringModel", "ChatWire", "RemoteModel", "describe_remote", "request_body"]

_FINISHES: Final = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "content_filter": "refused",
}


class ChatWire(Protocol):
    """Carries one chat request to an upstream."""

    is_streamed: bool

    def post(self, body: bytes) -> bytes:
        """Return the body of the whole answer. Raises UpstreamError, its text beginning with the kind."""
        ...


class RemoteModel:
    """Answers chat requests through a wire. Without per-episode state; thread-safe."""

    def __init__(
        self, identity: Json, wire: ChatWire, *, options: Json = None, journal: Journal | None = None
    ) -> None:
        """Answer under this identity.

        options: further fields of each request, over ours; null takes a field out.
        journal: where answers are kept the moment they come, over all workers of a run.
        """
        self._identity = identity
        self._wire = wire
        self._options = options or {}
        self._journal = journal

    @property
    def identity(self) -> Json:
        """Name, model and options: what tells this model from every other."""
        return self._identity

    def for_episode(self, task: str, *, trial: int) -> Self:  # noqa: ARG002
        """Return this model: nothing of an episode stays in it."""
        return self

    def complete(self, request: ChatRequest, *, seed: int, trial: int) -> Completion:
        """Ask the upstream, or return what it said to the same request earlier in this run.

        Finish:  stop, tool_calls, length, refused, or error with `detail.error`, the kind of failure.
        """
        if self._journal is None:
            return self._ask(request, seed)
        key = completion_key(self._identity, request, seed=seed, trial=trial)
        with self._journal.holding(key):
            held = self._journal.read(key, 0)
            if held is not None:
                return msgspec.convert(held, Completion)
            completion = self._ask(request, seed)
            if completion.finish != "error":
                self._journal.write(key, 0, msgspec.to_builtins(completion))
            return completion

    def _ask(self, request: ChatRequest, seed: int) -> Completion:
        if request.sampling.top_k:
            return _failed("request", "top_k is not a part of this API")
        model = self._identity["model"]
        body = request_body(request, model=model, seed=seed, stream=self._wire.is_streamed)
        merged = {**body, **self._options}
        sent = {name: value for name, value in merged.items() if value is not None}
        try:
            raw = self._wire.post(json.dumps(sent, ensure_ascii=False).encode())
        except UpstreamError as error:
            kind, _, message = error.what.partition(": ")
            return _failed(kind, message)
        answer = read_events(raw) if self._wire.is_streamed else read_answer_text(raw)
        if isinstance(answer, str):
            return _failed("answer", answer)
        return _with_ranks(_completion(answer, raw, seed), answer, sent)


class AnsweringModel:
    """A remote model of which only answers are taken: a failure on the way is a miss, and scores nobody."""

    def __init__(self, model: RemoteModel) -> None:
        """Ask this model."""
        self._model = model

    @property
    def identity(self) -> Json:
        """Identity of the model."""
        return self._model.identity

    def for_episode(self, task: str, *, trial: int) -> Self:  # noqa: ARG002
        """Return this model: nothing of an episode stays in it."""
        return self

    def complete(self, request: ChatRequest, *, seed: int, trial: int) -> Completion:
        """Ask the upstream.

        Errors:  RecordMissError naming the kind of failure.
        """
        completion = self._model.complete(request, seed=seed, trial=trial)
        if completion.finish != "error":
            return completion
        detail = completion.detail
        error = RecordMissError(
            f"the remote model {self.identity['name']!r} gave no answer: "
            f"{detail['error']}: {detail.get('message', '')}".rstrip(": "),
            next_step="ask again in a new --out folder; with --overlay RUN/overlay what was answered is not "
            "asked twice; --keep-errors records failures",
        )
        asked = completion_request(self.identity, request, seed=seed, trial=trial)
        error.want = {"kind": "completion", "request": asked}
        raise error


def describe_remote(name: str, model: str, options: Json) -> Json:
    """Identity of a remote model; where it runs is not a part of it."""
    identity: dict[str, Json] = {"name": name, "kind": "remote", "model": model}
    return identity | ({"options": options} if options else {})


def request_body(request: ChatRequest, *, model: str, seed: int, stream: bool) -> dict[str, Json]:
    """Write a request as the chat API wants it."""
    sampling = request.sampling
    body: dict[str, Json] = {
        "model": model,
        "messages": [_message(message) for message in request.messages],
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_tokens": sampling.max_tokens,
        "seed": seed,
    }
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        body["tool_choice"] = _choice(request.tool_choice)
    if request.response_schema is not None:
        schema = {"name": "answer", "schema": request.response_schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    if request.top_logprobs is not msgspec.UNSET:
        body |= {"logprobs": True, "top_logprobs": request.top_logprobs}
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return body


def _message(message: Message) -> dict[str, Json]:
    written: dict[str, Json] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        written["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    elif message.content is None:
        written["content"] = ""
    if message.tool_call_id:
        written["tool_call_id"] = message.tool_call_id
    if message.name and message.role != "tool":
        written["name"] = message.name
    return written


def _tool(tool: ToolSpec) -> dict[str, Json]:
    parameters = tool.parameters if tool.parameters is not None else {"type": "object", "properties": {}}
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def _choice(choice: str) -> Json:
    if choice in {"auto", "none", "required"}:
        return choice
    return {"type": "function", "function": {"name": choice}}


def _completion(answer: RemoteAnswer, raw: bytes, seed: int) -> Completion:
    calls = tuple(
        ToolCall(
            id=call.id or deterministic_id("call", seed, number), name=call.name, arguments=call.arguments
        )
        for number, call in enumerate(answer.calls)
    )
    finish = _FINISHES.get(answer.finish)
    detail: dict[str, Json] = {"raw": raw.decode("utf-8", "replace")}
    if finish is None:
        finish = "error"
        detail |= {"error": "finish", "message": f"finish reason {answer.finish!r}"}
    if finish in {"stop", "tool_calls"}:
        finish = "tool_calls" if calls else "stop"
    if answer.refusal:
        finish = "refused"
    return Completion(
        content=answer.refusal or answer.content,
        tool_calls=calls,
        finish=finish,
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        provenance=Provenance.RECORDED,
        detail=detail,
    )


def _with_ranks(completion: Completion, answer: RemoteAnswer, sent: Mapping[str, Json]) -> Completion:
    """Add the log-probabilities that were asked for; without them the answer is none."""
    if not sent.get("logprobs"):
        return completion
    ranked = read_ranks(answer.ranks)
    if isinstance(ranked, str):
        return _failed("answer", ranked)
    held = write_logprobs(ranked, top=sent.get("top_logprobs") or 0)
    return msgspec.structs.replace(completion, detail={**completion.detail, **held})


def _failed(error: str, message: str) -> Completion:
    return Completion(
        finish="error",
        provenance=Provenance.RECORDED,
        detail={"error": error, "message": message},
    )
