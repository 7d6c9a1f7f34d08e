"""The world of one episode behind the engine's seam: messages in, replies out, the whole state to read.

One call of the engine carries the messages said since the last one and, when the last of them speaks to the
execution environment, the replies that come back. A call that needs an external API changes nothing and says
what it wants; the play asks the recorded answers and calls again with them.
"""

from __future__ import annotations

from typing import Final

import msgspec

from replay.benchmarks.toolsandbox.records import Scenario, make_context
from replay.benchmarks.toolsandbox.tools.tool import ApiRequest
from replay.benchmarks.toolsandbox.world.batches import Batch, TooManyOrdersError, run_batch
from replay.benchmarks.toolsandbox.world.console import Console, Reply, WantedAnswer
from replay.benchmarks.toolsandbox.world.schema import ENVIRONMENT, INDEX, SANDBOX, SYSTEM
from replay.benchmarks.toolsandbox.world.tables import Row, Tables
from replay.core.determinism import FrozenClock
from replay.core.types import CallRequest, Json, Provenance, Record, ToolResult

__all__ = ["CONSOLE", "Exchange", "Said", "SandboxWorld"]

CONSOLE: Final = "toolsandbox/console"
"""Identity of the one tool that the engine's calls name."""


class Said(Record, frozen=True, kw_only=True):
    """Arguments of a call to the console."""

    rows: tuple[Row, ...]
    """Messages said since the last call, as rows without an index."""
    runs: bool = True
    """False: only write the messages down."""
    answers: dict[str, str] = msgspec.field(default_factory=dict)
    """Answers of external APIs by question, as recorded."""


class Exchange(Record, frozen=True, kw_only=True):
    """What came of a call to the console."""

    replies: tuple[Row, ...] = ()
    """The environment's messages."""
    active: bool = True
    """Whether the conversation goes on."""
    wanted: ApiRequest | None = None
    """An API to ask first; nothing else has happened then."""
    refused: str = ""
    """Why the calls were not carried out at all."""


class SandboxWorld:
    """The tables and the console of one episode."""

    def __init__(self, scenario: Scenario) -> None:
        """Start from the scenario's world and seeded messages."""
        self._scenario = scenario
        self._tables = Tables.start({name: rows for name, rows in scenario.tables.items() if name != SANDBOX})
        self._tables.add(SANDBOX, scenario.messages)

    @property
    def tables(self) -> Tables:
        """The tables as they are now."""
        return self._tables

    def handle(self, request: CallRequest) -> ToolResult | None:
        """Take messages in and reply to those that speak to the execution environment."""
        if request.tool != CONSOLE:
            return None
        exchange = self.exchange(msgspec.convert(request.arguments, Said))
        failed = any(row["tool_call_exception"] is not None for row in exchange.replies)
        return ToolResult(
            content="\n".join(row["content"] for row in exchange.replies),
            provenance=Provenance.WORLD,
            is_error=failed or bool(exchange.refused),
            body=msgspec.to_builtins(exchange),
        )

    def exchange(self, said: Said) -> Exchange:
        """Take messages in and reply; what wants an answer or is refused leaves the world as it was."""
        tables = self._tables.copy()
        tables.add(SANDBOX, said.rows)
        addressed = _addressed(tables.messages()) if said.runs else []
        if not addressed:
            self._tables = tables
            return Exchange(active=_is_active(tables))
        console = Console(self._scenario.name, FrozenClock(self._scenario.now), said.answers)
        try:
            batch = run_batch(tables, addressed, console.run)
        except WantedAnswer as question:
            return Exchange(wanted=question.request)
        except TooManyOrdersError as error:
            return Exchange(refused=str(error))
        self._tables = batch.tables
        replies = _write_replies(self._tables, batch)
        return Exchange(replies=replies, active=_is_active(self._tables))

    def state(self) -> Json:
        """The whole state in the form of upstream's execution_context.json."""
        return make_context(self._tables, self._scenario)


def _addressed(messages: list[Row]) -> list[Row]:
    """Return the last messages that speak to the environment and want a reply."""
    first = len(messages)
    while first and messages[first - 1]["recipient"] == ENVIRONMENT:
        first -= 1
    return [message for message in messages[first:] if message["sender"] != SYSTEM]


def _write_replies(tables: Tables, batch: Batch) -> tuple[Row, ...]:
    if any(reply.trace is not None for _, reply in batch.replies):
        # Upstream keeps traces in the last message while calls run and clears them then: a rewritten row.
        tables.replace(SANDBOX, tables.read(SANDBOX))
    rows = [_reply_row(message, reply) for message, reply in batch.replies]
    before = tables.last_index
    tables.add(SANDBOX, rows)
    return tuple(
        {name: value for name, value in row.items() if name != INDEX}
        for row in tables.messages()
        if row[INDEX] > before
    )


def _reply_row(message: Row, reply: Reply) -> Row:
    return {
        "sender": ENVIRONMENT,
        "recipient": message["sender"],
        "content": reply.content,
        "openai_tool_call_id": message["openai_tool_call_id"],
        "openai_function_name": message["openai_function_name"],
        "tool_call_exception": reply.exception,
        "tool_trace": None if reply.trace is None else [reply.trace],
        "visible_to": [ENVIRONMENT, message["sender"]],
    }


def _is_active(tables: Tables) -> bool:
    return bool(tables.messages()[-1]["conversation_active"])
