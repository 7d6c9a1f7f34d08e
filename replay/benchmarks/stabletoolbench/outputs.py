"""What another harness produced: raw or converted answers and judge results, found by their content.

Every JSON and table file under the path must be one of upstream's forms for tasks that are known; anything
else is named and nothing is scored. Parts of one answer (its text, its statuses, its points) are joined.
Files are read by the importer's own readers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from replay.benchmarks.stabletoolbench.answers_in import (
    AnswerRecord,
    is_converted_file,
    is_raw_answer,
    read_converted,
    read_raw_answer,
)
from replay.benchmarks.stabletoolbench.convert import convert_answer
from replay.benchmarks.stabletoolbench.faults import Faults
from replay.benchmarks.stabletoolbench.results import (
    PassRateRecord,
    is_pass_rate_file,
    is_preference_file,
    read_fac_rows,
    read_pass_rate,
    read_pass_rate_rows,
    read_preference,
    read_preference_labels,
)
from replay.benchmarks.stabletoolbench.source_tree import SourceTree
from replay.benchmarks.stabletoolbench.tables import read_table, table_kind
from replay.core.errors import InputError
from replay.core.types import Json, Output, Record, Task

__all__ = ["JOINED", "outcome_of", "read_outputs"]

JOINED: Final = "joined"
"""Form of an output that several files tell of; its data holds one entry a form."""

_FORMS: Final = "raw or converted answers, pass-rate, preference or completeness results of StableToolBench"
_SUFFIXES: Final = (".json", ".csv", ".tsv")
_TRIAL: Final = re.compile(r"trial-(0|[1-9][0-9]{0,5})")
_LABEL_POINTS: Final = {"reference": (1, 0), "candidate": (0, 1), "tie": (1, 1)}
"""A preference table has the winner only; one point stands for it."""


class Part(Record, frozen=True, kw_only=True):
    """What one file says of one task."""

    candidate: str
    id: str
    form: str
    """raw, converted, pass-rate, preference or fac."""
    data: Json
    derived: bool = False
    """True for tables, which repeat a JSON file beside them."""


def read_outputs(path: Path, tasks: Mapping[str, Task]) -> tuple[Output, ...]:
    """Read a file or folder of outputs: one output for each candidate, task and trial, sorted.

    Shape:   `trial-<n>` folders hold further trials; names of candidates come from folder and file names.
    Errors:  InputError naming every file, record and JSON path that is wrong: no known form, cut or invalid
             JSON, an id that is unknown or given twice, an unknown status.
    """
    tree = _OneFile(path) if path.is_file() else SourceTree(path)
    faults = Faults()
    book = _Book(tasks, faults)
    for relative in tree.files:
        if relative.endswith(_SUFFIXES):
            label, trial = _place(path, relative)
            for part in _read_file(tree, relative, label, book):
                book.add(part, trial=trial, source=relative)
    for relative, why in sorted(tree.skipped.items()):
        if relative.endswith(_SUFFIXES):
            faults.add(why, file=relative, expected=_FORMS)
    faults.raise_if_any()
    if not book.outputs:
        raise InputError("nothing to score: no record in any file", where=path.name, expected=_FORMS)
    return book.close()


def outcome_of(output: Output, task: Task) -> Json:
    """Turn an output into the outcome that evaluators read. Raises InputError for a form that is unknown."""
    if output.format != JOINED:
        return _outcome_part(output.format, output.data, task, output.source)
    outcome: dict[str, Json] = {}
    # Raw first: a converted answer beside it is what upstream's judges were shown.
    for form in sorted(output.data, key=lambda name: (name != "raw", name)):
        part = output.data[form]
        found = _outcome_part(form, part["data"], task, part["source"])
        outcome |= {name: value for name, value in found.items() if value is not None}
    return outcome


# ---- files ---------------------------------------------------------------------------------------------


class _OneFile(SourceTree):
    """A tree of one file, so that the folder around it is not listed."""

    def __init__(self, path: Path) -> None:
        self._only = path.name
        super().__init__(path.parent)

    def _list(self) -> tuple[str, ...]:
        return (self._only,)


def _place(path: Path, relative: str) -> tuple[str, int]:
    """Path with the root's own name in front (it may name the candidate), and the trial it says."""
    root = path.resolve()
    folder = root.parent.name if root.is_file() else root.name
    parts = [folder, *relative.split("/")]
    trials = [match for part in parts[:-1] if (match := _TRIAL.fullmatch(part))]
    kept = [part for part in parts[:-1] if not _TRIAL.fullmatch(part)]
    return "/".join([*kept, parts[-1]]), int(trials[-1].group(1)) if trials else 0


