"""Every field of the official client's own request types is honoured, or refused by its name.

The fields are read from the client's types, nested ones too: one that a later version adds fails here unless
it is refused, and a new kind of message, tool or part fails until somebody decides about it.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import msgspec
import pytest
from openai.types import chat, completion_create_params, shared_params
from openai.types.chat import chat_completion_assistant_message_param as assistant_message
from openai.types.chat import completion_create_params as chat_create_params
from openai.types.shared_params import response_format_json_schema as json_schema_format
from typing_extensions import get_type_hints, is_typeddict

from replay.core.types import Json
from replay.server.chat_messages import CheckedSchemas
from replay.server.chat_requests import CHAT, QUIET, TEXT, WITHOUT_EFFECT, read_chat, read_completion
from replay.server.chat_wishes import ChatWish, WishError
from replay.wiring.serving.chat import request_of

TOOL: Final[Json] = {
    "type": "function",
    "function": {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": False},
}
CALL: Final[Json] = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
SCHEMA: Final[Json] = {"name": "n", "schema": {"type": "object"}, "strict": True}
PART: Final[Json] = {"type": "text", "text": "hi"}
USER: Final[Json] = {"role": "user", "content": "hi"}
LEAST: Final[Json] = {"model": "m", "messages": [USER]}
LOUD: Final[tuple[Json, ...]] = (True, False, 0, 1, 0.5, "loud", {"a": 1}, ["a"], [{"type": "x"}])


def wish_of(**words: Json) -> ChatWish:
    """Read a chat request."""
    return read_chat(json.dumps({**LEAST, **words}).encode())


def text_wish_of(**words: Json) -> ChatWish:
    """Read a request for a text."""
    return read_completion(json.dumps({"model": "m", "prompt": "hi", **words}).encode())


def effect(wish: ChatWish) -> Json:
    """Everything that comes of a request: what the model is asked, how often, and what is shown of it."""
    shown = [wish.model, wish.seed, wish.n, wish.stream, wish.with_usage, list(wish.strict_tools)]
    shown.append(wish.one_call)
    return [msgspec.to_builtins(request_of(wish)), shown]


class Place(NamedTuple):
    """Where a type of the client stands in a request."""

    put: Callable[[Json], Json]
    """The words of a request that holds an instance there."""
    least: Json
    honoured: frozenset[str]
    """Fields that are read; all others must be refused."""


def message(**words: Json) -> Place:
    """Place a message behind another one."""
    named = frozenset(words)
    return Place(lambda held: {"messages": [USER, held]}, words, named)


def tooled(least: Json, put: Callable[[Json], Json]) -> Place:
    """Place a part of a tool or of the choice of one."""
    return Place(lambda held: {"tools": [TOOL], **put(held)}, least, frozenset(least))


PLACES: Final[dict[Any, Place]] = {
    chat.ChatCompletionDeveloperMessageParam: message(role="developer", content="hi", name="n"),
    chat.ChatCompletionSystemMessageParam: message(role="system", content="hi", name="n"),
    chat.ChatCompletionUserMessageParam: message(role="user", content="hi", name="n"),
    chat.ChatCompletionAssistantMessageParam: message(
        role="assistant", content="hi", name="n", tool_calls=[CALL]
    ),
    chat.ChatCompletionToolMessageParam: message(role="tool", content="hi", tool_call_id="c"),
    chat.ChatCompletionContentPartTextParam: Place(
        lambda held: {"messages": [{"role": "user", "content": [held]}]}, PART, frozenset(PART)
    ),
    chat.ChatCompletionMessageFunctionToolCallParam: Place(
        lambda held: {"messages": [{"role": "assistant", "tool_calls": [held]}]}, CALL, frozenset(CALL)
    ),
    chat.chat_completion_message_function_tool_call_param.Function: Place(
        lambda held: {"messages": [{"role": "assistant", "tool_calls": [{**CALL, "function": held}]}]},
        CALL["function"],
        frozenset(CALL["function"]),
    ),
    chat.ChatCompletionFunctionToolParam: Place(lambda held: {"tools": [held]}, TOOL, frozenset(TOOL)),
    shared_params.FunctionDefinition: Place(
        lambda held: {"tools": [{"type": "function", "function": held}]},
        TOOL["function"],
        frozenset(TOOL["function"]),
    ),
    chat.ChatCompletionNamedToolChoiceParam: tooled(
        {"type": "function", "function": {"name": "f"}}, lambda held: {"tool_choice": held}
    ),
    chat.chat_completion_named_tool_choice_param.Function: tooled(
        {"name": "f"}, lambda held: {"tool_choice": {"type": "function", "function": held}}
    ),
    shared_params.ResponseFormatText: Place(
        lambda held: {"response_format": held}, {"type": "text"}, frozenset({"type"})
    ),
    shared_params.ResponseFormatJSONObject: Place(
        lambda held: {"response_format": held}, {"type": "json_object"}, frozenset({"type"})
    ),
    shared_params.ResponseFormatJSONSchema: Place(
        lambda held: {"response_format": held},
        {"type": "json_schema", "json_schema": SCHEMA},
        frozenset({"type", "json_schema"}),
    ),
    json_schema_format.JSONSchema: Place(
        lambda held: {"response_format": {"type": "json_schema", "json_schema": held}},
        SCHEMA,
        frozenset(SCHEMA),
    ),
    chat.ChatCompletionStreamOptionsParam: Place(
        lambda held: {"stream": True, "stream_options": held},
        {"include_usage": True},
        frozenset({"include_usage"}),
    ),
}
"""What is honoured. A field of these types that is not named here must be refused."""

REFUSED: Final[dict[Any, Callable[[Json], Json]]] = {
    chat.ChatCompletionFunctionMessageParam: lambda held: {"messages": [USER, held]},
    chat.ChatCompletionContentPartImageParam: lambda held: {"messages": [{**USER, "content": [held]}]},
    chat.ChatCompletionContentPartInputAudioParam: lambda held: {"messages": [{**USER, "content": [held]}]},
    chat.chat_completion_content_part_param.File: lambda held: {"messages": [{**USER, "content": [held]}]},
    chat.ChatCompletionContentPartRefusalParam: lambda held: {
        "messages": [USER, {"role": "assistant", "content": [held]}]
    },
    chat.ChatCompletionMessageCustomToolCallParam: lambda held: {
        "messages": [{"role": "assistant", "tool_calls": [held]}]
    },
    chat.ChatCompletionCustomToolParam: lambda held: {"tools": [held]},
    chat.ChatCompletionAllowedToolChoiceParam: lambda held: {"tools": [TOOL], "tool_choice": held},
    chat.ChatCompletionNamedToolChoiceCustomParam: lambda held: {"tools": [TOOL], "tool_choice": held},
}
"""Alternatives that are refused as a whole, where they stand."""

EFFECTS: Final[dict[str, tuple[Json, Json]]] = {
    "model": ({"model": "a"}, {"model": "b"}),
    "messages": ({}, {"messages": [{**USER, "content": "ho"}]}),
    "tools": ({}, {"tools": [TOOL]}),
    "tool_choice": ({"tools": [TOOL]}, {"tools": [TOOL], "tool_choice": "required"}),
    "parallel_tool_calls": ({}, {"parallel_tool_calls": False}),
    "response_format": ({}, {"response_format": {"type": "json_object"}}),
    "max_completion_tokens": ({}, {"max_completion_tokens": 3}),
    "max_tokens": ({}, {"max_tokens": 3}),
    "temperature": ({}, {"temperature": 0.5}),
    "top_p": ({}, {"top_p": 0.5}),
    "stop": ({}, {"stop": ["x"]}),
    "seed": ({}, {"seed": 3}),
    "n": ({}, {"n": 2}),
    "stream": ({}, {"stream": True}),
    "stream_options": ({"stream": True}, {"stream": True, "stream_options": {"include_usage": True}}),
    "logprobs": ({}, {"logprobs": True}),
    "top_logprobs": ({"logprobs": True}, {"logprobs": True, "top_logprobs": 2}),
}
"""Two requests that differ in one option and must come to something else."""


def fields_of(*shapes: Any) -> dict[str, Any]:
    """All fields of some typed dictionaries of the client."""
    return {name: hint for shape in shapes for name, hint in get_type_hints(shape).items()}


CHAT_FIELDS: Final = fields_of(
    chat_create_params.CompletionCreateParamsNonStreaming, chat_create_params.CompletionCreateParamsStreaming
)
TEXT_FIELDS: Final = fields_of(
    completion_create_params.CompletionCreateParamsNonStreaming,
    completion_create_params.CompletionCreateParamsStreaming,
)


def shapes_in(hint: Any) -> Iterator[Any]:
    """Typed dictionaries of a type, without what is inside them."""
    if is_typeddict(hint):
        yield hint
    for part in typing.get_args(hint):
        yield from shapes_in(part)


def reachable() -> set[Any]:
    """Typed dictionaries that a request can hold in its honoured fields, at any depth."""
    found: set[Any] = set()
    waiting = [shape for name in CHAT & CHAT_FIELDS.keys() for shape in shapes_in(CHAT_FIELDS[name])]
    while waiting:
        shape = waiting.pop()
        if shape in found:
            continue
        found.add(shape)
        if shape in PLACES:
            hints = get_type_hints(shape)
            kept = (hints[name] for name in PLACES[shape].honoured & hints.keys())
            waiting += [inner for hint in kept for inner in shapes_in(hint)]
    return found


def sample(hint: Any) -> Json:
    """A value of a type."""
    arguments = typing.get_args(hint)
    if is_typeddict(hint):
        hints = get_type_hints(hint)
        return {name: sample(hints[name]) for name in sorted(hint.__required_keys__)}
    if typing.get_origin(hint) is typing.Literal:
        return arguments[0]
    if hint in (str, bool, int, float):
        return {str: "loud", bool: True, int: 1, float: 0.5}[hint]
    if typing.get_origin(hint) is dict or hint is object:
        return {"a": 1}
    inner = [sample(part) for part in arguments if part is not type(None)]
    return inner[0] if typing.get_origin(hint) is typing.Union else inner[:1]


def is_quiet(name: str, value: Json) -> bool:
    """Whether a value of an option asks for nothing."""
    return any(value == quiet and type(value) is type(quiet) for quiet in QUIET.get(name, ()))


def test_every_kind_that_a_request_can_hold_is_decided_about() -> None:
    """A new one in the client's types is in neither table."""
    assert PLACES.keys() | REFUSED.keys() == reachable()


