"""The body of an OpenAI client's request, read strictly: what this server does not honour is refused by name.

A value that asks for nothing (`n: 1`, a penalty of 0, `echo: false`) is honoured by doing nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from replay.core.logprobs import MOST_LOGPROBS
from replay.core.types import Json, Message
from replay.server.chat_messages import (
    CheckedSchemas,
    read_choice,
    read_format,
    read_messages,
    read_tools,
    strict_names,
)
from replay.server.chat_wishes import ChatWish, WishError, refuse_others

__all__ = ["CHAT", "MAX_CHOICES", "QUIET", "TEXT", "WITHOUT_EFFECT", "read_chat", "read_completion"]

MAX_CHOICES: Final = 16
_MAX_STOPS: Final = 4

QUIET: Final[Mapping[str, tuple[Json, ...]]] = {
    "frequency_penalty": (0, 0.0),
    "presence_penalty": (0, 0.0),
    "logit_bias": ({},),
    "store": (False,),
    "service_tier": ("auto", "default"),
    "echo": (False,),
    "best_of": (1,),
    "suffix": ("",),
    "modalities": (["text"],),
}
"""Options that are not honoured, and the values that ask for nothing; null always does."""

WITHOUT_EFFECT: Final = frozenset({"user", "metadata", "safety_identifier", "prompt_cache_key"})
"""Options that name the asker or file the request, and can change no answer."""

_SAMPLING: Final = frozenset(
    {"temperature", "top_p", "max_tokens", "stop", "seed", "n", "stream", "stream_options", "logprobs"}
)
CHAT: Final = _SAMPLING | {
    "model",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "max_completion_tokens",
    "top_logprobs",
}
"""Options of a chat request that are honoured."""
TEXT: Final = _SAMPLING | {"model", "prompt"}
"""Options of a text completion that are honoured."""


def read_chat(body: bytes, schemas: CheckedSchemas | None = None) -> ChatWish:
    """Read a chat request.

    schemas: those that need no check, from request to request.
    Errors:  WishError naming the option that is wrong or not honoured.
    """
    schemas = CheckedSchemas() if schemas is None else schemas
    asked = _read_object(body, CHAT)
    limits = [asked[name] for name in ("max_completion_tokens", "max_tokens") if asked.get(name) is not None]
    if len(limits) == 2 and limits[0] != limits[1]:
        raise WishError("max_tokens and max_completion_tokens differ", "max_tokens")
    tools = read_tools(asked.get("tools"), schemas)
    return _with_sampling(
        {**asked, "max_tokens": limits[0] if limits else None},
        messages=read_messages(asked.get("messages")),
        tools=tools,
        strict_tools=strict_names(asked.get("tools")),
        tool_choice=read_choice(asked.get("tool_choice"), tools),
        one_call=not _flag(asked, "parallel_tool_calls", default=True),
        schema=read_format(asked.get("response_format"), schemas),
        top_logprobs=_read_logprobs(asked),
    )


def read_completion(body: bytes) -> ChatWish:
    """Read a text completion request: its prompt is put as one message of a user."""
    asked = _read_object(body, TEXT)
    prompt = asked.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1:
        [prompt] = prompt
    if not isinstance(prompt, str):
        raise WishError("prompt must be one text", "prompt")
    return _with_sampling(
        asked,
        messages=(Message(role="user", content=prompt),),
        top_logprobs=_whole(asked, "logprobs", 0, MOST_LOGPROBS),
    )


def _read_object(body: bytes, known: frozenset[str]) -> dict[str, Json]:
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise WishError(f"the body is not JSON: {error}", "") from None
    if not isinstance(asked, dict):
        raise WishError("the body is no JSON object", "")
    for name, value in asked.items():
        if name in known or name in WITHOUT_EFFECT or value is None:
            continue
        allowed = QUIET.get(name, ())
        if not any(value == quiet and type(value) is type(quiet) for quiet in allowed):
            code = "unsupported_parameter"
            raise WishError(f"{name} is not honoured by this server; leave it out", name, code=code)
    if not isinstance(asked.get("model"), str):
        raise WishError("model must be a text", "model")
    return asked


def _with_sampling(asked: Mapping[str, Json], **read: Json) -> ChatWish:
    stream = _flag(asked, "stream")
    return ChatWish(
        model=asked["model"],
        temperature=_number(asked, "temperature", 2.0),
        top_p=_read_top_p(asked),
        max_tokens=_whole(asked, "max_tokens", 1, 1 << 20),
        seed=_whole(asked, "seed", -(1 << 63), (1 << 63) - 1),
        n=_whole(asked, "n", 1, MAX_CHOICES) or 1,
        stop=_read_stops(asked.get("stop")),
        stream=stream,
        with_usage=_read_usage(asked.get("stream_options"), is_stream=stream),
        **read,
    )


def _read_top_p(asked: Mapping[str, Json]) -> float | None:
    value = _number(asked, "top_p", 1.0)
    if value == 0:
        raise WishError("top_p must be above 0; temperature: 0 takes the likeliest token", "top_p")
    return value


def _read_stops(stop: Json) -> tuple[str, ...] | None:
    stops = [stop] if isinstance(stop, str) else stop
    if stops is None:
        return None
    is_list = isinstance(stops, list) and len(stops) <= _MAX_STOPS
    if not is_list or not all(isinstance(text, str) and text for text in stops):
        raise WishError(f"stop must be a text or up to {_MAX_STOPS} texts, none empty", "stop")
    return tuple(stops)


def _read_usage(options: Json, *, is_stream: bool) -> bool:
    """Read whether a stream ends with its usage; obfuscation is never added, and may be asked not to be."""
    where = "stream_options"
    if options is None:
        return False
    if not is_stream or not isinstance(options, dict):
        raise WishError("stream_options belong to a stream", where)
    if options.get("include_obfuscation"):
        place = f"{where}.include_obfuscation"
        raise WishError(f"{place} is not honoured by this server", place, code="unsupported_parameter")
    refuse_others(options, {"include_usage", "include_obfuscation"}, where)
    return _flag(options, "include_usage", where)


def _read_logprobs(asked: Mapping[str, Json]) -> int | None:
    is_wanted = _flag(asked, "logprobs")
    count = _whole(asked, "top_logprobs", 0, MOST_LOGPROBS)
    if count and not is_wanted:
        raise WishError("top_logprobs needs logprobs: true", "top_logprobs")
    return (count or 0) if is_wanted else None


def _flag(asked: Mapping[str, Json], name: str, where: str = "", *, default: bool = False) -> bool:
    value = asked.get(name)
    place = f"{where}.{name}" if where else name
    if value is not None and not isinstance(value, bool):
        raise WishError(f"{place} must be true or false", place)
    return default if value is None else bool(value)


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
