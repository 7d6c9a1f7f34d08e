"""The one tool of the simulated user. Source: upstream tools/user_tools.py at 165848b."""

from __future__ import annotations

from typing import Final

from replay.benchmarks.toolsandbox.tools.failures import WrongValueError
from replay.benchmarks.toolsandbox.tools.tool import Arguments, Moment, Tool
from replay.benchmarks.toolsandbox.world.schema import SANDBOX
from replay.core.types import Json

__all__ = ["TOOLS"]


def _end_conversation(moment: Moment, _: Arguments) -> Json:
    last = moment.tables.read(SANDBOX)[-1]
    if not last["conversation_active"]:
        raise WrongValueError("Conversation already ended")
    moment.tables.replace(SANDBOX, [{**last, "conversation_active": False}])
    return None


TOOLS: Final = (
    Tool(
        name="end_conversation",
        module="user_tools",
        about="Ends the conversation: the goal is reached, or will not be reached.",
        run=_end_conversation,
        reads=frozenset({SANDBOX}),
        writes=frozenset({SANDBOX}),
        for_user=True,
        described=False,
    ),
)
