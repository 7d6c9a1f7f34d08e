"""What the official OpenAI client asks and hears: one talk through everything it can do, as plain values.

The same talk with two servers, or twice with one, must come to the same values; the requests that it made are
kept, so that they can be sent again byte for byte.
"""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Literal, NamedTuple

import httpx
import openai
import pydantic

from replay.core.types import Json

__all__ = ["Color", "Paint", "Talked", "check_talk", "send_again", "talk", "talk_aside"]

SAID: Final[Any] = [
    {"role": "system", "content": "Answer in one word."},
    {"role": "user", "content": "Which color has the sky?"},
]


class Color(pydantic.BaseModel):
    """An answer in form."""

    name: Literal["blue", "green", "red"]


def make_tool(name: str, argument: str) -> Any:
    """Describe a function of one argument."""
    schema = {
        "type": "object",
        "properties": {argument: {"type": "string", "enum": ["blue", "red"]}},
        "required": [argument],
        "additionalProperties": False,
    }
    return {
        "type": "function",
        "function": {"name": name, "description": f"Shows a {argument}.", "parameters": schema},
    }


class Paint(pydantic.BaseModel):
    """A call in form."""

    color: Literal["blue", "red"]


TOOLS: Final = [make_tool("paint", "color"), make_tool("mix", "paint")]
DEMANDED: Final[Any] = {"type": "function", "function": {"name": "mix"}}
PAINT: Final[Any] = {"type": "function", "function": {"name": "paint"}}


class Talked(NamedTuple):
    """What was heard, by what was asked, and the requests."""

    heard: dict[str, Json]
    requests: tuple[tuple[str, bytes], ...]


def talk(url: str, model: str) -> Talked:
    """Ask everything once."""
    requests: list[tuple[str, bytes]] = []
    hooks = {"request": [lambda request: requests.append((request.url.path, request.content))]}
    with openai.OpenAI(
        base_url=f"{url}/v1",
        api_key="none",
        max_retries=0,
        http_client=openai.DefaultHttpxClient(event_hooks=hooks),
    ) as client:
        heard = {
            **_chat(client, model),
            **_tools(client, model),
            **_forms(client, model),
            **_texts(client, model),
        }
        heard["models"] = model in [card.id for card in client.models.list()]
        heard["model"] = client.models.retrieve(model).model_dump()
    return Talked(heard, tuple(requests))


def _chat(client: openai.OpenAI, model: str) -> dict[str, Json]:
    words: Any = {"model": model, "messages": SAID, "max_tokens": 10}
    create = client.chat.completions.create
    ranked: Any = {**words, "logprobs": True, "top_logprobs": 2}
    usage: Any = {"stream": True, "stream_options": {"include_usage": True}}
    return {
        "plain": create(**words).model_dump(),
        "choices": create(**words, n=3, temperature=0.9, top_p=0.9, seed=3).model_dump(),
        "stopped": create(**words, stop=["e", "zz"]).model_dump(),
        "ranked": create(**ranked).model_dump(),
        "streamed": [chunk.model_dump() for chunk in create(**words, **usage)],
        "streamed choices": [
            c.model_dump() for c in create(**words, n=2, seed=1, temperature=1.5, stream=True)
        ],
        "streamed ranks": [chunk.model_dump() for chunk in create(**ranked, stream=True)],
    }


def _tools(client: openai.OpenAI, model: str) -> dict[str, Json]:
    words: Any = {"model": model, "messages": SAID, "tools": TOOLS, "max_tokens": 60}
    create = client.chat.completions.create
    required = create(**words, tool_choice="required")
    message = required.choices[0].message
    results: Any = [
        {"role": "tool", "tool_call_id": call.id, "content": "done"} for call in message.tool_calls or ()
    ]
    after: Any = {**words, "messages": [*SAID, message, *results], "tool_choice": "none", "max_tokens": 8}
    with client.chat.completions.stream(**words, tool_choice="required") as stream:
        final = stream.get_final_completion()
    strict: Any = {**words, "tools": [openai.pydantic_function_tool(Paint, name="paint")]}
    parsed = client.chat.completions.parse(**strict, tool_choice=PAINT).choices[0].message
    return {
        "parsed calls": [call.function.parsed_arguments.model_dump() for call in parsed.tool_calls or ()],  # type: ignore[attr-defined]
        "required": required.model_dump(),
        "named": create(**words, tool_choice=DEMANDED).model_dump(),
        "after results": create(**after).model_dump(),
        "streamed calls": [c.model_dump() for c in create(**words, tool_choice="required", stream=True)],
        "helped calls": [call.function.model_dump() for call in final.choices[0].message.tool_calls or ()],
    }


