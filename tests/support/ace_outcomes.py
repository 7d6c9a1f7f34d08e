"""Outcomes of ACEBench in tests: what the truth itself would produce, and what is almost that."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from replay.benchmarks.acebench.literals.milestones import is_valid_message, repair_quotes
from replay.benchmarks.acebench.records import AGENT, AceTask, read_task
from replay.benchmarks.acebench.scoring.cases import CaseBook
from replay.benchmarks.acebench.scoring.strict_agent import correct_class
from replay.benchmarks.acebench.scoring.verdicts import judge
from replay.core.types import Json, Task, Verdict

__all__ = [
    "CONTRADICTION",
    "call_text",
    "drop_optional",
    "gold_outcome",
    "perturbed_outcome",
    "shift_numbers",
    "verdict_of",
    "wrap_texts",
]

_NUMBER: Final = re.compile(r"_\d+$")
CONTRADICTION: Final = "anything at all but not {} of any kind"
"""A text around another that takes it back."""

Calls = list[tuple[str, dict[str, Json]]]
Change = Callable[[AceTask, str, dict[str, Json]], dict[str, Json]]


def verdict_of(task: Task, outcome: Json, metric: str = "accuracy") -> Verdict:
    """Verdict of one metric."""
    return next(
        verdict for verdict in judge(task, outcome, trial=0, cases=CaseBook()) if verdict.metric == metric
    )


def gold_outcome(task: Task) -> Json:
    """What a candidate produces that does exactly what the truth says."""
    record = read_task(task)
    if record.category in AGENT:
        return _gold_agent(record)
    if record.category.startswith("special"):
        return {"output": _gold_refusal(record)}
    return {"output": call_text(_calls(record))}


def perturbed_outcome(task: Task, change: Change) -> Json | None:
    """The gold calls of a normal task with their arguments changed; None when nothing changes."""
    record = read_task(task)
    calls = _calls(record)
    changed = [(name, change(record, name, arguments)) for name, arguments in calls]
    return None if changed == calls else {"output": call_text(changed)}


def call_text(calls: Calls) -> str:
    """Write calls as the protocol asks for."""
    return f"[{', '.join(f'{name}({_arguments(arguments)})' for name, arguments in calls)}]"


def shift_numbers(_record: AceTask, _name: str, arguments: dict[str, Json]) -> dict[str, Json]:
    """Every boolean under a call flipped and 41 added to every number."""
    return {key: _shifted(value) for key, value in arguments.items()}


def wrap_texts(_record: AceTask, _name: str, arguments: dict[str, Json]) -> dict[str, Json]:
    """Every text under a call inside a text that contradicts it."""
    return {
        key: CONTRADICTION.format(value) if isinstance(value, str) else value
        for key, value in arguments.items()
    }


def drop_optional(record: AceTask, name: str, arguments: dict[str, Json]) -> dict[str, Json]:
    """Only the arguments that the schema requires."""
    tool = next((tool for tool in record.function if tool["name"] == name), None)
    required = tool["parameters"]["required"] if tool else ()
    return {key: value for key, value in arguments.items() if key in required}


def _shifted(value: Json) -> Json:
    if isinstance(value, bool):
        return not value
    return value + 41 if isinstance(value, (int, float)) else value


def _calls(record: AceTask) -> Calls:
    truth = record.ground_truth[0] if isinstance(record.ground_truth, list) else record.ground_truth
    known = {tool["name"] for tool in record.function}
    return [
        (name if name in known else _NUMBER.sub("", name), arguments) for name, arguments in truth.items()
    ]


def _arguments(arguments: Mapping[str, Json]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in arguments.items())


def _gold_refusal(record: AceTask) -> str:
    truth = record.ground_truth
    if record.category == "special_irrelevant":
        return f'["{truth}"]'
    if record.category == "special_incomplete":
        lines = [
            f"Missing necessary parameters ({', '.join(names)}) for the api ({api})"
            for api, names in truth.items()
        ]
    else:
        lines = [
            f"There is incorrect value ({', '.join(values)}) for the parameters ({name}) in the conversation."
            for name, values in truth.items()
        ]
    return "[" + ", ".join(f'"{line}"' for line in lines) + "]"


def _gold_agent(record: AceTask) -> Json:
    result = [
        {correct_class(name, record.involved_classes): attributes for name, attributes in entry.items()}
        for entry in record.ground_truth
    ]
    stones = record.alternatives[0]
    process = [stone.strip() if is_valid_message(stone) else repair_quotes(stone.strip()) for stone in stones]
    return {"result": result, "process": process}
