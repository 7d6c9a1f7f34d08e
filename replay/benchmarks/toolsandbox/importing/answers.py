"""Recorded answers of the external APIs: upstream's JSON as it came, one a question.

`api_answers.json` is a list of {"tool": NAME, "arguments": {...}, "response": JSON, "origin": "real"};
arguments are normalised: coordinates filled in and as numbers, currency codes in capitals. `origin` is
`real`, `simulated` (invented) or left out.
"""

from __future__ import annotations

import json
from typing import Final

import msgspec

from replay.benchmarks.toolsandbox.importing.source import Dump
from replay.benchmarks.toolsandbox.records import BENCHMARK
from replay.benchmarks.toolsandbox.tools.web import APIS
from replay.core.errors import InputError
from replay.core.protocols import ImportedAnswer
from replay.core.types import CallRequest, Json, Record

__all__ = ["FILE", "read_answers"]

FILE: Final = "api_answers.json"


class _Answer(Record, frozen=True, kw_only=True):
    tool: str
    arguments: dict[str, Json]
    response: Json
    origin: str = "unknown"


def read_answers(dump: Dump) -> tuple[ImportedAnswer, ...]:
    """Read the recorded answers; none when there is no such file."""
    if not dump.has(FILE):
        return ()
    entries = dump.read(FILE)
    if not isinstance(entries, list):
        raise InputError("no list of answers", where=FILE, expected="a list")
    made = []
    for number, entry in enumerate(entries):
        try:
            made.append(_read(entry, number))
        except (InputError, msgspec.ValidationError) as error:
            dump.fault(str(error), f"{FILE}, record {number}")
    dump.count(FILE, len(entries))
    return tuple(made)


def _read(entry: Json, number: int) -> ImportedAnswer:
    answer = msgspec.convert(entry, _Answer)
    if answer.tool not in APIS:
        raise InputError(f"tool {answer.tool!r} asks no API", expected=f"one of {', '.join(APIS)}")
    api, _ = APIS[answer.tool]
    return ImportedAnswer(
        request=CallRequest(benchmark=BENCHMARK, tool=api, arguments=answer.arguments),
        body=json.dumps(answer.response, ensure_ascii=False, separators=(",", ":")),
        origin=answer.origin,
        source=f"{FILE}#{number}",
    )
