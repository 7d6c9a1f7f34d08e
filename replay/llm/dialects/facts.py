"""What a chat template can do, found by asking it: small conversations are rendered and looked at.

Names of models say little and templates are edited; what one writes is what counts. Everything here is a pure
function of the template.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from replay.core.errors import HistoryError, ModelError
from replay.core.types import Message, Record, ToolCall, ToolSpec
from replay.llm.dialects.history import function_object, message_objects
from replay.llm.dialects.native import FORMS
from replay.llm.dialects.replies import Reply
from replay.llm.dialects.templates import ChatTemplate

__all__ = ["TemplateFacts", "find_facts"]

_SYSTEM: Final = "Probe words of a system"
_LATER: Final = "Probe words of a later system"
_FIRST: Final = "Probe words of a user"
_SECOND: Final = "Probe words of another user"
_SAID: Final = "Probe words of an assistant"
_RESULT: Final = "Probe words of a result"
_NAME: Final = "probe_function"
_ARGUMENTS: Final = '{"probe_text": "value", "probe_number": 7}'
_TOOL: Final = ToolSpec(
    name=_NAME,
    description="Probe words of a function.",
    parameters={
        "type": "object",
        "properties": {"probe_text": {"type": "string"}, "probe_number": {"type": "integer"}},
        "required": ["probe_text", "probe_number"],
    },
)
_CALL: Final = ToolCall(id="probe0001", name=_NAME, arguments=_ARGUMENTS)
_FAILURES: Final = (HistoryError, ModelError)
_END_MARK: Final = re.compile(r"\s{0,2}(<[^<>\s]{1,40}>)")


class TemplateFacts(Record, frozen=True, kw_only=True):
    """What one template takes and how."""

    system: bool
    """It writes a system message that opens the conversation."""
    late_system: bool
    """It writes system messages further on, too."""
    alternates: bool
    """It refuses two messages of one role in a row."""
    native: str = ""
    """Name of the form in which it writes tool calls, when it knows tools and the form is one we read."""
    one_call: bool = False
    """It writes one call a message only."""
    tool_list: bool = False
    """It wants a list of tools even where there are none."""
    parsed_arguments: bool = True
    """It wants the arguments of calls as objects, not as text."""
    end_mark: str = ""
    """What it writes behind a message of the model, if that is a mark of its own."""


def find_facts(template: ChatTemplate) -> TemplateFacts:
    """Ask a template what it can do.

    Errors:  ModelError when it cannot even write one user message.
    """
    user = Message(role="user", content=_FIRST)
    said = Message(role="assistant", content=_SAID)
    more = Message(role="user", content=_SECOND)
    probe = _Probe(template)
    alone = probe.open([user])
    if _FIRST not in alone:
        raise ModelError(
            "chat template leaves out what the user says", expected="a template for conversations"
        )
    system = probe.writes([Message(role="system", content=_SYSTEM), user], _SYSTEM)
    later = [user, said, Message(role="system", content=_LATER), more]
    if system:
        later.insert(0, Message(role="system", content=_SYSTEM))
    end_mark = _find_end_mark(probe, [user, said, more])
    native, parsed = _find_native(probe, end_mark)
    return TemplateFacts(
        system=system,
        late_system=probe.writes(later, _LATER),
        alternates=not probe.writes([user, more], _SECOND),
        native=native,
        one_call=bool(native) and not _writes_two_calls(probe, parsed=parsed),
        tool_list=probe.tool_list,
        parsed_arguments=parsed,
        end_mark=end_mark,
    )


class _Probe:
    """Renders small conversations."""

    def __init__(self, template: ChatTemplate) -> None:
        self._template = template
        self.tool_list = False

    def open(self, messages: list[Message]) -> str:
        """Render a first conversation, and find out how to say that there are no tools."""
        objects = message_objects(messages, parsed_arguments=True)
        try:
            return self._template.render(objects)
        except _FAILURES:
            self.tool_list = True
        try:
            return self._template.render(objects, tools=[])
        except HistoryError as error:
            raise ModelError(
                f"{error.what}, whatever it is given", expected="a template for conversations"
            ) from None

    def render(
        self,
        messages: list[Message],
        *,
        parsed: bool = True,
        tools: bool = False,
        generation_prompt: bool = False,
    ) -> str:
        """Render, or return nothing where the template fails."""
        objects = message_objects(messages, parsed_arguments=parsed)
        offered = [function_object(_TOOL)] if tools else [] if self.tool_list else None
        try:
            return self._template.render(objects, tools=offered, generation_prompt=generation_prompt)
        except _FAILURES:
            return ""

    def writes(self, messages: list[Message], words: str) -> bool:
        """Tell whether some words of a conversation come out."""
        return words in self.render(messages)


def _find_native(probe: _Probe, end_mark: str) -> tuple[str, bool]:
    """Find the form that reads back a call as the template writes it, and how it wants the arguments."""
    user = Message(role="user", content=_FIRST)
    calling = Message(role="assistant", content="", tool_calls=(_CALL,))
    result = Message(role="tool", content=_RESULT, tool_call_id=_CALL.id, name=_NAME)
    asked = probe.render([user], tools=True)
    if _NAME not in asked:
        return "", True
    asking = probe.render([user], tools=True, generation_prompt=True)
    for parsed in (True, False):
        if _RESULT not in probe.render([user, calling, result], parsed=parsed, tools=True):
            continue
        text = probe.render([user, calling], parsed=parsed, tools=True)
        for form in FORMS:
            # What a model generates stands behind the generation prompt; a mark tells it from any header.
            start = asking if text.startswith(asking) or not form.before else asked
            if text.startswith(start) and _reads_back(form.read, text.removeprefix(start), end_mark):
                return form.name, parsed
    return "", True


def _writes_two_calls(probe: _Probe, *, parsed: bool) -> bool:
    user = Message(role="user", content=_FIRST)
    other = replace(_CALL, id="probe0002", arguments=_ARGUMENTS.replace("7", "77077"))
    calling = Message(role="assistant", content="", tool_calls=(_CALL, other))
    return "77077" in probe.render([user, calling], parsed=parsed, tools=True)


def _reads_back(read: Callable[[str], Reply], written: str, end_mark: str) -> bool:
    reply = read(written.partition(end_mark)[0] if end_mark else written)
    return [call.name for call in reply.tool_calls] == [_NAME] and all(
        "probe_number" in call.arguments for call in reply.tool_calls
    )


def _find_end_mark(probe: _Probe, messages: list[Message]) -> str:
    text = probe.render(messages)
    found = _END_MARK.match(text, text.rfind(_SAID) + len(_SAID)) if _SAID in text else None
    return found[1] if found else ""
