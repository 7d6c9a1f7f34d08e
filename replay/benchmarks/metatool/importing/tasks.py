"""Samples of the five subtasks: published files where they are there, else built again from the data.

Source: spec 2. What a published file says is kept even where today's query file would give another sample;
how far both agree is counted for the import report.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from replay.benchmarks.metatool.importing import published
from replay.benchmarks.metatool.importing.catalogue import Catalogue
from replay.benchmarks.metatool.importing.examples import draw_examples
from replay.benchmarks.metatool.importing.files import Checkout
from replay.benchmarks.metatool.importing.lists import ListBuilder
from replay.benchmarks.metatool.importing.noise import flags_of
from replay.benchmarks.metatool.importing.published import Built
from replay.benchmarks.metatool.importing.queries import QueryBook, read_golden
from replay.benchmarks.metatool.records import (
    AWARENESS,
    MULTI,
    RELIABILITY,
    SCENARIO,
    SIMILAR,
    Example,
    Sample,
)
from replay.core.types import Json, Task

__all__ = ["TaskBuilder", "slug_of"]

_QUERIES_A_TOOL: Final = 5
_QUERIES_A_SCENARIO_TOOL: Final = 20
_SCENARIOS: Final = "scenario"


class _Scenario(msgspec.Struct, frozen=True):
    tools: list[str] = msgspec.field(name="Tools")


class TaskBuilder:
    """Builds every task that the files allow; counts where each subtask came from."""

    def __init__(
        self, checkout: Checkout, catalogue: Catalogue, book: QueryBook, lists: ListBuilder | None
    ) -> None:
        """Without lists (no embeddings) only what is published, and the scenarios, can be built."""
        self._checkout = checkout
        self._catalogue = catalogue
        self._book = book
        self._lists = lists
        self.origin: dict[str, str] = {}
        """Subtask to `published`, `rebuilt`, or why it is absent."""
        self.agreement: dict[str, dict[str, int]] = {}
        """Subtask to how many published lists and queries come out again when they are rebuilt."""
        self.other_samples: list[str] = []
        """Tools whose published queries are not what today's query file gives."""

    def build(self) -> tuple[Task, ...]:
        """Build the tasks of all subtasks."""
        makers: tuple[Callable[[], Iterator[tuple[str, Sample]]], ...] = (
            self._awareness,
            self._similar,
            self._scenarios,
            self._reliability,
            self._multi,
        )
        return tuple(self._task(name, sample) for make in makers for name, sample in make())

    # ---- one maker a subtask ---------------------------------------------------------------------------

    def _awareness(self) -> Iterator[tuple[str, Sample]]:
        records = published.read_awareness(self._checkout)
        self.origin[AWARENESS] = "published" if records else f"absent: no {published.AWARENESS_FILE}"
        for line, record in enumerate(records):
            sample = Sample(
                subtask=AWARENESS,
                query=record.query,
                truth=("yes",) if record.is_positive else ("no",),
                removed=record.tools[0] if record.tools else "",
                examples=record.examples,
                examples_from="published" if record.examples else "",
                line=line,
            )
            yield f"{AWARENESS}-{line:04}", sample

    def _similar(self) -> Iterator[tuple[str, Sample]]:
        records = published.read_built(self._checkout, published.SIMILAR_FILE)
        self._note(SIMILAR, records)
        lists = self._lists
        if records and lists is not None:
            self._compare(SIMILAR, records, lambda tools: lists.similar(*tools))
        elif lists is not None:
            records = self._rebuilt(lists.similar)
        for line, record in enumerate(self._checked(SIMILAR, records, published.SIMILAR_FILE)):
            yield self._selection(SIMILAR, line, record, f"{SIMILAR}-{line:04}")

    def _scenarios(self) -> Iterator[tuple[str, Sample]]:
        records = published.read_built(self._checkout, published.SCENARIO_FILE)
        self._note(SCENARIO, records)
        for name in self._checkout.names(_SCENARIOS):
            scenario = self._checkout.read_json(name, _Scenario)
            tools = tuple(scenario.tools) if scenario is not None else ()
            self._known(tools, name)
            here = [record for record in records if record.candidates == tools]
            if not records:
                here = [
                    Built(query=query, tools=(tool,), candidates=tools)
                    for tool in tools
                    for query in self._book.sample(tool, _QUERIES_A_SCENARIO_TOOL)
                ]
            slug = slug_of(name)
            for line, record in enumerate(self._checked(SCENARIO, here, name)):
                yield self._selection(SCENARIO, line, record, f"{SCENARIO}-{slug}-{line:03}")

    def _reliability(self) -> Iterator[tuple[str, Sample]]:
        records = published.read_built(self._checkout, published.RELIABILITY_FILE)
        self._note(RELIABILITY, records)
        lists = self._lists
        if records and lists is not None:
            self._compare(RELIABILITY, records, lambda tools: lists.reliability(*tools))
            self._compare_samples(records)
        elif lists is not None:
            records = self._rebuilt(lists.reliability)
        for line, record in enumerate(self._checked(RELIABILITY, records, published.RELIABILITY_FILE)):
            yield self._selection(RELIABILITY, line, record, f"{RELIABILITY}-{line:04}")

    def _multi(self) -> Iterator[tuple[str, Sample]]:
        records = published.read_built(self._checkout, published.MULTI_FILE)
        self._note(MULTI, records)
        lists = self._lists
        if records and lists is not None:
            self._compare(MULTI, records, lambda tools: lists.multi(*tools) if len(tools) == 2 else ())
        elif lists is not None:
            golden = read_golden(self._checkout)
            for pair in golden:
                self._known(pair.tool, "data/multi_tool_query_golden.json")
            records = tuple(
                Built(query=pair.query, tools=pair.tool, candidates=lists.multi(*pair.tool))
                for pair in golden
                if all(tool in self._catalogue.specs for tool in pair.tool)
            )
        for line, record in enumerate(self._checked(MULTI, records, published.MULTI_FILE)):
            yield self._selection(MULTI, line, record, f"{MULTI}-{line:04}")

    def _rebuilt(self, build: Callable[[str], tuple[str, ...]]) -> tuple[Built, ...]:
        return tuple(
            Built(query=query, tools=(tool,), candidates=build(tool))
            for tool in self._catalogue.names
            for query in self._book.sample(tool, _QUERIES_A_TOOL)
        )

    # ---- shared ----------------------------------------------------------------------------------------

    def _selection(self, subtask: str, line: int, record: Built, name: str) -> tuple[str, Sample]:
        examples: tuple[Example, ...] = record.examples
        source = "published" if examples else ""
        if not examples and subtask != MULTI:
            examples = draw_examples(name, record.query, record.candidates, self._book, self._catalogue.names)
            source = "built" if examples else ""
        labels = self._book.labels.get(record.query, [])
        sample = Sample(
            subtask=subtask,
            query=record.query,
            truth=() if subtask == RELIABILITY else record.tools,
            removed=record.tools[0] if subtask == RELIABILITY else "",
            candidates=record.candidates,
            masks=self._catalogue.masks(record.candidates),
            examples=examples,
            examples_from=source,
            labels=tuple(labels) if len(labels) > 1 else (),
            line=line,
        )
        return name, sample

    def _task(self, name: str, sample: Sample) -> Task:
        split = name.rsplit("-", 1)[0] if sample.subtask == SCENARIO else sample.subtask
        data: Json = msgspec.json.decode(msgspec.json.encode(sample))
        return Task(
            id=name,
            split=split,
            data={key: value for key, value in data.items() if value not in ("", [])},
            tools=self._catalogue.digests(sample.candidates),
            flags=flags_of(sample, self._book),
        )

    def _note(self, subtask: str, records: Sequence[Built]) -> None:
        if records:
            self.origin[subtask] = "published"
        elif subtask == SCENARIO or self._lists is not None:
            self.origin[subtask] = "rebuilt"
        else:
            self.origin[subtask] = "absent: no published file, and no embeddings to build its lists from"

    def _checked(self, subtask: str, records: Sequence[Built], file: str) -> list[Built]:
        """Records whose lists and truths can be used; every other one is a fault."""
        wanted = 2 if subtask == MULTI else 1
        kept = []
        for number, record in enumerate(records):
            repeated = [name for name, times in Counter(record.candidates).items() if times > 1]
            unknown = [name for name in record.candidates if name not in self._catalogue.specs]
            lost = [tool for tool in record.tools if (tool in record.candidates) == (subtask == RELIABILITY)]
            if len(set(record.tools)) != wanted:
                self._checkout.fault(f"{len(record.tools)} tools, not {wanted}", file=file, record=number)
            elif unknown or repeated:
                what = f"a list with unknown or repeated tools: {', '.join([*unknown, *repeated])}"
                self._checkout.fault(what, file=file, record=number)
            elif lost:
                what = "stands on the list" if subtask == RELIABILITY else "is not on the list"
                self._checkout.fault(f"{lost[0]!r} {what}", file=file, record=number)
            else:
                kept.append(record)
        return kept

    def _known(self, tools: Sequence[str], file: str) -> None:
        for tool in tools:
            if tool not in self._catalogue.specs:
                self._checkout.fault(f"no description of tool {tool!r}", file=file)

    def _compare(
        self, subtask: str, records: Sequence[Built], build: Callable[[Sequence[str]], Sequence[str]]
    ) -> None:
        """Count the published lists that come out again; tools without a description cannot."""
        known = [record for record in records if all(t in self._catalogue.specs for t in record.tools)]
        same = sum(tuple(build(record.tools)) == record.candidates for record in known)
        self.agreement[subtask] = {"published_lists": len(records), "equal_when_rebuilt": same}

    def _compare_samples(self, records: Sequence[Built]) -> None:
        shown: dict[str, list[str]] = {}
        for record in records:
            shown.setdefault(record.tools[0] if record.tools else "", []).append(record.query)
        self.other_samples = [
            tool for tool, queries in shown.items() if queries != self._book.sample(tool, _QUERIES_A_TOOL)
        ]


def slug_of(name: str) -> str:
    """A scenario's file name as a part of task ids: lower case, one hyphen for everything else.

    Source:  prompt_construction.py cuts the name at its first dot.
    """
    stem = name.rsplit("/", 1)[-1].split(".", 1)[0]
    return re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")
