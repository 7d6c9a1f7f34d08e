"""A remote model without a mind: plays candidate, user, simulator and judge by looking at the request.

Answers whole or in events, as the request asks, words and argument texts cut in the middle of characters.
"""

from __future__ import annotations

import json

from replay.core.types import Json
from tests.support.engines import fill, sample
from tests.support.upstream import Asked, Reply, answer_json, raw_reply

__all__ = ["answer_as_asked", "reply_with", "role_of"]

_END = "end_conversation"


def answer_as_asked(asked: Asked) -> Reply:
    """Answer one request of any role."""
    body = asked.json
    return reply_with(_compose(body), is_streamed=bool(body.get("stream")))


def role_of(body: Json) -> str:
    """Tell whom a request speaks to, by its tools and the form of its answer."""
    if "response_format" in body:
        named = body["response_format"]["json_schema"]["schema"].get("properties", {})
        return "simulator" if "error" in named else "judge"
    tools = {tool["function"]["name"] for tool in body.get("tools", ())}
    return "candidate" if tools - {_END} else "user"


def reply_with(message: Json, *, is_streamed: bool) -> Reply:
    """Write a message of the model as the API does."""
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    if not is_streamed:
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
        return answer_json({"choices": [choice], "usage": usage})
    events = [{"choices": [{"index": 0, "delta": delta}]} for delta in _deltas(message)]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    lines = [json.dumps(event, ensure_ascii=False) for event in [*events, {"choices": [], "usage": usage}]]
    data = "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode()
    whole = b"".join(raw_reply(data, kind="text/event-stream").pieces)
    # A cut behind the first byte of a character, where there is one that has several.
    place = next((n for n, byte in enumerate(whole) if byte > 0xC0), len(whole) // 2) + 1
    return Reply((whole[:place], whole[place:]), 0.005)


def _deltas(message: Json) -> list[Json]:
    content = message["content"] or ""
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": content[start : start + 3]} for start in range(0, len(content), 3)]
    for index, call in enumerate(message.get("tool_calls", ())):
        text = call["function"]["arguments"]
        head = {"id": call["id"], "type": "function", "function": {"name": call["function"]["name"]}}
        parts = [text[start : start + 5] for start in range(0, len(text), 5)]
        deltas.append({"tool_calls": [{"index": index, **head}]})
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": part}}]} for part in parts]
    return deltas


def _compose(body: Json) -> Json:
    if "response_format" in body:
        schema = body["response_format"]["json_schema"]["schema"]
        return {"content": json.dumps(fill(schema, "Grüße"), ensure_ascii=False)}
    tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in body.get("tools", ())}
    answered = any(message["role"] == "tool" for message in body["messages"])
    if not tools:
        return {"content": "Très bien, please go on."}
    if _END in tools:
        return _calls((_END, {}))
    if "Finish" in tools:
        answer = ("Finish", {"return_type": "give_answer", "final_answer": "It is dry in Malmö."})
        return _calls(answer) if answered else _calls(*_first(tools, 1))
    if answered:
        return {"content": "It is done, señor."}
    return _calls(*_first(tools, 2))


def _first(tools: dict[str, Json], count: int) -> list[tuple[str, Json]]:
    return [
        (name, {key: sample(part) for key, part in schema.get("properties", {}).items()})
        for name, schema in list(tools.items())[:count]
    ]


def _calls(*calls: tuple[str, Json]) -> Json:
    written = [
        {
            "id": f"call-{n}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for n, (name, arguments) in enumerate(calls)
    ]
    return {"content": None, "tool_calls": written}
