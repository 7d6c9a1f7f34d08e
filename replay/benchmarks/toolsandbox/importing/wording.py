"""What stands in place of upstream's prompts where a dump left them out, in our own words.

A dump made by the exporter where upstream's package is installed carries the original texts instead.
"""

from __future__ import annotations

from typing import Final

from replay.benchmarks.toolsandbox.world.schema import AGENT, USER
from replay.benchmarks.toolsandbox.world.tables import Row

__all__ = ["GOAL_MARK", "demonstrations", "seeded_text"]

GOAL_MARK: Final = "<user instruction> "
"""What stands before a goal in the dump, for the instruction that all goals share."""

_TEXTS: Final = {
    "console_bootstrap": "(every tool is at hand)",
    "agent_system": (
        "You are an assistant on the user's phone. Use the tools to do what the user wants. Never assume a "
        "value for an argument: take it from the user or from a tool. Ask when it is unclear what is wanted."
    ),
}
_PLACEHOLDERS: Final = ("<imports of all tools>", "<agent system prompt>")

_SHOWN: Final = (
    ("Can you check whether my bluetooth is on?", "Your bluetooth is on."),
    ("Turn it off then.", "Done, bluetooth is off now."),
    ("Put bread on my shopping list", "Bread is on your list. Anything else?"),
    ("Yes, butter too.", "Added butter. Your list has bread and butter."),
    ("Play something calm", "Which room should I play it in?"),
    ("No idea, I didn't think about that", "All right, I will play it on your phone."),
    ("Cancel my table for Friday", "I see two tables on Friday, at six and at eight. Which one?"),
    ("The one at eight.", "The table at eight on Friday is cancelled."),
    ("How long was my run yesterday?", "I cannot find a run of yesterday. Do you know when it started?"),
    ("Sorry, I don't know that.", "Then I cannot look it up, I am afraid."),
    ("Rename the album from the lake to Summer", "The album is called Summer now."),
    ("Great. How many pictures are in it?", "The album Summer has 48 pictures."),
)
"""A user's line and the assistant's answer; short, one thing at a time, nothing made up."""


def seeded_text(kind: str, content: str) -> str:
    """Give the text of a seeded message, our own where the dump has a placeholder."""
    return _TEXTS[kind] if content in _PLACEHOLDERS and kind in _TEXTS else content


def demonstrations(count: int) -> list[Row]:
    """Make that many messages of demonstrations, which only the user sees."""
    rows: list[Row] = []
    for number in range(count):
        line = _SHOWN[number // 2 % len(_SHOWN)][number % 2]
        sender, recipient = (USER, AGENT) if number % 2 == 0 else (AGENT, USER)
        rows.append({"sender": sender, "recipient": recipient, "content": line, "visible_to": [USER]})
    return rows