def _forms(client: openai.OpenAI, model: str) -> dict[str, Json]:
    words: Any = {"model": model, "messages": SAID, "max_tokens": 40}
    parsed = client.chat.completions.parse(**words, response_format=Color)
    with client.chat.completions.stream(**words, response_format=Color) as stream:
        final = stream.get_final_completion()
    answers = [got.choices[0].message.parsed for got in (parsed, final)]
    return {
        "parsed": [None if answer is None else answer.model_dump() for answer in answers],
        "object": client.chat.completions.create(
            **words,
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "color", "schema": Color.model_json_schema()},
            },
        ).model_dump(),
    }


def _texts(client: openai.OpenAI, model: str) -> dict[str, Json]:
    words: Any = {"model": model, "prompt": "The sky is", "max_tokens": 8}
    create = client.completions.create
    return {
        "text": create(**words).model_dump(),
        "ranked text": create(**words, logprobs=1).model_dump(),
        "streamed text": [chunk.model_dump() for chunk in create(**words, logprobs=1, stream=True)],
    }


def talk_aside(url: str, model: str) -> dict[str, Json]:
    """Ask a part of it with the asynchronous client, everything at once."""
    return asyncio.run(_ask_at_once(url, model))


async def _ask_at_once(url: str, model: str) -> dict[str, Json]:
    words: Any = {"model": model, "messages": SAID, "max_tokens": 10}
    formed: Any = {**words, "max_tokens": 40, "response_format": Color}

    async def stream() -> Json:
        chunks = await client.chat.completions.create(
            **words, stream=True, stream_options={"include_usage": True}
        )
        return [chunk.model_dump() async for chunk in chunks]

    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        create = client.chat.completions.create
        plain, streamed, parsed, text = await asyncio.gather(
            create(**words),
            stream(),
            client.chat.completions.parse(**formed),
            client.completions.create(model=model, prompt="The sky is", max_tokens=8),
        )
    answer = parsed.choices[0].message.parsed
    return {
        "plain": plain.model_dump(),
        "streamed": streamed,
        "parsed": [None if answer is None else answer.model_dump()] * 2,
        "text": text.model_dump(),
    }


def send_again(
    url: str, requests: tuple[tuple[str, bytes], ...], *, at_once: int = 1
) -> list[tuple[int, bytes]]:
    """Send requests as they were and return what comes back, byte for byte, in their order."""

    def send(request: tuple[str, bytes]) -> tuple[int, bytes]:
        path, body = request
        headers = {"content-type": "application/json"}
        got = client.post(path, content=body, headers=headers) if body else client.get(path)
        return got.status_code, got.content

    with httpx.Client(base_url=url, timeout=120) as client, ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(send, requests))


def texts_of(chunks: list[Json]) -> str:
    """Join the words of a stream."""
    return "".join(c["choices"][0]["delta"]["content"] or "" for c in chunks if c["choices"])


def check_talk(heard: dict[str, Json]) -> None:
    """Check that what was heard in different ways is one answer."""
    plain = heard["plain"]["choices"][0]
    assert plain["message"]["content"] == texts_of(heard["streamed"])
    assert heard["plain"]["usage"] == heard["streamed"][-1]["usage"]
    assert plain["message"] == heard["ranked"]["choices"][0]["message"]
    ranked = heard["ranked"]["choices"][0]["logprobs"]["content"]
    pieces = [chunk["choices"][0]["logprobs"] for chunk in heard["streamed ranks"]]
    assert ranked == [token for part in pieces if part for token in part["content"]]
    assert all(len(token["top_logprobs"]) == 2 and token["logprob"] <= 0 for token in ranked)
    calls = heard["required"]["choices"][0]["message"]["tool_calls"]
    streamed = [c["choices"][0]["delta"]["tool_calls"] for c in heard["streamed calls"]]
    assert calls
    assert [call["function"] for call in calls] == [p["function"] for part in streamed for p in part or ()]
    assert [call["function"]["arguments"] for call in calls] == [
        c["arguments"] for c in heard["helped calls"]
    ]
    assert {"mix"} == {c["function"]["name"] for c in heard["named"]["choices"][0]["message"]["tool_calls"]}
    assert [["color"]] == [list(arguments) for arguments in heard["parsed calls"]]
    first, second = heard["parsed"]
    assert first == second == json.loads(heard["object"]["choices"][0]["message"]["content"])
    assert heard["models"]
