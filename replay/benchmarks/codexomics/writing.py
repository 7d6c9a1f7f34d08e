"""Outcomes written in upstream's report form, one report with its summary and records."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from replay.benchmarks.codexomics.records import Tier
from replay.benchmarks.codexomics.scoring.pooling import check_one_scope
from replay.benchmarks.codexomics.scoring.report_form import summary_json
from replay.benchmarks.codexomics.scoring.rules import OFFICIAL_SCORER
from replay.benchmarks.codexomics.scoring.verdicts import judge_record
from replay.benchmarks.written_files import write_file
from replay.core.errors import InputError
from replay.core.types import Json, Task

__all__ = ["FORMS", "write_report"]

FORMS: Final = ("report", "completion-report")
_TIERS: Final = {"report": Tier.CONTRACT, "completion-report": Tier.COMPLETION}


def write_report(
    outcomes: Iterable[tuple[Task, int, Json]], folder: Path, form: str, *, candidate: str = ""
) -> tuple[Path, ...]:
    """Write one report for each trial; `report` is scored as contract, the other as offline completion.

    Errors:  InputError for an unknown form or outcomes of more than one scope; StoreError when the folder
             cannot be written.
    """
    if form not in FORMS:
        raise InputError(f"unknown form {form!r}", expected=f"one of {', '.join(FORMS)}")
    tier = _TIERS[form]
    trials: dict[int, list[Json]] = {}
    scopes: list[Json] = []
    for task, trial, outcome in outcomes:
        if outcome is None:
            continue
        scopes.append(outcome.get("scope") or {})
        evaluation = judge_record(task, outcome, tier)
        trials.setdefault(trial, []).append({**outcome["record"], "evaluation": evaluation})
    scope = check_one_scope(scopes)
    written = []
    for trial, records in sorted(trials.items()):
        summary = summary_json(records, scope, tier.value, OFFICIAL_SCORER)
        document = {
            "summary": summary | ({"model": candidate} if candidate else {}),
            "records": records,
        }
        path = folder / (f"{form}.json" if trial == 0 else f"{form}.trial-{trial}.json")
        write_file(path, json.dumps(document, ensure_ascii=False, indent=1) + "\n")
        written.append(path)
    return tuple(written)
