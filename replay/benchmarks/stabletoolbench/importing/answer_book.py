"""Recorded answers of one import: one per canonical request, equal ones joined, collisions kept and listed.

The first answer of a request keeps it. A later, different answer is a collision: it stays in the archive
under those of its alias texts that are still free, and both are reported.
"""

from __future__ import annotations

import json
from typing import Final

import msgspec

from replay.benchmarks.stabletoolbench.evidence import BENCHMARK
from replay.core.canonical import canonical_bytes
from replay.core.protocols import ImportedAnswer
from replay.core.types import CallAlias, CallRequest, Json, Record

__all__ = ["OTHER_RECORDING", "AnswerBook", "RecordedAnswer"]

OTHER_RECORDING: Final = "other-recording"
"""Alias step that no calling rule uses: it keeps a collision's loser in the archive, under its source."""
_LISTED: Final = 500
_SHOWN: Final = 2000


class RecordedAnswer(Record, frozen=True, kw_only=True):
    """One recorded answer with everything that was found about it."""

    tool: str
    arguments: Json
    keyed: bool = True
    """False when the arguments have no canonical form; the answer is then reachable by its aliases."""
    aliases: tuple[CallAlias, ...]
    body: str
    media: str = "json"
    origin: str = "unknown"
    status: str = "ok"
    source: str
    meta: Json = None


class AnswerBook:
    """Collects recorded answers in the order they are offered."""

    def __init__(self) -> None:
        self._answers: list[ImportedAnswer] = []
        self._by_request: dict[bytes, int] = {}
        self._by_alias: dict[CallAlias, int] = {}
        self._starts: dict[bytes, tuple[str, str]] = {}
        self.repeated = 0
        """Answers that repeat an earlier one of the same request."""
        self.collisions: list[dict[str, Json]] = []

    @property
    def answers(self) -> tuple[ImportedAnswer, ...]:
        """All answers, in the order of their first recording."""
        return tuple(self._answers)

    def add(self, answer: RecordedAnswer) -> None:
        """Take in one answer: new, a repeat, or a collision."""
        request = canonical_bytes([answer.tool, answer.arguments]) if answer.keyed else None
        place = None if request is None else self._by_request.get(request)
        if place is None:
            self._append(answer, request)
        elif self._answers[place].body == answer.body:
            self.repeated += 1
            self._join(place, answer)
        else:
            self._collide(place, answer)

    def compare_start(self, tool: str, arguments: Json, *, start: str, source: str) -> None:
        """Compare the start of an answer's JSON text with the stored one; report a difference.

        Only the start is known, so nothing is stored. Two starts without a stored answer are compared with
        each other.
        """
        request = canonical_bytes([tool, arguments])
        place = self._by_request.get(request)
        if place is not None:
            text = json.dumps(json.loads(self._answers[place].body))
            first = self._answers[place].source
        else:
            text, first = self._starts.setdefault(request, (start, source))
        if not text.startswith(start):
            self._report(tool, arguments, (first, text), (f"{source}, cut", start))

    def _append(self, answer: RecordedAnswer, request: bytes | None) -> None:
        free = self._free(answer.aliases)
        if request is None and not free:
            self._collide(self._by_alias[answer.aliases[0]], answer)
            return
        place = len(self._answers)
        if request is not None:
            self._by_request[request] = place
        self._by_alias.update(dict.fromkeys(free, place))
        self._answers.append(_imported(answer, free, keyed=request is not None))

    def _join(self, place: int, answer: RecordedAnswer) -> None:
        free = self._free(answer.aliases)
        first = self._answers[place]
        self._by_alias.update(dict.fromkeys(free, place))
        self._answers[place] = msgspec.structs.replace(first, aliases=(*first.aliases, *free))

    def _collide(self, place: int, answer: RecordedAnswer) -> None:
        first = self._answers[place]
        if first.body == answer.body:
            self.repeated += 1
            return
        arguments = answer.arguments if answer.keyed else None
        self._report(answer.tool, arguments, (first.source, first.body), (answer.source, answer.body))
        kept = CallAlias(label=OTHER_RECORDING, tool=answer.tool, text=answer.source)
        aliases = (*self._free(answer.aliases), kept)
        self._by_alias.update(dict.fromkeys(aliases, len(self._answers)))
        self._answers.append(_imported(answer, aliases, keyed=False))

    def _report(self, tool: str, arguments: Json, first: tuple[str, str], second: tuple[str, str]) -> None:
        answers = [
            {"source": source, "answer": text[:_SHOWN], "characters": len(text)}
            for source, text in (first, second)
        ]
        self.collisions.append({"tool": tool, "arguments": arguments, "answers": answers})

    def _free(self, aliases: tuple[CallAlias, ...]) -> tuple[CallAlias, ...]:
        return tuple(alias for alias in dict.fromkeys(aliases) if alias not in self._by_alias)

    def report(self) -> dict[str, Json]:
        """Counts and collisions for the import report; long lists and texts are cut and counted."""
        return {
            "stored": len(self._answers),
            "repeated": self.repeated,
            "collisions": len(self.collisions),
            "collisions_listed": self.collisions[:_LISTED],
        }


def _imported(answer: RecordedAnswer, aliases: tuple[CallAlias, ...], *, keyed: bool) -> ImportedAnswer:
    request = CallRequest(benchmark=BENCHMARK, tool=answer.tool, arguments=answer.arguments)
    return ImportedAnswer(
        request=request if keyed else None,
        aliases=aliases,
        body=answer.body,
        media=answer.media,
        origin=answer.origin,
        status=answer.status,
        source=answer.source,
        meta=answer.meta,
    )
