"""What another harness produced: raw or converted answers and judge results, found by their content.

Every JSON and table file under the path must be one of upstream's forms for tasks that are known; anything
else is named and nothing is scored. Parts of one answer (its text, its statuses, its points) are joined.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from replay.benchmarks.stabletoolbench.faults import Faults
from replay.benchmarks.stabletoolbench.importing.output_parts import KNOWN_FORMS, SUFFIXES, Part, PartReader
from replay.benchmarks.stabletoolbench.importing.source_tree import SourceTree
from replay.benchmarks.stabletoolbench.playing.convert import convert_answer
from replay.core.errors import InputError
from replay.core.types import Json, Output, Record, Task

__all__ = ["JOINED", "outcome_of", "read_outputs"]

JOINED: Final = "joined"
"""Form of an output that several files tell of; its data holds one entry a form."""

_TRIAL: Final = re.compile(r"trial-(0|[1-9][0-9]{0,5})")


def read_outputs(path: Path, tasks: Mapping[str, Task]) -> tuple[Output, ...]:
    """Read a file or folder of outputs: one output for each candidate, task and trial, sorted.

    Shape:   `trial-<n>` folders hold further trials. Names of candidates come from folder and file names; raw
             answers of several methods in one folder are several candidates, `<folder>.<method>`.
    Errors:  InputError naming every file, record and JSON path that is wrong: no known form, cut or invalid
             JSON, an id that is unknown or given twice, another query than the task's, an unknown status.
    """
    if not path.exists():
        raise InputError("no such file or folder", where=path.name, expected=KNOWN_FORMS)
    tree = _OneFile(path) if path.is_file() else SourceTree(path)
    faults = Faults()
    reader = PartReader(tree, sorted({task.split for task in tasks.values()}), faults)
    found = []
    for relative in tree.files:
        if relative.endswith(SUFFIXES):
            label, trial = _place(path, relative)
            found += [
                _Found(part=part, trial=trial, source=relative) for part in reader.read(relative, label)
            ]
    for relative, why in sorted(tree.skipped.items()):
        if relative.endswith(SUFFIXES):
            faults.add(why, file=relative, expected=KNOWN_FORMS)
    book = _Book(tasks, faults)
    for item in _by_method(found):
        book.add(item)
    faults.raise_if_any()
    if not book.outputs:
        raise InputError("nothing to score: no record in any file", where=path.name, expected=KNOWN_FORMS)
    return book.close()


def outcome_of(output: Output, task: Task) -> Json:
    """Turn an output into the outcome that evaluators read. Raises InputError for a form that is unknown."""
    if output.format != JOINED:
        return _outcome_part(output.format, output.data, task=task, source=output.source)
    outcome: dict[str, Json] = {}
    # Raw first: a converted answer beside it is what upstream's judges were shown.
    for form in sorted(output.data, key=lambda name: (name != "raw", name)):
        part = output.data[form]
        found = _outcome_part(form, part["data"], task=task, source=part["source"])
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


class _Found(Record, frozen=True, kw_only=True):
    """One part and where it was found."""

    part: Part
    trial: int
    source: str


def _place(path: Path, relative: str) -> tuple[str, int]:
    """Path with the root's own name in front (it may name the candidate), and the trial it says."""
    root = path.resolve()
    folder = root.parent.name if root.is_file() else root.name
    parts = [folder, *relative.split("/")]
    trials = [match for part in parts[:-1] if (match := _TRIAL.fullmatch(part))]
    kept = [part for part in parts[:-1] if not _TRIAL.fullmatch(part)]
    return "/".join([*kept, parts[-1]]), int(trials[-1].group(1)) if trials else 0


def _by_method(found: Iterable[_Found]) -> list[_Found]:
    """Tell candidates apart where one folder holds raw answers of several methods."""
    listed = list(found)
    methods: dict[tuple[str, str], set[str]] = defaultdict(set)
    for item in listed:
        if item.part.form == "raw":
            methods[item.part.candidate, item.part.group].add(item.part.method)
    return [
        replace(item, part=replace(item.part, candidate=f"{item.part.candidate}.{item.part.method}"))
        if item.part.form == "raw" and len(methods[item.part.candidate, item.part.group]) > 1
        else item
        for item in listed
    ]


# ---- joining -------------------------------------------------------------------------------------------


