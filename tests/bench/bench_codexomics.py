"""CodeXomics: assessments a second, retrieval a second, and calls of a genome session a second."""

from __future__ import annotations

import time
from pathlib import Path

from replay.benchmarks.codexomics.importing.importer import CodeXomicsImporter
from replay.benchmarks.codexomics.records import Tier
from replay.benchmarks.codexomics.scoring.baselines import baseline_calls
from replay.benchmarks.codexomics.scoring.evaluator import assess
from replay.benchmarks.codexomics.scoring.rules import CORRECTED, OFFICIAL
from replay.benchmarks.codexomics.tasks import read_task
from replay.benchmarks.codexomics.world.coverage import HANDLERS
from replay.benchmarks.codexomics.world.genome import load_genome
from replay.benchmarks.codexomics.world.session import Session
from replay.core.types import CallRequest

__all__ = ["run"]

SOURCES = Path(__file__).resolve().parents[2] / "snapshots" / "sources" / "codexomics-mini"
REPEATS = 20
CALLS = 500


def run() -> dict[str, object]:
    """Import our own suite, judge its oracle echoes, run calls; units in the names."""
    started = time.perf_counter()
    result = CodeXomicsImporter().load(SOURCES, {})
    imported = time.perf_counter()
    cases = [(read_task(task), baseline_calls("oracle-echo", read_task(task).test)) for task in result.tasks]
    before = time.perf_counter()
    for _ in range(REPEATS):
        for data, calls in cases:
            for rules in (OFFICIAL, CORRECTED):
                assess(data.test, calls, Tier.COMPLETION, data.make_registry(), rules=rules)
    judged = time.perf_counter()
    session = Session(load_genome("demo-genome-1"), HANDLERS)
    for number in range(CALLS):
        arguments = {"start": 1 + number, "end": 500 + number}
        session.handle(CallRequest(benchmark="codexomics", tool="get_sequence", arguments=arguments))
    ended = time.perf_counter()
    return {
        "tests": len(cases),
        "import_with_retrieval_s": round(imported - started, 3),
        "assessments_per_s": round(2 * REPEATS * len(cases) / (judged - before)),
        "session_calls_per_s": round(CALLS / (ended - judged)),
    }
