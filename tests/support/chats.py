"""Builders of chat requests for tests of dialects."""

from __future__ import annotations

from replay.core.types import ChatRequest, Json, Message, Role, ToolCall, ToolSpec

__all__ = ["WEATHER", "make_call", "make_chat", "make_result", "make_tool", "say"]


def make_tool(name: str = "weather", parameters: Json = None) -> ToolSpec:
    """One tool with a required and an optional parameter, unless others are given."""
    default = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 7}},
        "required": ["city"],
    }
    return ToolSpec(name=name, description=f"Tells the {name}.", parameters=parameters or default)


WEATHER = make_tool()


def say(role: str, content: str | None, *calls: ToolCall) -> Message:
    """One message."""
    return Message(role=role, content=content, tool_calls=calls)


def make_call(
    arguments: str = '{"city": "Oslo"}', *, call_id: str = "call_1", name: str = "weather"
) -> ToolCall:
    """One call as a model wrote it."""
    return ToolCall(id=call_id, name=name, arguments=arguments)


def make_result(content: str = "rain", *, call_id: str = "call_1", name: str = "weather") -> Message:
    """What came back for a call."""
    return Message(role="tool", content=content, tool_call_id=call_id, name=name)


def make_chat(*messages: Message, tools: tuple[ToolSpec, ...] = (), tool_choice: str = "auto") -> ChatRequest:
    """One request to a candidate."""
    spoken = messages or (say("user", "Will it rain?"),)
    return ChatRequest(role=Role.CANDIDATE, messages=spoken, tools=tools, tool_choice=tool_choice)