@pytest.mark.parametrize("name", sorted(CHAT_FIELDS.keys() - CHAT - WITHOUT_EFFECT))
def test_what_a_chat_request_is_not_honoured_in_is_refused_by_name(name: str) -> None:
    """Whatever its value, unless that asks for nothing."""
    for value in (*LOUD, sample(CHAT_FIELDS[name])):
        if is_quiet(name, value):
            assert effect(wish_of()) == effect(wish_of(**{name: value}))
            continue
        with pytest.raises(WishError) as caught:
            wish_of(**{name: value})
        assert (name, "unsupported_parameter") == (caught.value.param, caught.value.code)


@pytest.mark.parametrize("name", sorted(TEXT_FIELDS.keys() - TEXT - WITHOUT_EFFECT))
def test_what_a_text_request_is_not_honoured_in_is_refused_by_name(name: str) -> None:
    """The same."""
    for value in (*LOUD, sample(TEXT_FIELDS[name])):
        if is_quiet(name, value):
            assert effect(text_wish_of()) == effect(text_wish_of(**{name: value}))
            continue
        with pytest.raises(WishError) as caught:
            text_wish_of(**{name: value})
        assert (name, "unsupported_parameter") == (caught.value.param, caught.value.code)


def test_the_honoured_options_are_the_clients() -> None:
    """None is honoured under a name that no client sends; each has an effect that is tested."""
    assert set() == (CHAT - CHAT_FIELDS.keys()) | (TEXT - TEXT_FIELDS.keys())
    assert set() == CHAT - EFFECTS.keys()
    assert {"prompt"} == TEXT - EFFECTS.keys()


