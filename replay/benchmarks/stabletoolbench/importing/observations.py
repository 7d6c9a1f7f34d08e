"""API answers recorded inside raw answers: every complete observation is a real recorded response.

An observation that the client cut, made up itself (unknown function, time-out, failed request) or that
answers Finish is no recorded answer; each is counted by reason. Whether a response was real or simulated
cannot be told: its origin is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from replay.benchmarks.stabletoolbench.cache_keys import PYTHON_REPR
from replay.benchmarks.stabletoolbench.functions import FunctionEntry, find_by_suffix
from replay.benchmarks.stabletoolbench.importing.answer_book import AnswerBook, RecordedAnswer
from replay.benchmarks.stabletoolbench.importing.answers_in import AnswerRecord, answer_calls
from replay.benchmarks.stabletoolbench.importing.cache import answer_status, decode_answer
from replay.benchmarks.stabletoolbench.importing.record_filter import check_record, origin_of
from replay.benchmarks.stabletoolbench.naming import FINISH
from replay.benchmarks.stabletoolbench.playing.arguments import PARSE_ERROR, parse_arguments, python_repr_text
from replay.core.types import CallAlias, Json

__all__ = ["ObservationReader"]

_FROM_SERVER: Final = frozenset({0, 6, 7, 8, 9, 10, 11})
"""Status codes under which the client shows the server's own answer."""
_CUT_MARK: Final = "..."
_CUT_LENGTH: Final = 1027
"""The client keeps 1,024 characters and adds three dots."""


class ObservationReader:
    """Offers the recorded answers of raw answers to an answer book."""

    def __init__(self, book: AnswerBook) -> None:
        """Start with nothing read."""
        self._book = book
        self._cut: list[tuple[str, Json, str, str]] = []
        self.counts: Counter[str] = Counter()

    def read(self, answer: AnswerRecord, entries: Sequence[FunctionEntry]) -> None:
        """Read one raw answer; calls are routed the way upstream's client routes them.

        Source:  rapidapi_multithread.py, _step: the first function whose name ends with the called name.
        """
        for number, call in enumerate(answer_calls(answer.data)):
            self.counts["calls"] += 1
            reason = self._take(answer, entries, number, call)
            if reason:
                self.counts[reason] += 1

    def compare_cut(self) -> None:
        """Hold what is left of cut observations against the stored answers; differences are collisions."""
        for tool, arguments, start, source in self._cut:
            self._book.compare_start(tool, arguments, start=start, source=source)

    def _take(
        self,
        answer: AnswerRecord,
        entries: Sequence[FunctionEntry],
        number: int,
        call: tuple[str, str, str, int],
    ) -> str:
        """Offer one call's answer; returns why it is none, or `recorded`."""
        name, text, observation, code = call
        if name == FINISH:
            return "finish"
        if code not in _FROM_SERVER:
            return "made-by-client"
        entry = find_by_suffix(entries, name)
        if entry is None:
            return "function-unknown"
        parsed = parse_arguments(text, objects_only=False)
        if parsed.fault:
            return "arguments-unreadable"
        source, tool = f"{answer.file}, call {number}", entry.shown.identity
        if len(observation) == _CUT_LENGTH and observation.endswith(_CUT_MARK):
            self._cut.append((tool, parsed.value, observation.removesuffix(_CUT_MARK), source))
            return "cut"
        return self._offer(source, tool, parsed.value, observation)

    def _offer(self, source: str, tool: str, arguments: Json, observation: str) -> str:
        try:
            value, body, problem = decode_answer(observation)
        except (ValueError, RecursionError):
            return "observation-unreadable"
        if value == PARSE_ERROR:
            return "parse-error"
        if not isinstance(value, dict) or not {"error", "response"} <= value.keys():
            return "observation-without-fields"
        key = python_repr_text(arguments)
        recorded = RecordedAnswer(
            tool=tool,
            arguments=arguments,
            aliases=(CallAlias(label=PYTHON_REPR, tool=tool, text=key),),
            body=body,
            media="text" if problem else "json",
            origin=origin_of(value),
            status=answer_status(value, problem),
            source=source,
            meta={"key": key, "filter": check_record(value)},
        )
        self._book.add(recorded)
        return "recorded"
