"""What another harness produced: official result files in and out, and lines of ids with outputs.

Official files are `result_<language>/<model>/data_<category>_result.json`, JSON Lines of {"id", "result"}
and, for agents, "process". Lines of {"id", "model_output"} may have "language", "trial" and "candidate"
besides. An id is an upstream id or a task's id with its language. Records are joined by id: an id that is
unknown or given twice is named and nothing is scored; a task without a record is scored as missing by
whoever plans it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from replay.benchmarks.acebench.importing.source import MAX_FILE_BYTES, Faults
from replay.benchmarks.acebench.records import AGENT, LANGUAGES, task_id
from replay.benchmarks.plain_files import plain_status
from replay.benchmarks.written_files import write_file
from replay.core.canonical import parse_json
from replay.core.errors import CanonicalError, InputError, LimitError
from replay.core.types import Json, Output, Record, Task

__all__ = ["FORM", "FORMS", "outcome_of", "read_outputs", "write_outputs"]

FORM: Final = "result"
FORMS: Final = (FORM,)
"""result: official files, one a category and language."""

_EXPECTED: Final = (
    'JSON Lines of {"id", "result"} in data_<category>_result.json files, or of {"id", "model_output"}'
)
_FOLDER: Final = re.compile(r"(?:result|data|score)?_?(en|zh)")
_TRIAL: Final = re.compile(r"trial-(0|[1-9][0-9]{0,5})")
_SUFFIXES: Final = (".json", ".jsonl")


class _Line(Record, frozen=True, kw_only=True):
    """One record and what the place of its file says about it."""

    place: str
    data: dict[str, Json]
    language: str
    candidate: str
    trial: int


def read_outputs(path: Path, tasks: Mapping[str, Task]) -> tuple[Output, ...]:
    """Read a file or a folder of files: one output for each candidate, task and trial, sorted.

    Errors:  InputError naming file, line and what is wrong with each record; LimitError for a file that is
             too large.
    """
    faults = Faults()
    found: dict[tuple[str, str, int], Output] = {}
    for file in _files(path):
        for line in _read_lines(path, file, faults):
            output = _output_of(line, tasks, faults)
            if output is None:
                continue
            key = (output.candidate, output.task, output.trial)
            if key in found:
                faults.add(
                    f"id {output.task!r} twice",
                    where=f"{line.place}, first in {found[key].source}",
                    expected="one record for each id",
                )
            else:
                found[key] = output
    faults.raise_if_any()
    if not found:
        raise InputError("nothing to score: no record in any file", where=path.name, expected=_EXPECTED)
    return tuple(found[key] for key in sorted(found))


def outcome_of(output: Output, task: Task) -> Json:
    """Turn an output into the outcome that the checkers read.

    Errors:  InputError for a form that is unknown.
    """
    if output.format != FORM:
        raise InputError(f"unknown output form {output.format!r}", where=f"task {task.id}", expected=FORM)
    return output.data


def write_outputs(outcomes: Iterable[tuple[Task, int, Json]], folder: Path, form: str) -> tuple[Path, ...]:
    """Write outcomes as (task, trial, outcome) as upstream does and return the files written, sorted.

    Trial 0 goes to `folder/result_<language>`, trial n to `folder/trial-<n>/result_<language>`. Lines are
    ordered by the numbers in their ids; a task that produced nothing leaves no line, as upstream leaves none.

    Errors:  InputError for an unknown form; StoreError when the disk refuses.
    """
    if form not in FORMS:
        raise InputError(f"unknown output form {form!r}", expected=f"one of {', '.join(FORMS)}")
    files: dict[Path, list[tuple[list[int], str]]] = {}
    for task, trial, outcome in outcomes:
        if outcome is None:
            continue
        language, category = task.split.split("/")
        name = str(task.data["id"])
        place = folder if trial == 0 else folder / f"trial-{trial}"
        target = place / f"result_{language}" / f"data_{category}_result.json"
        line = json.dumps({"id": name, **_result_of(outcome, category)}, ensure_ascii=False)
        files.setdefault(target, []).append(([int(part) for part in re.findall(r"\d+", name)], line))
    for target in sorted(files):
        write_file(target, "".join(f"{line}\n" for _, line in sorted(files[target])))
    return tuple(sorted(files))


# ---- reading -------------------------------------------------------------------------------------------


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise InputError("no such file or folder", where=path.name, expected=_EXPECTED)
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if not file.is_dir() and _is_result(file))


def _is_result(file: Path) -> bool:
    """Leave out what upstream writes beside results."""
    return file.suffix in _SUFFIXES and not file.name.endswith(("_score.json", "_process.json"))


def _read_lines(root: Path, file: Path, faults: Faults) -> list[_Line]:
    shown = file.relative_to(root).as_posix() if file != root else file.name
    try:
        size = plain_status(file, follow=True).st_size
        if size > MAX_FILE_BYTES:
            raise LimitError(f"a file of {size} bytes", where=shown, expected=f"at most {MAX_FILE_BYTES}")
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        faults.add(f"cannot be read: {error.strerror}", where=shown, expected="a readable file")
        return []
    except UnicodeDecodeError as error:
        faults.add(f"not UTF-8 at byte {error.start}", where=shown, expected="UTF-8 text")
        return []
    language, candidate, trial = _read_place(root, file)
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{shown}, line {number}"
        data = _decode(line.strip(), place, faults)
        if data is not None:
            found.append(_Line(place=place, data=data, language=language, candidate=candidate, trial=trial))
    return found


class _Plain(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The commonest record: a text for an id."""

    id: str
    result: str


