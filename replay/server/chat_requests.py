"""What an OpenAI client asks, read strictly: what this server does not honour is refused by name.

A value that asks for nothing (`n: 1`, a penalty of 0, `logprobs: false`) is honoured by doing nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

import jsonschema

from replay.core.types import Json, Message, Record, ToolCall, ToolSpec

__all__ = ["ChatWish", "WishError", "read_chat", "read_completion"]

MAX_CHOICES: Final = 16
_MAX_STOPS: Final = 4

_NOTHING: Final[Mapping[str, tuple[Json, ...]]] = {
    "frequency_penalty": (0, 0.0),
    "presence_penalty": (0, 0.0),
    "logit_bias": ({},),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "parallel_tool_calls": (True,),
    "store": (False,),
    "service_tier": ("auto", "default"),
    "echo": (False,),
    "best_of": (1,),
    "suffix": ("",),
    "modalities": (["text"],),
}
"""Options that are not honoured, and the values that ask for nothing; null always does."""

_WITHOUT_EFFECT: Final = frozenset({"user", "metadata", "safety_identifier", "prompt_cache_key"})
"""Options that name the asker or file the request, and can change no answer."""

_SAMPLING: Final = frozenset(
    {"temperature", "top_p", "max_tokens", "stop", "seed", "n", "stream", "stream_options"}
)
_CHAT: Final = _SAMPLING | {
    "model",
    "messages",
    "tools",
    "tool_choice",
    "response_format",
    "max_completion_tokens",
}
_TEXT: Final = _SAMPLING | {"model", "prompt"}
_ROLES: Final = ("system", "developer", "user", "assistant", "tool")
_MESSAGE: Final = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})


class WishError(ValueError):
    """A request that is not served; names the option."""

    def __init__(self, message: str, param: str, *, status: int = 400, code: str = "invalid_value") -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.status = status
        self.code = code


class ChatWish(Record, frozen=True, kw_only=True):
    """One request; None where the client left an option out."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str = "auto"
    schema: Json = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] | None = None
    seed: int | None = None
    n: int = 1
    stream: bool = False
    with_usage: bool = False


def read_chat(body: bytes) -> ChatWish:
    """Read a chat request. Errors: WishError naming the option that is wrong or not honoured."""
    asked = _read_object(body, _CHAT)
    limits = [asked[name] for name in ("max_completion_tokens", "max_tokens") if asked.get(name) is not None]
    if len(limits) == 2 and limits[0] != limits[1]:
        raise WishError("max_tokens and max_completion_tokens differ", "max_tokens")
    tools = _read_tools(asked.get("tools"))
    return _with_sampling(
        {**asked, "max_tokens": limits[0] if limits else None},
        messages=_read_messages(asked.get("messages")),
        tools=tools,
        tool_choice=_read_choice(asked.get("tool_choice"), tools),
        schema=_read_format(asked.get("response_format")),
    )


def read_completion(body: bytes) -> ChatWish:
    """Read a text completion request: its prompt is put as one message of a user."""
    asked = _read_object(body, _TEXT)
    prompt = asked.get("prompt")
    if not isinstance(prompt, str):
        raise WishError("prompt must be one text", "prompt")
    return _with_sampling(asked, messages=(Message(role="user", content=prompt),))


def _read_object(body: bytes, known: frozenset[str]) -> dict[str, Json]:
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise WishError(f"the body is not JSON: {error}", "") from None
    if not isinstance(asked, dict):
        raise WishError("the body is no JSON object", "")
    for name, value in asked.items():
        if name in known or name in _WITHOUT_EFFECT or value is None:
            continue
        allowed = _NOTHING.get(name, ())
        if not any(value == quiet and type(value) is type(quiet) for quiet in allowed):
            code = "unsupported_parameter"
            raise WishError(f"{name} is not honoured by this server; leave it out", name, code=code)
    if not isinstance(asked.get("model"), str):
        raise WishError("model must be a text", "model")
    return asked


def _with_sampling(asked: Mapping[str, Json], **read: Json) -> ChatWish:
    options = asked.get("stream_options")
    stream = asked.get("stream")
    if stream not in (None, True, False):
        raise WishError("stream must be true or false", "stream")
    if options is not None and (not stream or not isinstance(options, dict) or options.keys() - _STREAM):
        raise WishError("stream_options takes include_usage, of a stream only", "stream_options")
    stop = asked.get("stop")
    stops = (stop,) if isinstance(stop, str) else stop
    if stops is not None and not (
        isinstance(stops, (list, tuple))
        and len(stops) <= _MAX_STOPS
        and all(isinstance(s, str) and s for s in stops)
    ):
        raise WishError(f"stop must be a text or up to {_MAX_STOPS} texts, none empty", "stop")
    return ChatWish(
        model=asked["model"],
        temperature=_number(asked, "temperature", 2.0),
        top_p=_number(asked, "top_p", 1.0),
        max_tokens=_whole(asked, "max_tokens", 1, 1 << 20),
        seed=_whole(asked, "seed", -(1 << 63), (1 << 63) - 1),
        n=_whole(asked, "n", 1, MAX_CHOICES) or 1,
        stop=None if stops is None else tuple(stops),
        stream=bool(stream),
        with_usage=bool(options and options.get("include_usage")),
        **read,
    )


