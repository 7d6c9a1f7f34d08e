"""ACEBench data files -> tasks and tools, joined by id, data errors flagged.

Owns the join: upstream pairs inputs and truths by line, which a single missing line shifts; here both files
must have the same ids, each once. Faults are collected and raised once; what is merely wrong as a benchmark
(see `data_errors`) is kept, flagged with the task and listed in the report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from replay.benchmarks.acebench.importing.data_errors import find_data_errors
from replay.benchmarks.acebench.importing.source import Line, Source
from replay.benchmarks.acebench.importing.wording import WordingBook
from replay.benchmarks.acebench.records import (
    AGENT,
    BENCHMARK,
    AceTask,
    data_of,
    split_of,
    task_id,
)
from replay.core.canonical import digest
from replay.core.errors import InputError
from replay.core.protocols import ImportResult, SourceFile
from replay.core.types import Digest, Json, Task, ToolSpec

__all__ = ["OPTIONS", "AceBenchImporter"]

OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "language": ("all", "en", "zh"),
    "wording": ("import", "leave-out"),
}
"""Options by name with their values, the default first."""

_INPUT_FIELDS: Final = (
    "id",
    "question",
    "function",
    "time",
    "profile",
    "initial_config",
    "path",
    "involved_classes",
)
_TRUTH_FIELDS: Final = ("ground_truth", "mile_stone")


class AceBenchImporter:
    """Reads an ACEBench checkout or its data folder alone."""

    def load(self, source: Path, options: Mapping[str, Json]) -> ImportResult:
        """Read all categories and languages that are there.

        Options: `language` takes one language only; `wording` leave-out reads no upstream prompt texts.
        Errors:  InputError for a folder without data, an unknown option, and for all faults at once.
        """
        chosen = _checked_options(options)
        return _Import(Source(source), chosen).result()


class _Import:
    """One import at work."""

    def __init__(self, source: Source, options: Mapping[str, str]) -> None:
        self._source = source
        self._options = options
        self._tools: dict[str, ToolSpec] = {}
        self._counts: Counter[str] = Counter()
        self._flagged: dict[str, tuple[str, ...]] = {}

    def result(self) -> ImportResult:
        source = self._source
        wording = WordingBook(source) if self._options["wording"] == "import" else None
        tasks = tuple(self._read_tasks(wording))
        source.faults.raise_if_any()
        if not tasks:
            raise InputError("no records", where=source.root.name, expected="data_<category>.json files")
        return ImportResult(
            benchmark=BENCHMARK,
            version=_version(source.sources),
            tasks=tasks,
            tools=tuple(self._tools.values()),
            report=self._report(wording),
            sources=source.sources,
            licences={"upstream data": source.licence},
        )

    def _read_tasks(self, wording: WordingBook | None) -> Iterator[Task]:
        asked = self._options["language"]
        for language in self._source.languages:
            if asked not in ("all", language):
                continue
            for category in self._source.categories(language):
                texts = wording.find(language, category) if wording else {}
                for record in self._read_category(language, category):
                    yield self._task(msgspec.structs.replace(record, wording=texts))

    def _read_category(self, language: str, category: str) -> Iterator[AceTask]:
        """Join one input file with its truths by id."""
        file, truth_file = (
            self._source.input_file(language, category),
            self._source.truth_file(language, category),
        )
        inputs, truths = self._by_id(file, category), self._by_id(truth_file, category)
        for only, other, where in ((inputs, truths, truth_file), (truths, inputs, file)):
            for name in sorted(only.keys() - other.keys()):
                self._source.faults.add(
                    f"no record {name!r}", where=where, expected="the same ids in inputs and truths"
                )
        for name, line in inputs.items():
            if name in truths:
                record = self._record(line, truths[name], language=language, category=category)
                if record is not None:
                    yield record

    def _by_id(self, file: str, category: str) -> dict[str, Line]:
        found: dict[str, Line] = {}
        for line in self._source.lines(file):
            name = line.data.get("id")
            if not isinstance(name, str) or not name.startswith(f"{category}_"):
                expected = f"a text that begins with {category}_"
                self._source.faults.add(f"id {name!r}", where=line.place, expected=expected)
            elif name in found:
                where = f"{line.place}, first on line {found[name].number}"
                self._source.faults.add(f"id {name!r} twice", where=where, expected="each id once")
            else:
                found[name] = line
        return found

    def _record(self, line: Line, truth: Line, *, language: str, category: str) -> AceTask | None:
        fields = {name: line.data[name] for name in _INPUT_FIELDS if name in line.data}
        fields |= {name: truth.data[name] for name in _TRUTH_FIELDS if name in truth.data}
        for name, holder in (("question", line), ("function", line), ("ground_truth", truth)):
            if name not in fields:
                self._source.faults.add(f"no {name}", where=holder.place, expected=f"a record with {name}")
                return None
        try:
            record = msgspec.convert({**fields, "language": language, "category": category}, AceTask)
        except msgspec.ValidationError as error:
            self._source.faults.add(str(error), where=line.place, expected=f"a record of {category}")
            return None
        wrong = [tool for tool in record.function if not _is_tool(tool)]
        if wrong or (category in AGENT) != (record.mile_stone is not None):
            what = (
                "a tool without a name" if wrong else "milestones outside an agent category, or none in one"
            )
            self._source.faults.add(what, where=line.place, expected=f"a record of {category}")
            return None
        return record

    def _task(self, record: AceTask) -> Task:
        name, split = task_id(record.language, record.id), split_of(record.language, record.category)
        flags = find_data_errors(record)
        if flags:
            self._flagged[name] = flags
        self._counts[split] += 1
        return Task(
            id=name,
            split=split,
            data=data_of(record),
            tools=tuple(self._add_tool(tool) for tool in record.function),
            flags=flags,
        )

    def _add_tool(self, tool: Mapping[str, Json]) -> Digest:
        schema = next((tool[key] for key in ("parameters", "arguments", "_arguments") if key in tool), None)
        if isinstance(schema, dict) and schema.get("type") == "dict":
            schema = {**schema, "type": "object"}
        spec = ToolSpec(name=tool["name"], description=str(tool.get("description", "")), parameters=schema)
        name = digest("tool-spec", msgspec.to_builtins(spec))
        self._tools.setdefault(name, spec)
        return name

    def _report(self, wording: WordingBook | None) -> Json:
        kinds = Counter(flag.split(":")[0] for flags in self._flagged.values() for flag in flags)
        return {
            "options": dict(self._options),
            "records": dict(sorted(self._counts.items())),
            "total": sum(self._counts.values()),
            "tools": len(self._tools),
            "upstream_wording": list(wording.names) if wording else [],
            "data_errors": {
                "records": len(self._flagged),
                "kinds": dict(sorted(kinds.items())),
                "by_record": {name: list(flags) for name, flags in sorted(self._flagged.items())},
            },
        }


def _is_tool(tool: Json) -> bool:
    return isinstance(tool, dict) and isinstance(tool.get("name"), str) and bool(tool["name"])


def _checked_options(options: Mapping[str, Json]) -> dict[str, str]:
    chosen = {name: values[0] for name, values in OPTIONS.items()}
    for name, value in options.items():
        if name not in OPTIONS:
            raise InputError(f"unknown import option {name!r}", expected=f"one of {', '.join(OPTIONS)}")
        if value not in OPTIONS[name]:
            raise InputError(
                f"unusable value {value!r}", where=f"option {name}", expected=" or ".join(OPTIONS[name])
            )
        chosen[name] = value
    return chosen


def _version(sources: tuple[SourceFile, ...]) -> str:
    """A version made of the content: upstream changes its truths without a number."""
    content = digest("import-version", [[source.path, source.digest] for source in sources])
    return f"content-{content.removeprefix('sha256:')[:12]}"
