"""What another harness produced: reports, records, in-app results, plain call lists (spec sections 6.1, 9).

Each output keeps the whole record, so that stored runs are scored again from their evidence, and the scope
it was made in (mode, tier, scorer, registry), so that figures of different scopes are never pooled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from replay.benchmarks.codexomics.importing.files import Document, app_records, kind_of, load_file
from replay.benchmarks.codexomics.records import task_id
from replay.benchmarks.codexomics.scoring.pooling import check_one_scope
from replay.core.errors import InputError
from replay.core.types import Json, Output, Task

__all__ = ["FORMAT", "document_outputs", "read_outputs"]

FORMAT: Final = "record"
_EXPECTED: Final = (
    "a report (summary and records), records with test_id, in-app results with testId, "
    "or lines of {test_id, suite_id, calls}"
)


def read_outputs(path: Path, tasks: Mapping[str, Task]) -> tuple[Output, ...]:
    """Read a file or a folder of outputs.

    Errors:  InputError naming file and record: no known form, a test that is unknown or ambiguous, two
             records of one test and trial.
    """
    if not path.exists():
        raise InputError("no such file or folder", where=path.name, expected=_EXPECTED)
    files = sorted(p for p in path.rglob("*.json*") if not p.is_dir()) if path.is_dir() else [path]
    found: list[Output] = []
    for file in files:
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        if file.suffix in (".json", ".jsonl") and not name.endswith(".partial.json"):
            found += document_outputs(load_file(file, name), name, tasks)
    if not found:
        raise InputError("nothing to score: no record in any file", where=path.name, expected=_EXPECTED)
    _refuse_pooling(found)
    return tuple(found)


def _refuse_pooling(outputs: list[Output]) -> None:
    """Refuse reports of different scope under one name, and two records of one test and trial."""
    by_candidate: dict[str, list[Output]] = {}
    for output in outputs:
        by_candidate.setdefault(output.candidate, []).append(output)
    for candidate, mine in sorted(by_candidate.items()):
        check_one_scope(output.data["scope"] for output in mine)
        seen: dict[tuple[str, int], str] = {}
        for output in mine:
            place = (output.task, output.trial)
            if place in seen:
                raise InputError(
                    f"two records of test {output.task} by {candidate!r}",
                    where=f"{seen[place]} and {output.source}",
                    expected="one record for each test; repeats belong into one report",
                )
            seen[place] = output.source


def document_outputs(document: Document, name: str, tasks: Mapping[str, Task]) -> list[Output]:
    """Make the outputs of one document; repeated records of a test are further trials."""
    kind = kind_of(document)
    if kind == "golden":
        return _golden(document, name, tasks)
    summary = document["summary"] if kind == "report" else {}
    records = document["records"] if kind == "report" else document
    records = app_records(document) if kind == "app" else records
    if kind not in ("report", "records", "app"):
        raise InputError("no known form of output", where=name, expected=_EXPECTED)
    candidate = _candidate(summary, name)
    scope = _scope(summary)
    seen: Counter[str] = Counter()
    outputs = []
    for place, record in enumerate(records):
        where = f"{name}, record {place + 1}"
        if not isinstance(record, dict):
            raise InputError(f"a record is {type(record).__name__}", where=where, expected="an object")
        task = _task_of(record, tasks, where)
        mode = record.get("harness_mode")
        own = {**scope, "mode": mode} if isinstance(mode, str) else scope
        outputs.append(_output(candidate, task, seen[task], {"record": record, "scope": own}, source=where))
        seen[task] += 1
    return outputs


def _golden(document: Mapping[str, Json], name: str, tasks: Mapping[str, Task]) -> list[Output]:
    outputs = []
    for field, candidate in (("ideal_runs", "golden-ideal"), ("wrong_runs", "golden-wrong")):
        seen: Counter[str] = Counter()
        for place, run in enumerate(document.get(field) or []):
            where = f"{name}, $.{field}[{place}]"
            if not isinstance(run, dict):
                raise InputError(f"a run is {type(run).__name__}", where=where, expected="an object")
            ran = {"executed": True, "success": run.get("executed_ok", True)}
            calls = [{**call, **ran} for call in run.get("calls") or [] if isinstance(call, dict)]
            record = {"test_id": run.get("test_id"), "suite_id": run.get("suite_id"), "calls": calls}
            task = _task_of(record, tasks, where, prefer="automatic_complex")
            outputs.append(
                _output(candidate, task, seen[task], {"record": record, "scope": {}}, source=where)
            )
            seen[task] += 1
    return outputs


def _output(candidate: str, task: str, trial: int, data: Json, *, source: str) -> Output:
    return Output(candidate=candidate, task=task, trial=trial, format=FORMAT, data=data, source=source)


def _candidate(summary: Mapping[str, Json], name: str) -> str:
    model = summary.get("model")
    shown = (
        model if isinstance(model, str) and model else name.rsplit("/", 1)[-1].split(".json", maxsplit=1)[0]
    )
    return shown.replace("/", "-") or "outputs"


def _scope(summary: Mapping[str, Json]) -> dict[str, Json]:
    names = {
        "mode": "harness_mode",
        "tier": "assessment_tier",
        "scorer": "scorer",
        "registry": "registry_hash",
        "suites": "suite_fingerprint",
        "results": "tool_result_mode",
        "expected_tools": "expected_tools",
    }
    return {ours: summary[theirs] for ours, theirs in names.items() if isinstance(summary.get(theirs), str)}


def _task_of(record: Mapping[str, Json], tasks: Mapping[str, Task], where: str, *, prefer: str = "") -> str:
    test = record.get("test_id", record.get("testId"))
    suite = record.get("suite_id", record.get("suiteId"))
    if not isinstance(test, str):
        raise InputError(f"test id is {test!r}", where=where, expected="text")
    if isinstance(suite, str) and suite:
        found = [task_id(suite, test)] if task_id(suite, test) in tasks else []
    else:
        found = list(_named(test, tasks))
        found = [name for name in found if name.startswith(f"{prefer}/")] or found if prefer else found
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(
            f"test id {test!r} is in {len(found)} suites",
            where=where,
            expected=f"a suite_id beside it, one of {', '.join(name.split('/')[0] for name in found)}",
        )
    raise InputError(
        f"unknown test {test!r}" + (f" of suite {suite!r}" if suite else ""),
        where=where,
        expected=f"one of the {len(tasks)} tests of the archive",
    )


def _named(test: str, tasks: Mapping[str, Task]) -> Iterator[str]:
    if test in tasks:
        yield test
        return
    yield from (name for name in sorted(tasks) if name.split("/", 1)[-1] == test)