@pytest.mark.parametrize("name", sorted(EFFECTS))
def test_an_honoured_option_has_an_effect(name: str) -> None:
    """Something else is asked, or something else is shown."""
    one, other = EFFECTS[name]
    assert effect(wish_of(**one)) != effect(wish_of(**other))
    if name in TEXT - {"logprobs"}:
        assert effect(text_wish_of(**one)) != effect(text_wish_of(**other))


def test_a_text_request_counts_its_logprobs() -> None:
    """There the option is a number; the prompt is what is asked."""
    wishes = [text_wish_of(**words) for words in ({}, {"logprobs": 0}, {"logprobs": 2}, {"prompt": "ho"})]
    assert 4 == len({json.dumps(effect(wish)) for wish in wishes})


@pytest.mark.parametrize("shape", PLACES, ids=lambda shape: shape.__name__)
def test_what_is_not_honoured_inside_is_refused_by_its_place(shape: Any) -> None:
    """Each field of each kind that a request can hold, and one that nobody knows."""
    place = PLACES[shape]
    hints = get_type_hints(shape)
    assert place.honoured <= hints.keys()
    effect(wish_of(**place.put(place.least)))
    for name in [*sorted(hints.keys() - place.honoured), "unheard_of"]:
        loud = sample(hints[name]) if name in hints else "loud"
        with pytest.raises(WishError) as caught:
            wish_of(**place.put({**place.least, name: loud}))
        assert caught.value.param.rpartition(".")[2] == name


