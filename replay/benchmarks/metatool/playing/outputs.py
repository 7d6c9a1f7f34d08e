"""Answers in upstream's result form, or one a line.

Owns names and style of what is written. Source: run.py at 35e81bb: the task file with `res` or `action_res`
in each record. The prompts in those files are upstream's wording and are not written; `id` tells the task.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from replay.benchmarks.metatool.records import (
    AWARENESS,
    MULTI,
    RELIABILITY,
    SCENARIO,
    SIMILAR,
    Sample,
    sample_of,
)
from replay.benchmarks.written_files import write_file
from replay.core.errors import InputError
from replay.core.types import Json, Task

__all__ = ["FORMS", "write_outputs"]

FORMS: Final = ("lines", "results")
"""lines: `answers.jsonl`; results: upstream's five files."""

_FILES: Final = {
    AWARENESS: "Task1.json",
    SIMILAR: "Task2-Subtask1.json",
    SCENARIO: "Task2-Subtask2.json",
    RELIABILITY: "Task2-Subtask3.json",
    MULTI: "Task2-Subtask4.json",
}


def write_outputs(
    outcomes: Iterable[tuple[Task, int, Json]], folder: Path, form: str, *, candidate: str = ""
) -> tuple[Path, ...]:
    """Write outcomes as (task, trial, outcome) in one form and return the files written, sorted.

    Trial 0 goes to `folder`, trial n to `folder/trial-n` in upstream's form, which has one answer a task.
    Errors:  InputError for an unknown form; StoreError when the disk refuses.
    """
    if form not in FORMS:
        raise InputError(f"unknown output form {form!r}", expected=f"one of {', '.join(FORMS)}")
    files: dict[Path, list[Json]] = {}
    for task, trial, outcome in sorted(outcomes, key=lambda item: (item[1], item[0].id)):
        if not isinstance(outcome, dict) or not isinstance(outcome.get("answer"), str):
            continue
        if form == "lines":
            line: Json = {"id": task.id, "trial": trial, "model_output": outcome["answer"]}
            line |= {"candidate": candidate} if candidate else {}
            files.setdefault(folder / "answers.jsonl", []).append(line)
        else:
            sample = sample_of(task)
            place = folder if trial == 0 else folder / f"trial-{trial}"
            record = _record(task, sample, outcome["answer"])
            files.setdefault(place / _FILES[sample.subtask], []).append(record)
    for path, records in files.items():
        write_file(path, _text(records, form))
    return tuple(sorted(files))


def _record(task: Task, sample: Sample, answer: str) -> Json:
    record: dict[str, Json] = {"id": task.id, "query": sample.query}
    if sample.subtask == AWARENESS:
        record["label"] = "positive" if sample.truth == ("yes",) else "negative"
        return record | ({"tool": sample.removed} if sample.removed else {}) | {"res": answer}
    tools = [sample.removed] if sample.subtask == RELIABILITY else list(sample.truth)
    return record | {"tool": tools if sample.subtask == MULTI else tools[0], "action_res": answer}


def _text(records: list[Json], form: str) -> str:
    if form == "lines":
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    return json.dumps(records, ensure_ascii=False, indent=4) + "\n"