def _read_file(tree: SourceTree, relative: str, label: str, book: _Book) -> Iterator[Part]:
    if not relative.endswith(".json"):
        text = tree.read_text(relative, book.faults)
        if text is not None:
            yield from _read_table(label, text, book)
        return
    value = tree.read_json(relative, book.faults)
    if value is None:
        return
    if is_raw_answer(value):
        answer = read_raw_answer(label, value, book.faults)
        if answer is not None:
            yield _answer_part(answer)
    elif is_converted_file(value):
        yield from map(_answer_part, read_converted(label, value, book.faults))
    elif is_pass_rate_file(value):
        yield from _statuses(label, read_pass_rate(label, value, book.faults), derived=False)
    elif is_preference_file(value):
        for record in read_preference(label, value, book.faults):
            points = {"reference": record.reference_points, "candidate": record.candidate_points}
            data = {record.reference: points}
            yield Part(candidate=record.candidate, id=record.id, form="preference", data=data)
    else:
        book.faults.add("neither answers nor results", file=relative, expected=_FORMS)


def _read_table(label: str, text: str, book: _Book) -> Iterator[Part]:
    kind = table_kind(text)
    if kind is None:
        book.faults.add("a table of another kind", file=label, expected=_FORMS)
        return
    rows = read_table(label, text, book.faults)
    if kind == "pass-rate":
        yield from _statuses(label, read_pass_rate_rows(label, rows, book.faults), derived=True)
    elif kind == "preference":
        models = {row["query_id"]: (row["ref_model"], row["output_model"]) for row in rows}
        for task_id, side in read_preference_labels(label, rows, book.faults).items():
            reference, candidate = models[task_id]
            points = dict(zip(("reference", "candidate"), _LABEL_POINTS[side], strict=True))
            yield Part(
                candidate=candidate, id=task_id, form="preference", data={reference: points}, derived=True
            )
    else:
        for row in read_fac_rows(label, rows):
            task_id = book.id_of_query(row.query, label, row.number)
            if task_id:
                yield Part(
                    candidate=_candidate(label), id=task_id, form="fac", data={"reply": row.evaluation}
                )


def _answer_part(answer: AnswerRecord) -> Part:
    return Part(candidate=answer.candidate, id=answer.id, form=answer.form, data=answer.data)


def _statuses(label: str, records: Iterable[PassRateRecord], *, derived: bool) -> Iterator[Part]:
    for record in records:
        model = record.data.get("model") if derived else None
        data = {str(run): status for run, status in record.statuses.items()}
        candidate = model or _candidate(label)
        yield Part(candidate=candidate, id=record.id, form="pass-rate", data=data, derived=derived)


def _candidate(label: str) -> str:
    """The candidate a result file is about: `<candidate>/<group>_<candidate>.json`, else its folder."""
    parts = label.split("/")
    return parts[-2] if len(parts) > 1 else parts[-1].rsplit(".", 1)[0]


# ---- joining -------------------------------------------------------------------------------------------


