"""What is wrong with a record as a benchmark: found by rule, kept as flags `kind:what` of its task.

Owns the kinds. Every rule looks at one record alone, so records of other versions are judged alike. A flag
changes no score; it tells the reader of a report which scores to doubt. Source: spec sections 3 and 6.

* `truth-lacks-required`, `truth-undeclared-argument`, `truth-empty-value`, `truth-unknown-tool`,
  `name-ends-in-number`: the official checker rejects the truth itself, and why;
* `truth-rejected`: it does so for another reason, by the name of its error;
* `truth-against-task`: the truth asks for what the task does not say;
* `class-name`, `config-class`: a mistyped class, so it is never compared or never configured;
* `milestone-invalid`, `milestones-missing`: not calls as they stand, so no agent can send them;
* `milestones-unlike-truth`: carried out, they do not lead to the truth's end state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from replay.benchmarks.acebench.importing.agent_errors import find_agent_errors
from replay.benchmarks.acebench.records import AGENT, SPECIAL, AceTask
from replay.benchmarks.acebench.scoring.official_calls import check_call_list, strip_number
from replay.benchmarks.acebench.scoring.official_values import OfficialCrashError
from replay.core.types import Json

__all__ = ["find_data_errors"]


def find_data_errors(record: AceTask) -> tuple[str, ...]:
    """Flags of one record, in a fixed order, each once."""
    if record.category in AGENT:
        found = find_agent_errors(record)
    elif record.category in SPECIAL:
        found = _special_errors(record)
    else:
        found = _normal_errors(record)
    return tuple(dict.fromkeys(found))


def _special_errors(record: AceTask) -> Iterator[str]:
    truth = record.ground_truth
    if record.category == "special_irrelevant":
        if not isinstance(truth, str):
            yield "truth-rejected:no sentence"
        return
    if not isinstance(truth, dict) or not truth:
        yield "truth-rejected:no names"
        return
    for name, values in truth.items():
        for value in values:
            if record.category == "special_error_param" and str(value) not in record.question:
                yield f"truth-against-task:{name}={value}"


def _normal_errors(record: AceTask) -> Iterator[str]:
    pool = record.ground_truth if isinstance(record.ground_truth, list) else [record.ground_truth]
    for truth in pool:
        if not isinstance(truth, dict) or not all(isinstance(item, dict) for item in truth.values()):
            yield "truth-rejected:no calls"
            continue
        reasons = [
            flag for name, arguments in truth.items() for flag in _call_errors(record, name, arguments)
        ]
        error = _official_error(record, truth)
        if error:
            yield from reasons or [f"truth-rejected:{error}"]


def _official_error(record: AceTask, truth: Mapping[str, Json]) -> str:
    """What the official checker says when it is given the truth itself."""
    calls = [(strip_number(name), arguments) for name, arguments in truth.items()]
    try:
        return check_call_list(calls, dict(truth), lambda text: _find_tool(record, text))
    except OfficialCrashError as error:
        return str(error)


def _call_errors(record: AceTask, name: str, arguments: Mapping[str, Json]) -> Iterator[str]:
    tool = _find_tool(record, name)
    if tool is None:
        yield f"truth-unknown-tool:{name}"
        return
    if tool["name"] == name != strip_number(name):
        yield f"name-ends-in-number:{name}"
    schema = tool.get("parameters")
    if not isinstance(schema, dict):
        yield f"truth-unknown-tool:{name}"
        return
    required, properties = schema.get("required"), schema.get("properties")
    for needed in required if isinstance(required, list) else ():
        if not (isinstance(needed, str) and needed in arguments):
            yield f"truth-lacks-required:{needed}"
    for argument, value in arguments.items():
        if not (isinstance(properties, dict) and argument in properties):
            yield f"truth-undeclared-argument:{argument}"
        elif value is None or value in ([], {}):
            yield f"truth-empty-value:{argument}"


def _find_tool(record: AceTask, text: str) -> Mapping[str, Json] | None:
    return next((tool for tool in record.function if tool["name"] in text), None)
