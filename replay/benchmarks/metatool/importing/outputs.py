"""What another harness answered: upstream's result files, or one answer a line.

A result file is one of the built task files with `res` (awareness) or `action_res` (selection) in each
record, as upstream's run script writes it; records are told by their query, tool and list. A line file has
{"id", "model_output"} objects, `trial` and `candidate` besides. Whatever does not belong to a task of the
archive, or belongs to one twice, is named and nothing is scored. Single cases without a task are `cases`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from replay.benchmarks.metatool.importing.line_files import clean_text, decode_json, read_lines, read_text
from replay.benchmarks.metatool.importing.published import FILES, candidates_in
from replay.benchmarks.metatool.records import AWARENESS, RELIABILITY, Sample, sample_of
from replay.core.errors import InputError
from replay.core.types import Json, Output, Record, Task

__all__ = ["FORM", "outcome_of", "read_outputs"]

FORM: Final = "answer"
_SUFFIXES: Final = (".json", ".jsonl")
_EXPECTED: Final = (
    'a result file of upstream (a list of records with "res" or "action_res") or lines of'
    ' {"id", "model_output"}'
)
_SHOWN: Final = 10
_LABELS: Final = {"positive": "yes", "negative": "no"}
_TRIAL: Final = re.compile(r"trial-(0|[1-9][0-9]{0,5})")

_Shape = TypeVar("_Shape")


class _Line(msgspec.Struct, frozen=True):
    id: str
    model_output: str
    candidate: str = ""
    trial: int = 0


class _Result(msgspec.Struct, frozen=True):
    query: str
    label: str = ""
    tool: str | list[str] = ""
    res: str | None = None
    action_res: str | None = None
    action_prompt: str = ""
    id: str = ""


class _Found(Record, frozen=True, kw_only=True):
    task: str
    trial: int
    candidate: str
    text: str
    order: tuple[str, ...] = ()
    source: str
    place: str


def read_outputs(path: Path, tasks: Mapping[str, Task]) -> tuple[Output, ...]:
    """Read a file or a folder of files: one output for each candidate, task and trial, sorted.

    Shape:   the candidate is what a line says, else the file's name (for a folder: the folder's).
    Errors:  InputError naming file, record and what is wrong with each: no known form, an id that is
             unknown or given twice, a record that fits no task. LimitError for a file that is too large.
    """
    book = _Book(tasks)
    for file in _files(path):
        label = path.name if path.is_dir() else path.stem
        trial = _TRIAL.fullmatch(file.parent.name) if path.is_dir() else None
        for found in _read_file(file, label, book, trial=int(trial.group(1)) if trial else 0):
            book.add(found)
    book.raise_if_any()
    if not book.outputs:
        raise InputError("nothing to score: no record in any file", where=path.name, expected=_EXPECTED)
    return tuple(book.outputs[place] for place in sorted(book.outputs))


def outcome_of(output: Output, task: Task) -> Json:
    """Turn an output into the outcome that evaluators read. Raises InputError for an unknown form."""
    if output.format != FORM or not isinstance(output.data, dict):
        raise InputError(f"unknown output form {output.format!r}", where=f"task {task.id}", expected=FORM)
    return output.data


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return [file for file in sorted(path.rglob("*")) if file.suffix in _SUFFIXES and not file.is_dir()]
    if not path.exists():
        raise InputError("no such file or folder", where=path.name, expected=_EXPECTED)
    return [path]


def _read_file(file: Path, label: str, book: _Book, *, trial: int) -> Iterator[_Found]:
    """Answers of one file; `trial` is what its folder says, for the form that has no trials of its own."""
    text = read_text(file)
    if text.lstrip().startswith("["):
        for place, value in enumerate(_list_of(text, file.name)):
            record = _converted(value, _Result, f"{file.name}, record {place}")
            yield from book.match(record, file, candidate=label, trial=trial, place=place)
        return
    for number, value in read_lines(text, where=file.name):
        line = _converted(value, _Line, f"{file.name}, line {number}")
        yield _Found(
            task=line.id,
            trial=line.trial or trial,
            candidate=line.candidate or label,
            text=clean_text(line.model_output),
            source=file.name,
            place=f"line {number}",
        )


def _list_of(text: str, where: str) -> list[Json]:
    value = decode_json(text, where=where)
    return value if isinstance(value, list) else [value]


def _converted(value: Json, shape: type[_Shape], where: str) -> _Shape:
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise InputError(str(error), where=where, expected=_EXPECTED) from None


class _Book:
    """Outputs by candidate, task and trial, and what is wrong with the rest."""

    def __init__(self, tasks: Mapping[str, Task]) -> None:
        self.outputs: dict[tuple[str, str, int], Output] = {}
        self._tasks = tasks
        self._faults: list[str] = []
        self._places: dict[tuple[str, str, int], str] = {}
        self._by_query: dict[str, list[tuple[str, Sample]]] = defaultdict(list)
        for name, task in tasks.items():
            sample = sample_of(task)
            self._by_query[_plain(sample.query)].append((name, sample))
        self._taken: dict[tuple[str, int], set[str]] = defaultdict(set)

    def add(self, found: _Found) -> None:
        """Take in one answer; an unknown or repeated id is a fault."""
        where = f"{found.source}, {found.place}"
        key = (found.candidate, found.task, found.trial)
        if found.task not in self._tasks:
            self._faults.append(f"unknown id {found.task[:80]!r} ({where})")
        elif not 0 <= found.trial < 1 << 20:
            self._faults.append(f"trial {found.trial} of {found.task} ({where})")
        elif key in self._places:
            self._faults.append(f"id {found.task!r} is given twice ({where}; also {self._places[key]})")
        else:
            self._places[key] = where
            data: dict[str, Json] = {"answer": found.text}
            if found.order:
                data["order"] = list(found.order)
            self.outputs[key] = Output(
                candidate=found.candidate,
                task=found.task,
                trial=found.trial,
                format=FORM,
                data=data,
                source=found.source,
            )

    def match(
        self, record: _Result, file: Path, *, candidate: str, trial: int, place: int
    ) -> Iterable[_Found]:
        """Find the task of one record of a result file; each task is given to one record of a trial."""
        where = f"{file.name}, record {place}"
        order = candidates_in(record.action_prompt)
        text = record.action_res if record.action_res is not None else record.res
        if text is None:
            self._faults.append(f'neither "res" nor "action_res" ({where})')
            return
        fitting = [
            name
            for name, sample in self._by_query.get(_plain(record.query), ())
            if (not record.id or name == record.id) and _fits(record, sample, order, FILES.get(file.name, ""))
        ]
        taken = self._taken[candidate, trial]
        free = [name for name in fitting if name not in taken]
        if not free:
            what = "is given twice" if fitting else "fits no task of the archive"
            self._faults.append(f"the query {record.query[:60]!r} {what} ({where})")
            return
        # Equal questions are answered in the order in which both sides list them.
        taken.add(free[0])
        yield _Found(
            task=free[0],
            trial=trial,
            candidate=candidate,
            text=clean_text(text),
            order=order,
            source=file.name,
            place=f"record {place}",
        )

    def raise_if_any(self) -> None:
        """Raise one InputError for every fault."""
        if not self._faults:
            return
        more = len(self._faults) - _SHOWN
        listed = "; ".join(self._faults[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")
        raise InputError(
            f"{len(self._faults)} records cannot be scored: {listed}",
            expected=f"each of the {len(self._tasks)} tasks of the archive at most once",
            next_step="list the ids with: replay archive list ARCHIVE --table tasks",
        )


def _fits(record: _Result, sample: Sample, order: tuple[str, ...], subtask: str) -> bool:
    """Tell whether a record is of a sample's subtask, truth and list, as far as record and file name say."""
    if subtask and sample.subtask != subtask:
        return False
    if record.label:
        return sample.subtask == AWARENESS and sample.truth == (_LABELS.get(record.label, record.label),)
    if sample.subtask == AWARENESS:
        return not order and record.action_res is None
    named = [tool for tool in ([record.tool] if isinstance(record.tool, str) else record.tool) if tool]
    wanted = (sample.removed,) if sample.subtask == RELIABILITY else sample.truth
    has_tools = not named or sorted(named) == sorted(wanted)
    return has_tools and (not order or sorted(order) == sorted(sample.candidates))


def _plain(query: str) -> str:
    """A query without differences of white space, which harnesses do not keep."""
    return " ".join(query.split())