class _Book:
    """Parts by candidate, task and trial; refuses what does not belong to a task."""

    def __init__(self, tasks: Mapping[str, Task], faults: Faults) -> None:
        self.faults = faults
        self.outputs: dict[tuple[str, str, int], dict[str, tuple[Part, str]]] = {}
        self._tasks = tasks
        self._queries: dict[str, list[str]] = {}

    def id_of_query(self, query: str, label: str, number: int) -> str:
        """The task with that query; a fault when none or several have it."""
        if not self._queries:
            for task in self._tasks.values():
                self._queries.setdefault(str(task.data.get("query", "")), []).append(task.id)
        found = self._queries.get(query, [])
        if len(found) != 1:
            what = f"{len(found)} tasks have the query {query[:60]!r}"
            self.faults.add(what, file=label, record=number, expected="the query of one task")
        return found[0] if len(found) == 1 else ""

    def add(self, part: Part, *, trial: int, source: str) -> None:
        """Take in one part; an unknown or repeated id is a fault."""
        if part.id not in self._tasks:
            expected = f"one of the {len(self._tasks)} tasks of the archive"
            self.faults.add(f"unknown id {part.id!r}", file=source, record=part.id, expected=expected)
            return
        forms = self.outputs.setdefault((part.candidate, part.id, trial), {})
        known = forms.get(part.form)
        if known is None:
            forms[part.form] = (part, source)
            return
        first, first_source = known
        if first.derived == part.derived:
            what = f"id {part.id!r} is given twice for {part.candidate}"
            self.faults.add(what, file=source, record=part.id, expected=f"one record; also in {first_source}")
            return
        exact, table = (part, first) if first.derived else (first, part)
        if not _agrees(exact, table):
            what = f"table and JSON file disagree on {part.candidate}"
            self.faults.add(what, file=source, record=part.id, expected=f"what {first_source} says")
        forms[part.form] = (exact, source if exact is part else first_source)

    def close(self) -> tuple[Output, ...]:
        """One output for each candidate, task and trial, sorted."""
        return tuple(
            _output(candidate, task, trial, self.outputs[candidate, task, trial])
            for candidate, task, trial in sorted(self.outputs)
        )


def _agrees(exact: Part, table: Part) -> bool:
    if exact.form != "preference":
        return bool(exact.data == table.data)
    wins = [{name: _sign(points) for name, points in part.data.items()} for part in (exact, table)]
    return wins[0] == wins[1]


def _sign(points: Mapping[str, int]) -> int:
    return (points["candidate"] > points["reference"]) - (points["candidate"] < points["reference"])


def _output(candidate: str, task: str, trial: int, forms: Mapping[str, tuple[Part, str]]) -> Output:
    if len(forms) == 1:
        ((form, (part, source)),) = forms.items()
        return Output(candidate=candidate, task=task, trial=trial, format=form, data=part.data, source=source)
    data = {form: {"data": part.data, "source": source} for form, (part, source) in sorted(forms.items())}
    return Output(candidate=candidate, task=task, trial=trial, format=JOINED, data=data)


# ---- outcomes ------------------------------------------------------------------------------------------


def _outcome_part(form: str, data: Json, task: Task, source: str) -> dict[str, Json]:
    if form not in _OUTCOMES:
        allowed = ", ".join([*sorted(_OUTCOMES), JOINED])
        raise InputError(
            f"unknown output form {form!r}", where=f"task {task.id}", expected=f"one of {allowed}"
        )
    return _OUTCOMES[form](data, task, source)


def _of_raw(data: Json, task: Task, source: str) -> dict[str, Json]:
    """The method is in the file's name; without one, the answer's own shape tells chain from tree."""
    name = source.rsplit("/", 1)[-1]
    method = name.removesuffix(".json").partition("_")[2] if name.endswith(".json") else ""
    if not ("cot" in method.lower() or "dfs" in method.lower()):
        method = "CoT@1" if isinstance(data, dict) and "trys" in data else "DFS_woFilter_w2"
    return {"converted": convert_answer(data, method=method, query_id=task.id), "raw": data}


_OUTCOMES: Final[Mapping[str, Callable[[Json, Task, str], dict[str, Json]]]] = {
    "raw": _of_raw,
    "converted": lambda data, task, source: {"converted": data, "raw": None},  # noqa: ARG005
    "pass-rate": lambda data, task, source: {"statuses": data},  # noqa: ARG005
    "preference": lambda data, task, source: {"preferences": data},  # noqa: ARG005
    "fac": lambda data, task, source: {"fac": data},  # noqa: ARG005
}
