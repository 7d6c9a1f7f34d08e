"""The message bus of one conversation: everything that was said, and what each role sees of it.

Source: upstream roles/base_role.py, common/message_conversion.py at 165848b. A message is seen by the roles
it names in `visible_to`, by its sender and recipient when it names none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from replay.benchmarks.toolsandbox.world.schema import AGENT, ENVIRONMENT, SYSTEM, USER
from replay.benchmarks.toolsandbox.world.tables import Row
from replay.core.types import Message, Record, ToolCall

__all__ = ["Bus", "Entry", "make_row"]


class Entry(Record, frozen=True, kw_only=True):
    """One message, and the call it carries as the model wrote it."""

    row: Row
    call: ToolCall | None = None


def make_row(sender: str, recipient: str, content: str, *, call: tuple[str, str] | None = None) -> Row:
    """Write a message as a row; `call` holds the call's id and the name of the function as shown."""
    call_id, function = call if call is not None else (None, None)
    return {
        "sender": sender,
        "recipient": recipient,
        "content": content,
        "openai_tool_call_id": call_id,
        "openai_function_name": function,
        "conversation_active": None,
        "tool_call_exception": None,
        "tool_trace": None,
        "visible_to": [sender, recipient],
    }


class Bus:
    """The messages of an episode in order."""

    def __init__(self, seeded: Iterable[Row]) -> None:
        """Start with the seeded messages."""
        self._entries = [Entry(row=row) for row in seeded]

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entries: Iterable[Entry]) -> None:
        """Append messages."""
        self._entries.extend(entries)

    @property
    def last(self) -> Row:
        """The last message: its recipient speaks next."""
        return self._entries[-1].row

    def seen_by(self, role: str) -> list[Entry]:
        """Messages that a role sees, in order."""
        return [entry for entry in self._entries if role in _visible_to(entry.row)]

    def agent_messages(self) -> tuple[Message, ...]:
        """The conversation as the agent's model reads it; calls made at once are one message."""
        messages: list[Message] = []
        for entry in self.seen_by(AGENT):
            before = messages[-1] if messages else None
            messages[-1:] = _next(before, entry)
        return tuple(messages)

    def user_messages(self) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
        """Demonstrations and the conversation as the user knows them, roles as the assistant sees them."""
        entries = self.seen_by(USER)
        shown = [entry for entry in entries if entry.row.get("visible_to") == [USER]]
        own = [entry for entry in entries if entry.row.get("visible_to") != [USER]]
        return _spoken(shown), _spoken(own)


def _visible_to(row: Row) -> Sequence[str]:
    seen = row.get("visible_to")
    return (row["sender"], row["recipient"]) if seen is None else seen


def _next(before: Message | None, entry: Entry) -> list[Message]:
    """Return what stands in place of the message before: it, grown by a call, or it and a new one."""
    row = entry.row
    kept = [] if before is None else [before]
    if row["sender"] == SYSTEM:
        return [*kept, Message(role="system", content=row["content"])]
    if row["sender"] == ENVIRONMENT:
        call_id, name = row.get("openai_tool_call_id") or "", row.get("openai_function_name") or ""
        return [*kept, Message(role="tool", content=row["content"], tool_call_id=call_id, name=name)]
    if row["sender"] == USER:
        return [*kept, Message(role="user", content=row["content"])]
    if entry.call is None:
        return [*kept, Message(role="assistant", content=row["content"])]
    if before is not None and before.tool_calls:
        grown = (*before.tool_calls, entry.call)
        return [Message(role="assistant", content="", tool_calls=grown)]
    return [*kept, Message(role="assistant", content="", tool_calls=(entry.call,))]


def _spoken(entries: Iterable[Entry]) -> tuple[Message, ...]:
    """Keep what user and agent said to each other."""
    roles = {(USER, AGENT): "user", (AGENT, USER): "assistant"}
    pairs = [(roles.get((entry.row["sender"], entry.row["recipient"])), entry.row) for entry in entries]
    return tuple(Message(role=role, content=row["content"]) for role, row in pairs if role is not None)
