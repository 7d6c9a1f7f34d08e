"""Queries -> tasks: one id each, the APIs they list, and what is odd about them.

StableToolBench's ids are unique over all groups and stay as they are. ToolBench counts from 1 in every file,
so there the file name leads the id. A query that an id file does not name is no task; it is left out by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from replay.benchmarks.stabletoolbench.faults import Faults
from replay.benchmarks.stabletoolbench.importing.queries import QueryRecord
from replay.benchmarks.stabletoolbench.importing.specs import SpecBook, name_flags
from replay.benchmarks.stabletoolbench.wording import Wording
from replay.core.types import Json, Record, Task, ToolSpec

__all__ = ["IdFile", "PlannedTask", "TaskBook", "is_toolbench_file"]

_TOOLBENCH_FOLDER: Final = "instruction"


class IdFile(Record, frozen=True, kw_only=True):
    """The ids of one group that count."""

    folder: str
    """Folder that holds both the id files' and the query files' folder."""
    split: str
    ids: tuple[str, ...]
    file: str


class PlannedTask(Record, frozen=True, kw_only=True):
    """One query under its task id."""

    id: str
    query: QueryRecord
    specs: tuple[ToolSpec, ...]
    flags: tuple[str, ...]


def is_toolbench_file(query_file: str) -> bool:
    """Whether a query file is one of ToolBench, whose ids start anew in every file."""
    return query_file.split("/")[-2:-1] == [_TOOLBENCH_FOLDER]


class TaskBook:
    """All tasks of an import."""

    def __init__(self, specs: SpecBook, faults: Faults) -> None:
        """Start without tasks."""
        self._specs = specs
        self._faults = faults
        self._by_id: dict[str, PlannedTask] = {}
        self._upstream: dict[tuple[str, str], str] = {}
        self.repeated = 0
        """Records that repeat a query of another file word for word."""
        self.left_out: dict[str, str] = {}

    @property
    def planned(self) -> tuple[PlannedTask, ...]:
        """Every task, by split and then as its file has them."""
        return tuple(sorted(self._by_id.values(), key=lambda task: task.query.split))

    @property
    def splits(self) -> Counter[str]:
        """How many tasks each split has."""
        return Counter(task.query.split for task in self._by_id.values())

    def add_file(self, file: str, records: Iterable[QueryRecord], ids: IdFile | None) -> None:
        """Take in the queries of one file; an id without a query and a query without an id are named."""
        qualified = is_toolbench_file(file)
        wanted = None if ids is None else set(ids.ids)
        seen = set()
        for record in records:
            seen.add(record.id)
            if wanted is not None and record.id not in wanted:
                self.left_out[record.source] = f"id {record.id} is not in {ids.file if ids else ''}"
            else:
                self.add(record, task_id=f"{record.split}-{record.id}" if qualified else record.id)
        for missing in sorted((wanted or set()) - seen, key=int):
            expected = f"only ids of {file}"
            self._faults.add(f"id {missing} has no query", file=ids.file if ids else "", expected=expected)

    def add(self, record: QueryRecord, *, task_id: str, flags: tuple[str, ...] = ()) -> PlannedTask:
        """Take in one query; an equal one is counted once, a different one under the same id is a fault."""
        known = self._by_id.get(task_id)
        if known is not None:
            if _content(known.query) == _content(record):
                self.repeated += 1
            else:
                what = f"id {record.id} is also in {known.query.source}, with another query"
                self._faults.add(what, file=record.source, expected="each id once over all groups")
            return known
        specs = tuple(self._specs.add(entry)[1] for entry in record.entries)
        found = (*flags, *_query_flags(record, specs), *name_flags(specs))
        planned = PlannedTask(id=task_id, query=record, specs=specs, flags=found)
        self._by_id[task_id] = planned
        self._upstream[record.split, record.id] = task_id
        return planned

    def find(self, group: str, upstream_id: str, query: str) -> PlannedTask | None:
        """Find the task an answer belongs to, by group and id.

        Outside its group an id is not enough: ToolBench's `G1_answer` goes with `G1_query`, but its ids are
        those of a larger set. There the query must be the same too, where one is known.
        """
        exact = self._upstream.get((group, upstream_id))
        if exact is not None:
            return self._by_id[exact]
        sibling = self._upstream.get((group.replace("_answer", "_query"), upstream_id), upstream_id)
        found = self._by_id.get(sibling)
        return found if found is not None and query in ("", found.query.query) else None

    def find_by_query(self, query: str, group: str) -> tuple[PlannedTask, ...]:
        """Find tasks by their query text, those of a group first when it is one of ours."""
        same = [task for task in self._by_id.values() if task.query.query == query]
        inside = [task for task in same if task.query.split == group]
        return tuple(inside or same)

    def build(self, wording: Wording | None) -> tuple[Task, ...]:
        """Build the task records, in order of id."""
        stored = None if wording is None else msgspec.to_builtins(wording)
        return tuple(self._build(self._by_id[task_id], stored) for task_id in sorted(self._by_id))

    def _build(self, planned: PlannedTask, wording: Json) -> Task:
        record = planned.query
        data: dict[str, Json] = {
            "query": record.query,
            "relevant_apis": [list(pair) for pair in record.relevant],
            "upstream": record.upstream,
        }
        if wording is not None:
            data["wording"] = wording
        digests = tuple(self._specs.add(entry)[0] for entry in record.entries)
        return Task(id=planned.id, split=record.split, data=data, tools=digests, flags=planned.flags)


def _content(record: QueryRecord) -> tuple[Json, ...]:
    return (record.split, record.query, record.entries, record.relevant, record.open_domain, record.upstream)


def _query_flags(record: QueryRecord, specs: tuple[ToolSpec, ...]) -> tuple[str, ...]:
    found = []
    if record.open_domain:
        found.append("no-api-list")
    elif not specs:
        found.append("empty-api-list")
    if any("required_parameters" not in spec.extra for spec in specs):
        found.append("names-only")
    listed = {(entry["tool_name"], entry["api_name"]) for entry in record.entries}
    if not set(record.relevant) <= listed:
        found.append("relevant-api-not-listed")
    return tuple(found)
