"""Upstream's built task files, read back: queries, truths, candidate lists and few-shot examples.

The prompts themselves are upstream's wording and are not kept; what was put into them is read out by its
fixed marks. Source: tmp_dataset/*.json at 35e81bb (spec 1 and 2).
"""

from __future__ import annotations

import re
from typing import Final, Literal

import msgspec

from replay.benchmarks.metatool.importing.files import Checkout
from replay.benchmarks.metatool.records import AWARENESS, MULTI, RELIABILITY, SCENARIO, SIMILAR, Example
from replay.core.types import Record

__all__ = [
    "AWARENESS_FILE",
    "FILES",
    "MULTI_FILE",
    "RELIABILITY_FILE",
    "SCENARIO_FILE",
    "SIMILAR_FILE",
    "Built",
    "candidates_in",
    "examples_in",
    "read_awareness",
    "read_built",
]

AWARENESS_FILE: Final = "tmp_dataset/Task1.json"
SIMILAR_FILE: Final = "tmp_dataset/Task2-Subtask1.json"
SCENARIO_FILE: Final = "tmp_dataset/Task2-Subtask2.json"
RELIABILITY_FILE: Final = "tmp_dataset/Task2-Subtask3.json"
MULTI_FILE: Final = "tmp_dataset/Task2-Subtask4.json"

FILES: Final = {
    "Task1.json": AWARENESS,
    "Task2-Subtask1.json": SIMILAR,
    "Task2-Subtask2.json": SCENARIO,
    "Task2-Subtask3.json": RELIABILITY,
    "Task2-Subtask4.json": MULTI,
}
"""File name to subtask; result files keep the names."""

_LINE: Final = re.compile(r"^([0-9]+)\. tool name: (.*?), tool description: ", re.MULTILINE)
_FIRST: Final = "\n1. tool name: "
_EXAMPLES_START: Final = "[Examples Start]\n"
_EXAMPLES_ENDS: Final = ("\n[Examples End]\n", "\nUser query: ")
"""One of upstream's two templates has no end mark; there the question follows at once."""
_EXAMPLE: Final = 'query: "'
_ANSWERS: Final = ('" answer: ', '" tool: ')


class Built(Record, frozen=True, kw_only=True):
    """One record of a built file, without its wording."""

    query: str
    tools: tuple[str, ...]
    """The tools of the record: the truth, or the removed tool (reliability); none for a negative."""
    candidates: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    is_positive: bool = True
    """Awareness only: a tool is needed."""


class _Thought(msgspec.Struct, frozen=True):
    query: str
    label: Literal["positive", "negative"]
    tool: str = ""
    thought_prompt: str = ""


class _Action(msgspec.Struct, frozen=True):
    query: str
    tool: str | list[str]
    action_prompt: str


def read_awareness(checkout: Checkout) -> tuple[Built, ...]:
    """Read the awareness file; none where it is not there."""
    if not checkout.has(AWARENESS_FILE):
        return ()
    records = checkout.read_json(AWARENESS_FILE, list[_Thought]) or []
    return tuple(
        Built(
            query=record.query,
            tools=(record.tool,) if record.tool else (),
            examples=examples_in(record.thought_prompt),
            is_positive=record.label == "positive",
        )
        for record in records
    )


def read_built(checkout: Checkout, name: str) -> tuple[Built, ...]:
    """Read one of the selection files; none where it is not there. A record without a list is a fault."""
    if not checkout.has(name):
        return ()
    found = []
    for number, record in enumerate(checkout.read_json(name, list[_Action]) or []):
        candidates = candidates_in(record.action_prompt)
        if not candidates:
            checkout.fault(
                "no numbered tool list in the prompt", file=name, record=number, path="$.action_prompt"
            )
        tools = (record.tool,) if isinstance(record.tool, str) else tuple(record.tool)
        found.append(
            Built(
                query=record.query,
                tools=tools,
                candidates=candidates,
                examples=examples_in(record.action_prompt),
            )
        )
    return tuple(found)


def candidates_in(prompt: str) -> tuple[str, ...]:
    """Names of the numbered tool list in a prompt; the last list that starts at 1, up to its first gap."""
    start = prompt.rfind(_FIRST)
    names: list[str] = []
    for match in _LINE.finditer(prompt, start + 1) if start >= 0 else ():
        # A description may hold a line of the same form; it has another number.
        if int(match.group(1)[:9]) == len(names) + 1:
            names.append(match.group(2))
    return tuple(names)


def examples_in(prompt: str) -> tuple[Example, ...]:
    """Solved questions of a few-shot prompt; none in a zero-shot one."""
    start = prompt.rfind(_EXAMPLES_START)
    if start < 0:
        return ()
    block = prompt[start + len(_EXAMPLES_START) :]
    for end in _EXAMPLES_ENDS:
        head, found, _ = block.rpartition(end)
        block = head if found else block
    lines = f"\n{block}".split(f"\n{_EXAMPLE}")[1:]
    return tuple(example for line in lines if (example := _example(line)) is not None)


def _example(line: str) -> Example | None:
    """Read one example; a query may hold quotes and line ends, so that its answer is what stands last."""
    for mark in _ANSWERS:
        query, found, answer = line.rpartition(mark)
        if found and "\n" not in answer.strip():
            return Example(query=query, answer=answer.strip())
    return None