_STREAM: Final = {"include_usage"}


def _number(asked: Mapping[str, Json], name: str, most: float) -> float | None:
    value = asked.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
        raise WishError(f"{name} must be a number from 0 to {most:g}", name)
    return float(value)


def _whole(asked: Mapping[str, Json], name: str, least: int, most: int) -> int | None:
    value = asked.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise WishError(f"{name} must be a whole number from {least} to {most}", name)
    return value


def _read_messages(value: Json) -> tuple[Message, ...]:
    if not isinstance(value, list) or not value:
        raise WishError("messages must be a list of at least one", "messages")
    return tuple(_read_message(message, f"messages[{place}]") for place, message in enumerate(value))


def _read_message(value: Json, where: str) -> Message:
    if not isinstance(value, dict) or value.get("role") not in _ROLES:
        raise WishError(f"{where} must be an object with a role of {', '.join(_ROLES)}", where)
    for name in value.keys() - _MESSAGE:
        # What the client's own answers carry along, empty, is no part of a conversation.
        if value[name] not in (None, [], ""):
            raise WishError(
                f"{where}.{name} is not honoured", f"{where}.{name}", code="unsupported_parameter"
            )
    role = "system" if value["role"] == "developer" else value["role"]
    return Message(
        role=role,
        content=_read_content(value.get("content"), f"{where}.content"),
        tool_calls=tuple(_read_call(call, f"{where}.tool_calls") for call in value.get("tool_calls") or ()),
        tool_call_id=_text(value, "tool_call_id", where),
        name=_text(value, "name", where),
    )


def _read_content(value: Json, where: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and all(
        isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
        for part in value
    ):
        return "".join(part["text"] for part in value)
    raise WishError(f"{where} must be text: pictures, sound and files are not honoured", where)


def _read_call(value: Json, where: str) -> ToolCall:
    function = value.get("function") if isinstance(value, dict) else None
    if not isinstance(function, dict) or value.get("type", "function") != "function":
        raise WishError(f"{where} must hold calls of functions", where)
    return ToolCall(
        id=_text(value, "id", where),
        name=_text(function, "name", where),
        arguments=_text(function, "arguments", where),
    )


def _text(value: Mapping[str, Json], name: str, where: str) -> str:
    found = value.get(name)
    if found is not None and not isinstance(found, str):
        raise WishError(f"{where}.{name} must be a text", f"{where}.{name}")
    return found or ""


def _read_tools(value: Json) -> tuple[ToolSpec, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise WishError("tools must be a list", "tools")
    return tuple(_read_tool(tool, f"tools[{place}]") for place, tool in enumerate(value))


def _read_tool(value: Json, where: str) -> ToolSpec:
    function = value.get("function") if isinstance(value, dict) and value.get("type") == "function" else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
        raise WishError(f"{where} must be a function with a name", where)
    parameters = function.get("parameters")
    _check_schema(parameters, f"{where}.function.parameters")
    return ToolSpec(
        name=function["name"], description=_text(function, "description", where), parameters=parameters
    )


def _check_schema(schema: Json, where: str) -> None:
    if schema is None:
        return
    try:
        if not isinstance(schema, dict):
            raise WishError(f"{where} is no JSON Schema object", where)
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise WishError(f"{where} is no JSON Schema: {error.message}", where) from None
    except RecursionError:
        raise WishError(f"{where} is nested too deeply", where) from None


def _read_choice(value: Json, tools: tuple[ToolSpec, ...]) -> str:
    if value is None:
        return "auto"
    names = {tool.name for tool in tools}
    if (
        isinstance(value, dict)
        and value.get("type") == "function"
        and isinstance(value.get("function"), dict)
    ):
        value = value["function"].get("name")
        if value in names:
            return str(value)
    elif value in ("auto", "none") or (value == "required" and names):
        return str(value)
    raise WishError("tool_choice must be auto, none, required, or one of the tools", "tool_choice")


def _read_format(value: Json) -> Json:
    if value is None or value == {"type": "text"}:
        return None
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "json_object":
        return {"type": "object"}
    held = value.get("json_schema") if kind == "json_schema" else None
    if not isinstance(held, dict) or not isinstance(held.get("schema"), dict):
        raise WishError(
            "response_format must be text, json_object, or json_schema with a schema", "response_format"
        )
    _check_schema(held["schema"], "response_format.json_schema.schema")
    return held["schema"]
