"""Which dialect a model speaks: decided by its template alone, the same way each time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from replay.core.canonical import digest
from replay.core.determinism import FrozenClock
from replay.core.errors import InputError
from replay.core.types import ChatRequest, Digest, Json, Message, ToolCall
from replay.llm.dialects.arguments import callable_tools
from replay.llm.dialects.facts import find_facts
from replay.llm.dialects.history import check_history, function_object
from replay.llm.dialects.json_calls import JsonCalls
from replay.llm.dialects.layouts import Layout, TemplateLayout, TranscriptLayout
from replay.llm.dialects.native import FORMS, NativeCalls
from replay.llm.dialects.react import ReactCalls
from replay.llm.dialects.replies import Reply
from replay.llm.dialects.templates import ChatTemplate

__all__ = ["CALL_FORMS", "ModelDialect", "choose_dialect"]

TEMPLATE_KEY: Final = "tokenizer.chat_template"

CALL_FORMS: Final = ("auto", "native", "json-calls", "react")
"""How calls may be written; auto takes the model's own form where it has one, else json-calls."""


class CallForm(Protocol):
    """One way to tell a model of tools and to read its calls."""

    name: str
    in_template: bool
    """True when the tools go to the chat template."""
    stop: tuple[str, ...]

    @property
    def version(self) -> str:
        """Digest of what it says to the model."""
        ...

    def instruct(self, messages: tuple[Message, ...], request: ChatRequest) -> tuple[Message, ...]:
        """Tell the model how to call, and write earlier calls that way."""
        ...

    def grammar(self, request: ChatRequest) -> str:
        """Write the grammar of a reply, or nothing."""
        ...

    def read(self, text: str) -> Reply:
        """Parse a reply."""
        ...

    def settle(self, text: str) -> str:
        """Return what is certain of the words when a reply is not whole."""
        ...


class ModelDialect:
    """How one model is spoken to: a layout of conversations and a form of calls. Safe to share."""

    def __init__(self, layout: Layout, calls: CallForm) -> None:
        """Put the two together."""
        self._layout = layout
        self._calls = calls
        self.name: str = calls.name
        self.stop: tuple[str, ...] = (*layout.stop, *calls.stop)

    @property
    def digest(self) -> Digest:
        """Identity of everything that shapes a prompt: template or transcript, wording, form of calls."""
        parts = {"name": self.name, "layout": self._layout.version, "calls": self._calls.version}
        return digest("dialect", parts)

    def render(self, request: ChatRequest) -> str:
        """Write the prompt of a request.

        Errors:  HistoryError when none can be made of the conversation; ModelError when the template fails.
        """
        messages = check_history(request.messages)
        tools: Sequence[Json] = ()
        if self._calls.in_template:
            tools = [function_object(spec) for spec in callable_tools(request)]
        return self._layout.write(self._calls.instruct(messages, request), tools)

    def grammar_for(self, request: ChatRequest) -> str:
        """Write the grammar (GBNF) that a reply must follow, or nothing where the model is free.

        Errors:  GrammarError for tools or a tool_choice that cannot be kept.
        """
        return self._calls.grammar(request)

    def read(self, text: str) -> Reply:
        """Parse a reply literally, and say what it turned out to be."""
        return self._calls.read(text)

    def parse(self, text: str) -> tuple[str | None, tuple[ToolCall, ...]]:
        """Split a reply into what is said and what is called."""
        reply = self.read(text)
        return reply.content, reply.tool_calls

    def settle(self, text: str) -> str:
        """Return the words that a reply beginning with this text begins with, whatever follows."""
        return self._calls.settle(text)


def choose_dialect(
    metadata: Mapping[str, Json],
    *,
    bos: str = "",
    eos: str = "",
    calls: str = "auto",
    clock: FrozenClock | None = None,
) -> ModelDialect:
    """Choose the dialect of a model by the metadata of its file.

    bos, eos: texts of the begin and end tokens, for templates that write them.
    Errors:  InputError for a form of calls that is unknown or that the model does not have; ModelError for a
             template that cannot be compiled or writes nothing; MissingExtraError without jinja2.
    """
    if calls not in CALL_FORMS:
        raise InputError(f"form of calls {calls[:40]!r}", expected=f"one of {', '.join(CALL_FORMS)}")
    source = metadata.get(TEMPLATE_KEY)
    layout: Layout = TranscriptLayout()
    native = ""
    if isinstance(source, str) and source.strip():
        template = ChatTemplate(source, bos=bos, eos=eos, clock=clock)
        facts = find_facts(template)
        layout, native = TemplateLayout(template, facts), facts.native
    if calls == "native" and not native:
        raise InputError(
            "the model's chat template writes no tool calls in a form that is read here",
            expected=f"one of {', '.join(form.name for form in FORMS)}",
            next_step="choose json-calls or react",
        )
    if calls == "react":
        return ModelDialect(layout, ReactCalls())
    if native and calls != "json-calls":
        return ModelDialect(layout, NativeCalls(next(form for form in FORMS if form.name == native)))
    return ModelDialect(layout, JsonCalls())
