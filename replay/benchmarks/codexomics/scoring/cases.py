"""Single cases: rows and golden runs that ask what the evaluator says of one list of calls.

A row has a mode, small schemas of its own (a tool without one is always valid), a test and observed calls; a
golden run names a test of the archive and is judged under all four tiers, every call taken for valid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from replay.benchmarks.codexomics.importing.files import kind_of, load_file
from replay.benchmarks.codexomics.naming import tool_key
from replay.benchmarks.codexomics.records import BENCHMARK, ObservedCall, Tier
from replay.benchmarks.codexomics.scoring.assessment import Assessment
from replay.benchmarks.codexomics.scoring.evaluator import Registry, assess
from replay.benchmarks.codexomics.scoring.evidence import read_evidence
from replay.benchmarks.codexomics.scoring.rules import CORRECTED
from replay.benchmarks.codexomics.tasks import read_task
from replay.core.errors import InputError
from replay.core.types import Json, Task

__all__ = ["CodeXomicsCases", "case_json", "judge_row"]

_MODES: Final = ("contract", "execution", "completion")
_COMPLEX: Final = "automatic_complex"
_TOLERANCE: Final = 1e-6
"""Weighted ratios in rows are rounded."""


class CodeXomicsCases:
    """Scores rows and golden runs."""

    def score_cases(self, path: Path, tasks: Mapping[str, Task]) -> Iterator[Json] | None:
        """Score every case of a file in order; None for a file of another form."""
        if not path.is_file() or path.suffix not in (".json", ".jsonl"):
            return None
        document = load_file(path, path.name)
        kind = kind_of(document)
        if kind == "rows":
            return (_row_line(number, row) for number, row in enumerate(document, start=1))
        if kind == "golden" and any("verdicts" in run for run in _runs(document)):
            return _golden_lines(document, tasks)
        return None


def judge_row(row: Mapping[str, Json]) -> tuple[Assessment, Assessment]:
    """Judge one row, officially and corrected. Raises InputError naming what is wrong with it."""
    mode = row.get("mode")
    if mode not in _MODES:
        raise InputError(f"mode {mode!r}", expected=f"one of {', '.join(_MODES)}")
    test, schemas = row.get("test"), row.get("schemas") or {}
    if not isinstance(test, dict) or not isinstance(schemas, dict):
        raise InputError("test or schemas is no object", expected="objects")
    tier = {"contract": Tier.CONTRACT, "execution": Tier.EXECUTION, "completion": Tier.COMPLETION}[mode]
    if tier is Tier.COMPLETION and row.get("require_execution") is True:
        tier = Tier.COMPLETION_EXECUTED
    calls = read_evidence({"calls": row.get("observed_calls")}).calls
    registry = Registry(schemas={tool_key(name): schemas[name] for name in schemas}, knows_all=False)
    return assess(test, calls, tier, registry), assess(test, calls, tier, registry, rules=CORRECTED)


def case_json(found: Assessment) -> dict[str, Json]:
    """An assessment with the names that rows use."""
    return {
        "success": found.success,
        "score": found.score,
        "max_score": found.max_score,
        "weighted_ratio": round(found.weighted_ratio, 9),
        "tier": found.tier.value,
        "sequence_ok": found.counts.sequence_ok,
        "arguments_ok": found.counts.arguments_ok,
        "schemas_ok": found.counts.schemas_ok,
        "execution_ok": found.counts.execution_ok,
        "tool_matches": found.counts.tool_matches,
        "parameter_matches": found.counts.parameter_matches,
        "schema_valid": found.counts.schema_valid,
        "unexpected_calls": list(found.unexpected_calls),
    }


def _row_line(number: int, row: Json) -> Json:
    shown: dict[str, Json] = {"line": number, "benchmark": BENCHMARK}
    if not isinstance(row, dict):
        return shown | {"error": "a row is no object"}
    shown["id"] = row.get("id", "")
    try:
        official, corrected = judge_row(row)
    except InputError as error:
        return shown | {"error": str(error)}
    found = case_json(official)
    shown |= {"verdict": official.success, "error_type": official.errors[0] if official.errors else ""}
    shown |= {"compat": found, "strict": case_json(corrected)}
    expected = row.get("expected")
    if isinstance(expected, dict):
        shown |= {"agrees": _agrees(expected, found), "expected": expected}
    return shown


def _agrees(expected: Mapping[str, Json], found: Mapping[str, Json]) -> bool:
    for name, value in expected.items():
        ours = found.get(name)
        is_ratio = name == "weighted_ratio" and isinstance(value, (int, float)) and ours is not None
        if abs(ours - value) > _TOLERANCE if is_ratio else ours != value:
            return False
    return True


def _runs(document: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    held = [*(document.get("ideal_runs") or []), *(document.get("wrong_runs") or [])]
    return [run for run in held if isinstance(run, dict)]


def _golden_lines(document: Mapping[str, Json], tasks: Mapping[str, Task]) -> Iterator[Json]:
    number = 0
    for run in _runs(document):
        task = _task_of(run, tasks)
        for tier in Tier:
            number += 1
            shown: dict[str, Json] = {
                "line": number,
                "benchmark": BENCHMARK,
                "id": run.get("test_id", ""),
                "label": run.get("label", "ideal"),
                "tier": tier.value,
            }
            if task is None:
                yield shown | {"error": f"unknown test {run.get('test_id')!r}"}
                continue
            found = assess(
                read_task(task).test, _calls(run, tier), tier, Registry(schemas={}, knows_all=False)
            )
            shown |= {"verdict": found.success, "error_type": found.errors[0] if found.errors else ""}
            shown["compat"] = case_json(found)
            expected = (run.get("verdicts") or {}).get(tier.value)
            if isinstance(expected, dict):
                shown |= {"agrees": _agrees(expected, case_json(found)), "expected": expected}
            yield shown


def _task_of(run: Mapping[str, Json], tasks: Mapping[str, Task]) -> Task | None:
    """Golden runs are of the complex suite; another suite's test of that name is the second choice."""
    test = run.get("test_id")
    named = [tasks[key] for key in sorted(tasks) if key.split("/", 1)[-1] == test]
    return next((task for task in named if task.split == _COMPLEX), named[0] if named else None)


def _calls(run: Mapping[str, Json], tier: Tier) -> list[ObservedCall]:
    calls = read_evidence({"calls": run.get("calls")}).calls
    ran, good = tier.needs_execution, run.get("executed_ok", True) is True
    return [replace(call, executed=ran, success=good if ran else None) for call in calls]
