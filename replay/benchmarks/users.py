"""The user's side of a conversation: what every benchmark with a simulated user shares.

Sans IO, like the plays that use it: a turn yields one chat request for the role `user` and is sent the
completion; who answers (a local model, a recording, a script) is none of its business. A user is a goal, a
boundary of what is known, and an end signal. The prompt is a versioned file in our own words whose digest is
a part of each request.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from importlib import resources
from typing import Final

from replay.core.prompts import Prompt, parse_prompt
from replay.core.protocols import Answer, Ask, ask
from replay.core.types import ChatRequest, Completion, Message, Record, Role, Sampling, ToolSpec

__all__ = [
    "END_CONVERSATION",
    "Conversation",
    "Persona",
    "UserTurn",
    "converse",
    "load_user_prompt",
    "speak",
    "user_turn",
]

_PROMPT: Final = "user-1"

_SAMPLING: Final = Sampling(max_tokens=256)
"""Greedy, and room for a message of a person; a longer one is a model that does not stop."""

_NOTHING: Final = "(nothing else)"

END_CONVERSATION: Final = ToolSpec(
    name="end_conversation",
    description="Ends the conversation: the goal is reached, or will not be reached.",
    parameters={"type": "object", "properties": {}, "additionalProperties": False},
)
"""The end signal, and the only thing a simulated user may call."""

Reply = Generator[Ask, Answer, str | None]
"""The assistant's side of one turn: its message to the user, or None when it gave up."""


class Persona(Record, frozen=True, kw_only=True):
    """Who the user is in one task."""

    goal: str
    knowledge: str = ""
    """What the user knows and may tell."""
    unknown: str = ""
    """What the user does not know: the boundary that keeps a simulated user from making things up."""
    end_phrase: str = ""
    """Further end signal for benchmarks that have one: a message that holds it ends the conversation."""
    demonstrations: tuple[Message, ...] = ()
    """Other conversations of such a user, shown before this one; roles as the assistant sees them."""


class UserTurn(Record, frozen=True, kw_only=True):
    """What the user did when it was its turn."""

    text: str = ""
    has_ended: bool = False
    fault: str = ""
    """Why the simulated user said nothing usable: truncated, refused, error or empty."""


class Conversation(Record, frozen=True, kw_only=True):
    """A finished conversation."""

    messages: tuple[Message, ...]
    """What user and assistant said, roles as the assistant sees them."""
    stop: str
    """ended (by the user), gave-up (by the assistant), turn-limit, or user-failed."""
    fault: str = ""
    """Why the user failed."""


def converse(
    persona: Persona,
    reply: Callable[[tuple[Message, ...]], Reply],
    *,
    max_turns: int,
    sampling: Sampling = _SAMPLING,
) -> Generator[Ask, Answer, Conversation]:
    """Let a user and an assistant speak in turn, the user first, until one of them ends it.

    reply: makes the assistant's side of a turn from the conversation so far.
    Units:   a turn is one message of each side; `max_turns` is at least 1.
    """
    said: list[Message] = []
    for _ in range(max_turns):
        turn = yield from user_turn(persona, said, sampling=sampling)
        if turn.fault:
            return Conversation(messages=tuple(said), stop="user-failed", fault=turn.fault)
        if turn.text:
            said.append(Message(role="user", content=turn.text))
        if turn.has_ended:
            return Conversation(messages=tuple(said), stop="ended")
        answer = yield from reply(tuple(said))
        if answer is None:
            return Conversation(messages=tuple(said), stop="gave-up")
        said.append(Message(role="assistant", content=answer))
    return Conversation(messages=tuple(said), stop="turn-limit")


def user_turn(
    persona: Persona, conversation: Sequence[Message], *, sampling: Sampling = _SAMPLING
) -> Generator[Ask, Answer, UserTurn]:
    """Ask the simulated user for its next message.

    Shape:   `conversation` holds what was said, roles as the assistant sees them; calls and results of its
             tools are left out, for a user does not see them. The end signal is offered once the assistant
             has spoken.
    """
    prompt = load_user_prompt()
    spoken = [
        message for message in conversation if message.role in ("user", "assistant") and message.content
    ]
    request = ChatRequest(
        role=Role.USER,
        messages=(
            *_open(prompt, persona),
            *(_turn_around(message) for message in (*persona.demonstrations, *spoken)),
        ),
        tools=(END_CONVERSATION,) if any(message.role == "assistant" for message in spoken) else (),
        sampling=sampling,
        prompt_digest=prompt.digest,
    )
    return _read((yield from ask(request)), persona)


def speak(
    messages: Sequence[Message], *, sampling: Sampling, prompt_digest: str
) -> Generator[Ask, Answer, UserTurn]:
    """Ask the simulated user of a benchmark that has a prompt and an end signal of its own.

    The text is what the model said, to the letter, cut or not; a fault only when there is none.
    """
    request = ChatRequest(
        role=Role.USER, messages=tuple(messages), sampling=sampling, prompt_digest=prompt_digest
    )
    completion = yield from ask(request)
    if completion.content is None or completion.finish in ("refused", "error"):
        return UserTurn(fault=completion.finish if completion.finish in ("refused", "error") else "empty")
    return UserTurn(text=completion.content)


def load_user_prompt() -> Prompt:
    """Load the user's prompt file."""
    file = resources.files("replay.benchmarks") / "prompts" / f"{_PROMPT}.txt"
    return parse_prompt(file.read_text(encoding="utf-8"), where=f"benchmarks/prompts/{_PROMPT}.txt")


def _open(prompt: Prompt, persona: Persona) -> tuple[Message, ...]:
    return prompt.fill(
        {
            "goal": persona.goal,
            "knowledge": persona.knowledge or _NOTHING,
            "unknown": persona.unknown or _NOTHING,
        }
    )


def _turn_around(message: Message) -> Message:
    """What the user said is the model's own text; what the assistant said is said to the model."""
    return Message(role="assistant" if message.role == "user" else "user", content=message.content)


def _read(completion: Completion, persona: Persona) -> UserTurn:
    if completion.finish == "length":
        return UserTurn(fault="truncated")
    if completion.finish in ("refused", "error"):
        return UserTurn(fault=completion.finish)
    text = (completion.content or "").strip()
    called = any(call.name == END_CONVERSATION.name for call in completion.tool_calls)
    phrase = persona.end_phrase.casefold()
    has_ended = called or bool(phrase and phrase in text.casefold())
    return UserTurn(text=text, has_ended=has_ended, fault="" if text or has_ended else "empty")