@pytest.mark.parametrize("shape", REFUSED, ids=lambda shape: shape.__name__)
def test_what_is_refused_as_a_whole_names_its_place(shape: Any) -> None:
    """The place, not the whole request."""
    words = REFUSED[shape](sample(shape))
    with pytest.raises(WishError) as caught:
        wish_of(**words)
    assert caught.value.param.startswith(tuple(words))


@pytest.mark.parametrize("name", sorted(WITHOUT_EFFECT))
def test_what_names_the_asker_changes_no_answer(name: str) -> None:
    """Only these may be left unread."""
    assert effect(wish_of()) == effect(wish_of(**{name: "loud"}))


def test_what_the_client_adds_to_answers_may_come_back() -> None:
    """Its helpers send an answer back with their own reading of it, and with empty fields."""
    said: Json = {
        "role": "assistant",
        "content": '{"a": 1}',
        "parsed": {"a": 1},
        "refusal": None,
        "audio": None,
    }
    read = {**CALL, "index": 0, "function": {**CALL["function"], "parsed_arguments": {}}}
    sent = wish_of(messages=[USER, {**said, "tool_calls": [read]}])
    plain = wish_of(messages=[USER, {"role": "assistant", "content": '{"a": 1}', "tool_calls": [CALL]}])
    assert effect(plain) == effect(sent)


def test_the_clients_own_types_are_what_is_read() -> None:
    """The walk found nested types: a client whose types moved would otherwise pass in silence."""
    assert assistant_message.FunctionCall not in reachable()
    assert 30 < len(CHAT_FIELDS)
    assert 15 < len(TEXT_FIELDS)


def test_a_schema_is_checked_once_and_a_wrong_one_each_time() -> None:
    """What is known is known by all of its text."""
    schemas = CheckedSchemas()
    for _ in range(2):
        schemas.check({"type": "object"}, "here")
        with pytest.raises(WishError, match="here is no JSON Schema"):
            schemas.check({"type": "objekt"}, "here")
        with pytest.raises(WishError, match="here is no JSON Schema object"):
            schemas.check(True, "here")
