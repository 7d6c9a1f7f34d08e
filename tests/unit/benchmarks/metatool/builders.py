"""Builders for tests of MetaTool: samples, tasks, answers, and a checkout of a handful of files."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from replay.benchmarks.metatool.benchmark import MetaTool
from replay.benchmarks.metatool.importing.importer import MetaToolImporter
from replay.benchmarks.metatool.records import AWARENESS, MULTI, RELIABILITY, SIMILAR, Example, Sample
from replay.core.protocols import ImportResult, Settings
from replay.core.types import Json, JudgeRequest, JudgeVerdict, Task, ToolSpec, Verdict

__all__ = [
    "MINI_SOURCE",
    "TOOLS",
    "answer",
    "evaluate",
    "import_mini",
    "make_awareness",
    "make_multi",
    "make_reliability",
    "make_similar",
    "make_specs",
    "make_task",
    "write_json",
]

MINI_SOURCE: Final = Path(__file__).parents[4] / "snapshots" / "sources" / "metatool-mini"

TOOLS: Final = ("SkyTool", "NewsTool", "Map&Route", "Map", "search", "Now", "snownow", "sql_scribe")
"""Names with every hazard: one in another, signs, everyday words, underscores."""


def make_similar(truth: str = "SkyTool", candidates: Sequence[str] = TOOLS, **changes: Json) -> Sample:
    """Build a question for one tool."""
    fields = {"subtask": SIMILAR, "query": "Will it rain?", "truth": (truth,), **changes}
    return Sample(candidates=tuple(candidates), **fields)


def make_reliability(removed: str = "TideTable", **changes: Json) -> Sample:
    """Build a question whose tool is not on the list."""
    fields = {"subtask": RELIABILITY, "query": "When is low water?", "removed": removed, **changes}
    return Sample(candidates=TOOLS, **fields)


def make_multi(*truth: str, **changes: Json) -> Sample:
    """Build a question for two tools."""
    fields = {
        "subtask": MULTI,
        "query": "Rain and news?",
        "truth": truth or ("SkyTool", "NewsTool"),
        **changes,
    }
    return Sample(candidates=TOOLS, **fields)


def make_awareness(truth: str = "yes", **changes: Json) -> Sample:
    """Build a question about needing tools."""
    return Sample(subtask=AWARENESS, query="Will it rain?", truth=(truth,), **changes)


def make_task(sample: Sample, name: str = "task-0", **changes: Json) -> Task:
    """Put a sample into a task."""
    data = msgspec.json.decode(msgspec.json.encode(sample))
    return Task(id=name, split=changes.pop("split", sample.subtask), data=data, **changes)


def make_specs(names: Sequence[str] = TOOLS) -> tuple[ToolSpec, ...]:
    """Build tool specs; every second tool is a merged one."""
    return tuple(
        ToolSpec(
            name=name,
            identity=name,
            description=f"What {name} does.",
            extra={"merged": number % 2 == 0, "descriptions": [f"It's {name}."]},
        )
        for number, name in enumerate(names)
    )


def make_examples() -> tuple[Example, ...]:
    """Build two solved questions."""
    return Example(query="Snow?", answer="SkyTool"), Example(query="Why?", answer="None")


def answer(text: str, **changes: Json) -> Json:
    """Build an outcome."""
    return {"answer": text, **changes}


def evaluate(
    sample: Sample, outcome: Json, *, verdict: JudgeVerdict | None = None, **options: Json
) -> tuple[Verdict, list[JudgeRequest]]:
    """Score one outcome; a judge that is asked gives the verdict. Returns what it was asked too."""
    benchmark = MetaTool()
    settings = benchmark.check_settings(Settings(options=options))
    play = benchmark.evaluate(make_task(sample), outcome, trial=0, settings=settings, reference=None)
    asked: list[JudgeRequest] = []
    try:
        request = next(play)
        while True:
            asked.append(request)
            request = play.send(verdict)
    except StopIteration as done:
        (found,) = done.value
        return found, asked


@functools.cache
def import_mini() -> ImportResult:
    """Import the sources of the shipped suite."""
    return MetaToolImporter().load(MINI_SOURCE, {})


def write_json(path: Path, value: Json) -> Path:
    """Write one JSON file, its folders included."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path