_decode_plain: Final = msgspec.json.Decoder(_Plain).decode


def _decode(line: str, place: str, faults: Faults) -> dict[str, Json] | None:
    try:
        plain = _decode_plain(line)
    except ValueError:
        pass  # another form, or a fault that the strict reader names
    else:
        return {"id": plain.id, "result": plain.result}
    try:
        data = parse_json(line)
    except CanonicalError as error:
        faults.add(error.what, where=f"{place} {error.where}".rstrip(), expected=_EXPECTED)
        return None
    if not isinstance(data, dict) or not isinstance(data.get("id"), str) or _has_wrong_language(data):
        faults.add("no record with an id", where=place, expected=_EXPECTED)
        return None
    return data


def _has_wrong_language(data: dict[str, Json]) -> bool:
    return data.get("language", "en") not in LANGUAGES


def _read_place(root: Path, file: Path) -> tuple[str, str, int]:
    """Language, candidate and trial that the folders around a file tell."""
    whole = file.resolve()
    inside = len(whole.parts) - len(root.resolve().parts) if root.is_dir() else 0
    language, trial = "", 0
    names: list[str] = []
    for part in whole.parts[-(inside + 3) : -1]:
        found, numbered = _FOLDER.fullmatch(part), _TRIAL.fullmatch(part)
        if found:
            language, names = found[1], []
        elif numbered:
            trial = int(numbered[1])
        elif language:
            names.append(part)
    fallback = root.name if root.is_dir() else file.stem
    return language, "/".join(names) or fallback, trial


def _output_of(line: _Line, tasks: Mapping[str, Task], faults: Faults) -> Output | None:
    task = _find_task(line, tasks, faults)
    if task is None:
        return None
    data = _outcome_data(line, task.split.rpartition("/")[2], faults)
    trial = line.data.get("trial", line.trial)
    if data is None or type(trial) is not int or trial < 0:
        if data is not None:
            faults.add(f"trial {trial!r}", where=line.place, expected="a whole number from 0")
        return None
    candidate = line.data.get("candidate", line.candidate)
    return Output(
        candidate=str(candidate), task=task.id, trial=trial, format=FORM, data=data, source=line.place
    )


def _find_task(line: _Line, tasks: Mapping[str, Task], faults: Faults) -> Task | None:
    name = line.data["id"]
    said = line.data.get("language", line.language)
    known = tasks.get(task_id(said, name)) or tasks.get(name)
    if known is not None:
        return known
    found = [
        task_id(language, name)
        for language in LANGUAGES
        if said in ("", language) and task_id(language, name) in tasks
    ]
    if len(found) == 1:
        return tasks[found[0]]
    if found:
        expected = "a folder result_en or result_zh around the file, or `language` in each line"
        faults.add(f"id {name!r} is there in two languages", where=line.place, expected=expected)
    else:
        where = f"{line.place}{f', language {said}' if said else ''}"
        faults.add(
            f"unknown id {name!r}", where=where, expected=f"one of the {len(tasks)} ids of the archive"
        )
    return None


def _outcome_data(line: _Line, category: str, faults: Faults) -> Json:
    """The outcome a record holds; a null result is kept: the official checker looks at it."""
    record = line.data
    result = record["model_output"] if "model_output" in record else record.get("result", msgspec.UNSET)
    if result is msgspec.UNSET:
        faults.add("no result", where=line.place, expected=_EXPECTED)
        return None
    if category not in AGENT:
        return {"output": result}
    if "model_output" in record and isinstance(result, dict):
        return {"result": result.get("result"), "process": result.get("process")}
    return {"result": result, "process": record.get("process")}


# ---- writing -------------------------------------------------------------------------------------------


def _result_of(outcome: Json, category: str) -> dict[str, Json]:
    if category in AGENT:
        return {"result": outcome.get("result"), "process": outcome.get("process")}
    return {"result": outcome.get("output")}