class _Book:
    """Parts by candidate, task and trial; refuses what does not belong to a task."""

    def __init__(self, tasks: Mapping[str, Task], faults: Faults) -> None:
        self.outputs: dict[tuple[str, str, int], dict[str, _Found]] = {}
        self._faults = faults
        self._tasks = tasks
        self._by_query: dict[str, list[Task]] = defaultdict(list)
        for task in tasks.values():
            self._by_query[_plain(task.data.get("query", ""))].append(task)

    def add(self, found: _Found) -> None:
        """Take in one part; an unknown or repeated id is a fault."""
        task = self._task_of(found)
        if task is None:
            return
        part = found.part
        forms = self.outputs.setdefault((part.candidate, task.id, found.trial), {})
        known = forms.get(part.form)
        forms[part.form] = found if known is None else self._merge(known, found)

    def close(self) -> tuple[Output, ...]:
        """One output for each candidate, task and trial, sorted."""
        return tuple(_output(*place, self.outputs[place]) for place in sorted(self.outputs))

    def _task_of(self, found: _Found) -> Task | None:
        part = found.part
        if not part.id:
            return self._task_of_query(found)
        # ToolBench counts ids anew in every group, so there the group leads the task's id.
        sibling = part.group.replace("_answer", "_query")
        named = (f"{part.group}-{part.id}", f"{sibling}-{part.id}", part.id)
        task = next((self._tasks[name] for name in named if name in self._tasks), None)
        if task is None:
            expected = f"one of the {len(self._tasks)} tasks of the archive"
            self._fault(found, f"unknown id {part.id!r}", expected)
        elif part.query and _plain(part.query) != _plain(task.data.get("query", "")):
            self._fault(
                found, f"another query than task {task.id}'s: {part.query[:60]!r}", "the task's query"
            )
            return None
        return task

    def _task_of_query(self, found: _Found) -> Task | None:
        same = self._by_query.get(_plain(found.part.query), [])
        tasks = [task for task in same if task.split == found.part.group] or same
        if len(tasks) != 1:
            what = f"{len(tasks)} tasks have the query {found.part.query[:60]!r}"
            self._fault(found, what, "the query of one task")
            return None
        return tasks[0]

    def _merge(self, known: _Found, found: _Found) -> _Found:
        """Join two records of one form: a table with its JSON file, or points against several references."""
        first, second = known.part, found.part
        if first.form == "preference" and not first.data.keys() & second.data.keys():
            data = {**first.data, **second.data}
            return replace(known, part=replace(first, data=data, is_table=first.is_table and second.is_table))
        if first.is_table == second.is_table:
            what = f"id {second.id or second.place!r} is given twice for {second.candidate}"
            self._fault(found, what, f"one record; also in {known.source}")
            return known
        exact, table = (found, known) if first.is_table else (known, found)
        if not _agrees(exact.part, table.part):
            what = f"table and JSON file disagree on {second.candidate}"
            self._fault(found, what, f"what {known.source} says")
        return exact

    def _fault(self, found: _Found, what: str, expected: str) -> None:
        self._faults.add(what, file=found.source, record=found.part.place, expected=expected)


def _plain(query: Json) -> str:
    """A query without differences of white space, which harnesses do not keep."""
    return " ".join(str(query).split())


def _agrees(exact: Part, table: Part) -> bool:
    if exact.form != "preference":
        return bool(exact.data == table.data)
    return all(
        name in exact.data and _sign(exact.data[name]) == _sign(table.data[name]) for name in table.data
    )


def _sign(points: Mapping[str, int]) -> int:
    return (points["candidate"] > points["reference"]) - (points["candidate"] < points["reference"])


def _output(candidate: str, task: str, trial: int, forms: Mapping[str, _Found]) -> Output:
    if len(forms) == 1:
        ((form, found),) = forms.items()
        data, source = found.part.data, found.source
    else:
        form, source = JOINED, ""
        data = {name: {"data": forms[name].part.data, "source": forms[name].source} for name in sorted(forms)}
    return Output(candidate=candidate, task=task, trial=trial, format=form, data=data, source=source)


# ---- outcomes ------------------------------------------------------------------------------------------


def _outcome_part(form: str, data: Json, *, task: Task, source: str) -> dict[str, Json]:
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
