"""Result files of upstream's evaluators: pass rate, preference and final answer completeness.

A pass-rate file has one status per judge run. A preference file has totals only: which round went to whom and
in which order the answers were shown is unknown unless one side took every round. A completeness file has no
ids: its rows are found by their query text. Source: tooleval at aa4ed9f, spec 5.3-5.5.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from replay.benchmarks.stabletoolbench.evidence import STATUS_LABELS
from replay.benchmarks.stabletoolbench.faults import Faults, json_kind
from replay.core.types import Json, Record

__all__ = [
    "FacRow",
    "PassRateRecord",
    "PreferenceRecord",
    "is_pass_rate_file",
    "is_preference_file",
    "read_fac_rows",
    "read_pass_rate",
    "read_pass_rate_rows",
    "read_preference",
    "read_preference_labels",
]

_PREFIX: Final = "AnswerStatus."
_ROUND: Final = re.compile(r"round_\d+")
_ROUND_STATES: Final = ("complete", "incomplete")
_PREFERENCE_LABELS: Final = {"1": "reference", "2": "candidate", "3": "tie"}


class PassRateRecord(Record, frozen=True, kw_only=True):
    """Statuses of one answer by judge run."""

    id: str
    query: str
    statuses: dict[int, str]
    data: Json
    file: str


class PreferenceRecord(Record, frozen=True, kw_only=True):
    """Points of one pair of answers."""

    id: str
    reference: str
    candidate: str
    reference_points: int
    candidate_points: int
    rounds: dict[str, str]
    data: Json
    file: str

    @property
    def adds_up(self) -> bool:
        """Whether every round gave one point."""
        return self.reference_points + self.candidate_points == len(self.rounds)


class FacRow(Record, frozen=True, kw_only=True):
    """One row of a completeness file."""

    number: int
    query: str
    final_answer: str
    evaluation: str
    prompt: str
    file: str


def is_pass_rate_file(value: Json) -> bool:
    """Recognise a pass-rate file by the statuses of some record."""
    records = value.values() if isinstance(value, dict) else ()
    return any(isinstance(item, dict) and "is_solved" in item for item in records)


def is_preference_file(value: Json) -> bool:
    """Recognise a preference file by the rounds of some record."""
    records = value.values() if isinstance(value, dict) else ()
    return any(isinstance(item, dict) and any(map(_ROUND.fullmatch, item)) for item in records)


def read_pass_rate(file: str, value: Json, faults: Faults) -> Iterator[PassRateRecord]:
    """Read the records of a pass-rate file; an unknown status is a fault."""
    for task_id, record in value.items():
        path = f'$["{task_id}"]'
        if not isinstance(record, dict) or not isinstance(record.get("query"), str):
            expected = "an object with query and is_solved"
            faults.add("not a pass-rate record", file=file, record=task_id, path=path, expected=expected)
            continue
        statuses = _statuses(record.get("is_solved"), file, task_id, f"{path}.is_solved", faults)
        if statuses is not None:
            yield PassRateRecord(id=task_id, query=record["query"], statuses=statuses, data=record, file=file)


def read_pass_rate_rows(file: str, rows: list[dict[str, str]], faults: Faults) -> Iterator[PassRateRecord]:
    """Read the tab-separated form, in which the statuses are the text of a Python dict."""
    for number, row in enumerate(rows):
        held = _read_statuses(row["is_solved"])
        statuses = _statuses(held, file, row["query_id"], f"row {number}, is_solved", faults)
        if statuses is not None:
            data = {**row, "is_solved": held}
            yield PassRateRecord(
                id=row["query_id"], query=row["query"], statuses=statuses, data=data, file=file
            )


def _read_statuses(text: str) -> Json:
    """Read the text of a Python dict by run; any other text is handed back as it stands, to be refused."""
    try:
        value = ast.literal_eval(text)
        return {str(run): label for run, label in value.items()} if isinstance(value, dict) else text
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        # TypeError: a list or a set as a key. ValueError: also a number of more than 4,300 digits.
        return text


def read_preference(file: str, value: Json, faults: Faults) -> Iterator[PreferenceRecord]:
    """Read the records of a preference file; the reference is the name that comes first in the file name."""
    for task_id, record in value.items():
        path = f'$["{task_id}"]'
        if not isinstance(record, dict):
            what = f"a preference record is {json_kind(record)}"
            faults.add(what, file=file, record=task_id, path=path, expected="an object of points and rounds")
            continue
        rounds = {name: state for name, state in record.items() if _ROUND.fullmatch(name)}
        points = {name: count for name, count in record.items() if name not in rounds}
        counted = all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in points.values())
        if len(points) != 2 or not counted or not set(rounds.values()) <= set(_ROUND_STATES):
            expected = "points of two candidates, each round complete or incomplete"
            faults.add("not a preference record", file=file, record=task_id, path=path, expected=expected)
            continue
        first, second = _pair(file, tuple(points))
        yield PreferenceRecord(
            id=task_id,
            reference=first,
            candidate=second,
            reference_points=points[first],
            candidate_points=points[second],
            rounds=rounds,
            data=record,
            file=file,
        )


def read_preference_labels(file: str, rows: list[dict[str, str]], faults: Faults) -> dict[str, str]:
    """Read the tab-separated form: which side won each query, by id."""
    found = {}
    for number, row in enumerate(rows):
        label = _PREFERENCE_LABELS.get(row["preference_label"])
        if label is None:
            what = f"unknown preference label {row['preference_label']!r}"
            expected = "1 (reference), 2 (candidate) or 3 (tie)"
            faults.add(what, file=file, record=row["query_id"], path=f"row {number}", expected=expected)
        else:
            found[row["query_id"]] = label
    return found


def read_fac_rows(file: str, rows: list[dict[str, str]]) -> tuple[FacRow, ...]:
    """Read the rows of a completeness file; the reply is kept as it is, how to read it is the metric's."""
    return tuple(
        FacRow(
            number=number,
            query=row["query"],
            final_answer=row["final_answer"],
            evaluation=row["evaluation"],
            prompt=row["prompt"],
            file=file,
        )
        for number, row in enumerate(rows)
    )


def _statuses(value: Json, file: str, task_id: str, path: str, faults: Faults) -> dict[int, str] | None:
    if not isinstance(value, dict):
        what = f"is_solved is {json_kind(value)}"
        faults.add(what, file=file, record=task_id, path=path, expected="an object of run -> status")
        return None
    found: dict[int, str] = {}
    for run, status in value.items():
        label = status.removeprefix(_PREFIX) if isinstance(status, str) else None
        if not run.isdecimal():
            faults.add(f"run {run!r}", file=file, record=task_id, path=path, expected="a run number")
            return None
        if label not in STATUS_LABELS:
            expected = f"one of {', '.join(_PREFIX + known for known in STATUS_LABELS)}"
            what = f"unknown status {status!r}"
            faults.add(what, file=file, record=task_id, path=f'{path}["{run}"]', expected=expected)
            return None
        found[int(run)] = label
    return dict(sorted(found.items()))


def _pair(file: str, names: tuple[str, ...]) -> tuple[str, str]:
    """Order two candidate names as (reference, candidate): by the file name, else as the record has them."""
    stem = file.rsplit("/", 1)[-1].removesuffix(".json")
    first, second = names
    return (second, first) if stem.endswith(f"{second}_{first}") else (first, second)
