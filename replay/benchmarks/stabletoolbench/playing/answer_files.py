"""Answer files as upstream's own tools read them: raw ones in a folder, converted ones one file a group.

Owns names, JSON style and order of what is written. Source: rapidapi_multithread.py (raw: two spaces, ASCII),
convert_to_answer_format.py; the shipped converted files are one line each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from replay.benchmarks.stabletoolbench.playing.raw_answer import flatten_answer
from replay.benchmarks.written_files import write_file
from replay.core.errors import InputError
from replay.core.types import Json, Task

__all__ = ["FORMS", "converted_text", "raw_file_name", "raw_text", "write_answers"]

FORMS: Final = ("converted", "raw", "raw-flat")
"""converted: `<group>.json`; raw: `<group>/<query id>_<method>.json`; raw-flat: spelled as the examples."""

_SAFE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]*")


def raw_text(raw: Json) -> str:
    """Write a raw answer as upstream does, byte for byte."""
    return json.dumps(raw, indent=2)


def converted_text(answers: Mapping[str, Json]) -> str:
    """Write the converted answers of a group as the shipped files are, byte for byte given their order."""
    return json.dumps(answers)


def raw_file_name(query_id: str, method: str) -> str:
    """Name the raw answer file of a query."""
    return f"{query_id}_{method}.json"


def write_answers(outcomes: Iterable[tuple[Task, int, Json]], folder: Path, form: str) -> tuple[Path, ...]:
    """Write outcomes as (task, trial, outcome) in one form and return the files written, sorted.

    Trial 0 goes to `folder`, trial n to `folder/trial-n`: upstream's forms have one answer for each query.
    Queries are written in file-name order. An outcome without what the form needs leaves no entry, as
    upstream leaves none.

    Errors:  InputError for an unknown form or a name that is no file name; StoreError when the disk refuses.
    """
    if form not in FORMS:
        raise InputError(f"unknown output form {form!r}", expected=f"one of {', '.join(FORMS)}")
    files: dict[Path, Json] = {}
    for task, trial, outcome in sorted(outcomes, key=lambda item: (item[1], item[0].split, item[0].id)):
        place = folder if trial == 0 else folder / f"trial-{trial}"
        kept = outcome.get("converted" if form == "converted" else "raw") if outcome else None
        if kept is None:
            continue
        split = _checked(task.split, f"split of task {task.id}")
        if form == "converted":
            files.setdefault(place / f"{split}.json", {})[task.id] = kept
        else:
            name = raw_file_name(task.id, _method(outcome, task.id))
            target = place / split / _checked(name, f"task {task.id}")
            files[target] = kept if form == "raw" else flatten_answer(kept)
    write = converted_text if form == "converted" else raw_text
    for path in sorted(files):
        write_file(path, write(files[path]), encoding="ascii")
    return tuple(sorted(files))


def _method(outcome: Mapping[str, Json], task_id: str) -> str:
    converted = outcome.get("converted")
    method = converted["answer"].get("method") if isinstance(converted, dict) else None
    if not isinstance(method, str):
        raise InputError("an outcome without a method name", where=f"task {task_id}")
    return method


def _checked(name: str, where: str) -> str:
    if not _SAFE.fullmatch(name):
        expected = "letters, digits, and . _ @ - inside"
        raise InputError(f"{name!r} is no file name", where=where, expected=expected)
    return name
