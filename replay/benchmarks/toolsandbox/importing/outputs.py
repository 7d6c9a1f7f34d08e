"""What another harness produced: upstream's result folders, single execution contexts, lines.

A result folder is `agent_<a>_user_<u>_<time>/` with `result_summary.json` and
`trajectories/<scenario>/execution_context.json`. A scenario of the summary that ended with an exception keeps
it. Lines are {"id": SCENARIO, "model_output": CONTEXT or OUTCOME}, with "trial" and "candidate" if there are
several.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from replay.benchmarks.plain_files import is_named, plain_status
from replay.benchmarks.toolsandbox.importing.source import MAX_FILE_BYTES
from replay.benchmarks.toolsandbox.records import Failure, make_outcome, read_ending
from replay.core.canonical import parse_json
from replay.core.errors import CanonicalError, InputError, LimitError
from replay.core.types import Json, Output, Task

__all__ = ["CONTEXT_FILE", "FORM", "SUMMARY_FILE", "outcome_of", "read_outputs"]

FORM: Final = "execution-context"
CONTEXT_FILE: Final = "execution_context.json"
SUMMARY_FILE: Final = "result_summary.json"

_FOLDER: Final = re.compile(r"agent_(?P<agent>.+?)_user_.+")
_TRIAL: Final = re.compile(r"trial-(0|[1-9][0-9]{0,5})")
_EXPECTED: Final = (
    f"a result folder with trajectories/<scenario>/{CONTEXT_FILE}, or lines of id and model_output"
)


def read_outputs(path: Path, tasks: Mapping[str, Task]) -> tuple[Output, ...]:
    """Read a result folder, a single execution context, or lines; sorted by candidate, task and trial.

    Errors:  InputError naming file and JSON path of what cannot be read, or an id that names no task or comes
             twice; LimitError for a file that is too large.
    """
    if path.is_dir():
        found = list(_read_folder(path))
    elif not path.exists():
        raise InputError("no such file or folder", where=path.name, expected=_EXPECTED)
    elif path.suffix == ".jsonl":
        found = list(_read_lines(path))
    else:
        found = [_context_output(path, _read_json(path), path.parent.parent.parent, None)]
    seen: dict[tuple[str, str, int], str] = {}
    for output in found:
        key = (output.candidate, output.task, output.trial)
        if output.task not in tasks:
            raise InputError(
                f"unknown scenario {output.task!r}",
                where=output.source,
                expected=f"one of the {len(tasks)} scenarios of the archive",
                next_step="list them with: replay archive list ARCHIVE --table tasks",
            )
        if key in seen:
            where = f"{output.source}, first in {seen[key]}"
            raise InputError(f"scenario {output.task!r} twice", where=where, expected="one result each")
        seen[key] = output.source
        read_ending(output.data, where=output.source)
    if not found:
        raise InputError("no results", where=path.name, expected=_EXPECTED)
    return tuple(sorted(found, key=lambda output: (output.candidate, output.task, output.trial)))


def outcome_of(output: Output, task: Task) -> Json:  # noqa: ARG001  the seam names the task
    """Give the outcome: an output already has its form."""
    return output.data


def _read_folder(root: Path) -> Iterator[Output]:
    summaries: dict[Path, dict[str, Json]] = {}
    for file in sorted(root.rglob(CONTEXT_FILE)):
        run = file.parent.parent.parent
        if run not in summaries:
            summaries[run] = _read_summary(run / SUMMARY_FILE)
        failure = _failure(summaries[run].get(file.parent.name))
        yield _context_output(file, _read_json(file), run, failure, root=root)


def _context_output(
    file: Path, data: Json, run: Path, failure: Failure | None, *, root: Path | None = None
) -> Output:
    name = _FOLDER.fullmatch(run.name)
    trial = _TRIAL.fullmatch(run.name)
    return Output(
        candidate=name["agent"] if name else "outputs",
        task=file.parent.name,
        trial=int(trial[1]) if trial else 0,
        format=FORM,
        data=make_outcome(data, failure),
        source=file.relative_to(root).as_posix() if root is not None else file.name,
    )


def _read_summary(file: Path) -> dict[str, Json]:
    if not is_named(file):
        return {}
    data = _read_json(file)
    results = data.get("per_scenario_results") if isinstance(data, dict) else None
    if not isinstance(results, list):
        raise InputError("no per_scenario_results", where=file.name, expected="a list of results")
    named = (result for result in results if isinstance(result, dict))
    return {str(result.get("name")): result for result in named}


def _failure(result: Json) -> Failure | None:
    if not isinstance(result, dict) or not result.get("exception_type"):
        return None
    lines = str(result.get("traceback") or "").strip().splitlines()
    return Failure(type=str(result["exception_type"]), text=lines[-1] if lines else "")


def _read_lines(path: Path) -> Iterator[Output]:
    for number, line in enumerate(_read_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{path.name}, line {number}"
        data = _parse(line, where)
        if not isinstance(data, dict) or not isinstance(data.get("id"), str):
            raise InputError("a line without an id", where=where, expected="an object with id, model_output")
        said = data.get("model_output")
        trial = data.get("trial", 0)
        if type(trial) is not int or trial < 0:
            raise InputError(f"trial {trial!r}", where=where, expected="a whole number from 0")
        is_context = isinstance(said, dict) and "_dbs" in said
        yield Output(
            candidate=str(data.get("candidate", "outputs")),
            task=data["id"],
            trial=trial,
            format=FORM,
            data=make_outcome(said) if is_context else said,
            source=f"{path.name}, line {number}",
        )


def _read_json(file: Path) -> Json:
    return _parse(_read_text(file), file.name)


def _read_text(file: Path) -> str:
    try:
        if plain_status(file, follow=True).st_size > MAX_FILE_BYTES:
            raise LimitError(f"more than {MAX_FILE_BYTES} bytes", where=file.name)
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
        raise InputError(what, where=file.name, expected="a readable file") from None
    except UnicodeDecodeError as error:
        raise InputError(f"no UTF-8: {error}", where=file.name, expected="UTF-8 JSON") from None


def _parse(text: str, where: str) -> Json:
    try:
        return parse_json(text)
    except CanonicalError as error:
        place = f"{where}, {error.where}" if error.where else where
        raise InputError(f"no JSON: {error.what}", where=place, expected=_EXPECTED) from None
