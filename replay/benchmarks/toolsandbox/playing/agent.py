"""The agent's turn: what its model is asked, and how its answer becomes messages.

Source: upstream roles/openai_api_agent.py at 165848b. A call of a tool that was not offered and
arguments that are no JSON end upstream's program (compat); under strict rules they are sent all the same, and
the environment's error is the answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from replay.benchmarks.toolsandbox.playing.bus import Bus, Entry, make_row
from replay.benchmarks.toolsandbox.records import Failure
from replay.benchmarks.toolsandbox.world.schema import AGENT, ENVIRONMENT, USER
from replay.benchmarks.toolsandbox.world.snippets import write_snippet
from replay.core.types import ChatRequest, Completion, Role, Sampling, ToolCall, ToolSpec

__all__ = ["AgentError", "agent_request", "read_agent"]

_UNSAFE: Final = re.compile(r"\W", re.ASCII)


class AgentError(Exception):
    """The agent's answer ended upstream's program."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.type, failure.text)
        self.failure = failure


def agent_request(bus: Bus, specs: tuple[ToolSpec, ...], sampling: Sampling) -> ChatRequest:
    """Ask the agent's model; tools are offered after a message of the user or the environment."""
    last = bus.seen_by(AGENT)[-1].row
    offered = specs if last["sender"] in (USER, ENVIRONMENT) else ()
    return ChatRequest(role=Role.CANDIDATE, messages=bus.agent_messages(), tools=offered, sampling=sampling)


def read_agent(completion: Completion, names: Mapping[str, str], *, strict: bool) -> list[Entry]:
    """Turn an answer into messages: one a call, or one to the user. Text beside calls is dropped.

    names:   true names of the offered tools by the names the agent sees.
    Errors:  AgentError where upstream's program ends.
    """
    if completion.tool_calls:
        return [_read_call(call, names, strict=strict) for call in completion.tool_calls]
    if completion.content is None:
        raise AgentError(Failure(type="AssertionError", text="the answer has neither text nor calls"))
    return [Entry(row=make_row(AGENT, USER, completion.content))]


def _read_call(call: ToolCall, names: Mapping[str, str], *, strict: bool) -> Entry:
    name, failure = names.get(call.name), None
    literal = ""
    if name is None:
        text = f"{call.name!r} is not a known allowed tool. Options are {', '.join(names)}"
        failure = Failure(type="KeyError", text=text)
    try:
        literal = repr(json.loads(call.arguments))
    except (ValueError, RecursionError) as error:
        failure = failure or Failure(type=type(error).__name__, text=str(error))
        literal = " ".join(call.arguments.split()) or "nothing given"
    if failure is not None and not strict:
        raise AgentError(failure)
    call_id = _identifier(call.id) if strict else call.id
    content = write_snippet(call_id, name or _identifier(call.name), literal)
    return Entry(row=make_row(AGENT, ENVIRONMENT, content, call=(call.id, call.name)), call=call)


def _identifier(text: str) -> str:
    """Make an identifier of a name from outside; upstream uses ids as they are (compat)."""
    plain = _UNSAFE.sub("_", text)
    return plain if plain.isidentifier() else f"_{plain}"
