"""Carries out one call against the tables: the execution environment without an interpreter.

Owns what a reply is (content, exception, trace) and where identifiers and answers of external APIs come from.
A failure is an exception of the tool and nothing else; upstream takes any line on standard error for one.
Source: upstream roles/execution_environment.py at 165848b.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from replay.benchmarks.toolsandbox.tools.catalogue import TOOLS
from replay.benchmarks.toolsandbox.tools.failures import CODE_FAULTS, ToolError, WrongTypeError, describe
from replay.benchmarks.toolsandbox.tools.tool import ApiRequest, Moment, bind, check_types, traced
from replay.benchmarks.toolsandbox.world.schema import INDEX
from replay.benchmarks.toolsandbox.world.snippets import Snippet, SnippetFault, read_snippet
from replay.benchmarks.toolsandbox.world.tables import Row, Tables
from replay.core.canonical import canonical_bytes
from replay.core.determinism import FrozenClock, Stream
from replay.core.errors import CanonicalError
from replay.core.types import Json, Record

__all__ = ["Console", "Reply", "WantedAnswer", "answer_name"]


class Reply(Record, frozen=True, kw_only=True):
    """What the environment says to one call."""

    content: str
    exception: str | None = None
    trace: str | None = None
    """JSON text of the call and its result, of a successful call only."""


class WantedAnswer(Exception):  # noqa: N818  a question, not a failure
    """A call needs the answer of an external API that is not at hand."""

    def __init__(self, request: ApiRequest) -> None:
        super().__init__(request.api)
        self.request = request


def answer_name(api: str, arguments: Json) -> str:
    """Name a question by its API and arguments, for answers that are at hand."""
    try:
        return canonical_bytes([api, arguments]).decode()
    except CanonicalError:
        return repr([api, arguments])


class Console:
    """Carries out calls of one episode."""

    def __init__(self, task: str, clock: FrozenClock, answers: Mapping[str, str]) -> None:
        """Take the episode's task (identifiers are made from it), its clock and API answers by name."""
        self._task = task
        self._clock = clock
        self._answers = answers

    def run(self, tables: Tables, message: Row) -> Reply:
        """Carry out the call of a message and change the tables.

        Errors:  WantedAnswer when an external API must be asked first; the tables are to be thrown away then.
        """
        try:
            snippet = read_snippet(message["content"] or "")
        except SnippetFault as fault:
            return Reply(content=fault.whole, exception=fault.whole)
        moment = Moment(tables=tables, clock=self._clock, new_id=self._ids(message[INDEX]), fetch=self._fetch)
        try:
            arguments, result = _call(moment, snippet)
        except ToolError as error:
            return Reply(content=error.line, exception=error.line)
        except CODE_FAULTS as error:
            line = describe(error).line
            return Reply(content=line, exception=line)
        trace = {"tool_name": snippet.name, "arguments": arguments, "result": result}
        return Reply(
            content=repr(result).rstrip() if snippet.prints else "",
            trace=json.dumps(trace, ensure_ascii=False),
        )

    def _ids(self, index: int) -> Callable[[], str]:
        """Make identifiers in the form of random UUIDs.

        They are made from the task and the message, so the order in which a batch is tried changes none.
        """
        stream = Stream("toolsandbox-id", self._task, index)

        def new_id() -> str:
            text = f"{stream.next_bits():016x}{stream.next_bits():016x}"
            variant = "89ab"[int(text[16], 16) % 4]
            return "-".join((text[:8], text[8:12], f"4{text[13:16]}", f"{variant}{text[17:20]}", text[20:]))

        return new_id

    def _fetch(self, request: ApiRequest) -> Json:
        text = self._answers.get(answer_name(request.api, request.arguments))
        if text is None:
            raise WantedAnswer(request)
        try:
            return json.loads(text)
        except ValueError as error:
            raise ToolError("requests.exceptions.JSONDecodeError", str(error)) from None


def _call(moment: Moment, snippet: Snippet) -> tuple[dict[str, Json], Json]:
    """Bind, check and run; return the traced arguments and the result."""
    tool = TOOLS.get(snippet.name)
    if tool is None:
        raise ToolError("NameError", f"name '{snippet.name}' is not defined")
    if not isinstance(snippet.arguments, dict):
        kind = type(snippet.arguments).__name__
        raise WrongTypeError(f"{tool.name}() argument after ** must be a mapping, not {kind}")
    arguments = bind(tool, snippet.arguments)
    if tool.checked:
        check_types(tool, arguments)
    return traced(arguments), tool.run(moment, arguments)
