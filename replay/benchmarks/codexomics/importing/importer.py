"""A folder of suites and registries -> tasks, tools, outputs, and a report of everything found.

Retrieval is run here, once, and frozen with each test. The eight tests (with the data of 2026) whose own
oracle is not valid under the registry are listed with their reasons, like every other fault of the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from replay.benchmarks.codexomics.importing.files import Folder
from replay.benchmarks.codexomics.importing.outputs import document_outputs
from replay.benchmarks.codexomics.importing.registries import RegistryBook, tool_spec
from replay.benchmarks.codexomics.importing.results import read_results
from replay.benchmarks.codexomics.importing.suites import SuiteBook, expected_tools, oracle_faults
from replay.benchmarks.codexomics.records import BENCHMARK, Tier, prompt_hash
from replay.benchmarks.codexomics.retrieval.choice import LIMIT, RETRIEVER, Retriever, measure_recall
from replay.benchmarks.codexomics.scoring.baselines import measure_baselines
from replay.benchmarks.codexomics.world.coverage import ToolCoverage, cover_tools
from replay.core.canonical import digest
from replay.core.errors import InputError
from replay.core.protocols import ImportedAnswer, ImportResult
from replay.core.types import Digest, Json, Output, Task, ToolSpec

__all__ = ["FIXTURE", "CodeXomicsImporter"]

FIXTURE: Final[Mapping[str, Json]] = {
    "file": "ECOLI.gbk",
    "chromosome": "U00096",
    "start": 100_000,
    "end": 101_000,
    "genome": "",
}
"""The session that upstream's tests start in. `genome` names one of ours that a world can execute on."""

_OPTIONS: Final = ("suites",)


class CodeXomicsImporter:
    """Reads suites, registries and, where they lie beside them, golden runs and reports."""

    def load(self, source: Path, options: Mapping[str, Json]) -> ImportResult:
        """Read everything under a folder.

        Options: `suites` names the suites file to read where there are several.
        Errors:  InputError for a wrong folder, an unknown option, a damaged file or record.
        """
        unknown = sorted(set(options) - set(_OPTIONS))
        if unknown:
            raise InputError(f"unknown import option {unknown[0]!r}", expected=", ".join(_OPTIONS))
        wanted = options.get("suites", "")
        if not isinstance(wanted, str):
            raise InputError(f"unusable value {wanted!r}", where="option suites", expected="a file's name")
        return _Import(Folder(source), wanted).result(source.name)


class _Import:
    """One import at work."""

    def __init__(self, folder: Folder, wanted: str) -> None:
        self._folder = folder
        self._suites = SuiteBook(folder, wanted)
        self._registry = RegistryBook()
        # Names carry the date, and of two definitions the newest file's holds.
        for name, document in reversed(list(folder.documents("registry"))):
            folder.count(name, self._registry.add_file(name, document))
        self._schemas = self._registry.schemas()
        self._specs: dict[str, ToolSpec] = {}
        self._digests: dict[str, Digest] = {}
        self._recall: dict[str, Json] = {}
        self._faults: dict[str, list[str]] = {}

    def result(self, name: str) -> ImportResult:
        if not self._suites.tests or not self._registry.tools:
            missing = "suites" if not self._suites.tests else "tool registry"
            raise InputError(
                f"no {missing} found", where=name, expected="suites and a tool registry as JSON files"
            )
        registry_hash = self._registry.hash
        for key, tool in sorted(self._registry.tools.items()):
            spec = tool_spec(tool, registry_hash)
            self._specs[key] = spec
            self._digests[key] = digest("tool-spec", msgspec.to_builtins(spec))
        retriever = Retriever(self._registry.tools)
        tasks = tuple(self._task(key, retriever, registry_hash) for key in sorted(self._suites.tests))
        outputs = self._outputs({task.id: task for task in tasks})
        answers = self._answers()
        return ImportResult(
            benchmark=BENCHMARK,
            version=f"suites-{self._suites.fingerprint[:12]}",
            tasks=tasks,
            tools=tuple(self._specs.values()),
            answers=answers,
            outputs=tuple(outputs),
            report=self._report(tasks, registry_hash, outputs),
            sources=self._folder.sources,
            licences={source.path: source.licence for source in self._folder.sources},
        )

    def _task(self, key: str, retriever: Retriever, registry_hash: str) -> Task:
        test = self._suites.tests[key]
        steps = expected_tools(test)
        selected = retriever.choose(test["instruction"])
        recall = measure_recall(selected, steps)
        self._recall[key] = recall
        # What a switch may add comes after what was chosen; without the switch it is not shown.
        added = dict.fromkeys(tool for tools in steps for tool in tools if tool in self._digests)
        shown = [*selected, *(tool for tool in added if tool not in selected)]
        return Task(
            id=key,
            split=self._suites.suite_of[key],
            data={
                "suite": self._suites.suite_of[key],
                "test": dict(test),
                "prompt_sha256": prompt_hash(test["instruction"]),
                "registry": registry_hash,
                "suites": self._suites.fingerprint,
                "fixture": self._fixture(),
                "retrieval": {
                    "retriever": RETRIEVER,
                    "selected": list(selected),
                    "expected": recall.expected,
                    "covered": recall.covered,
                },
                "schemas": self._schemas,
            },
            tools=tuple(self._digests[tool] for tool in shown),
            flags=tuple(self._flags(key, test, steps)),
        )

    def _fixture(self) -> dict[str, Json]:
        for _, document in self._folder.documents("suites"):
            given = document.get("fixture")
            if isinstance(given, dict):
                return {**FIXTURE, **given}
        return dict(FIXTURE)

    def _flags(self, key: str, test: Mapping[str, Json], steps: list[tuple[str, ...]]) -> list[str]:
        flags = []
        if not steps:
            flags.append("no-expected-tool")
        if any(not any(tool in self._schemas for tool in tools) for tools in steps):
            flags.append("expected-tool-unknown")
        names = {tool.name for tool in self._registry.tools.values() if tool.name in self._contradictory}
        if any(names.intersection(tools) for tools in steps):
            flags.append("contradictory-schema")
        faults = oracle_faults(test, self._schemas)
        if faults:
            self._faults[key] = faults
            flags.append("oracle-not-valid")
        if key.split("/", 1)[1] in self._suites.shared_ids:
            flags.append("id-in-several-suites")
        return flags

    @property
    def _contradictory(self) -> Mapping[str, list[str]]:
        return self._registry.contradictions

    def _outputs(self, tasks: Mapping[str, Task]) -> list[Output]:
        found = []
        for kind in ("golden", "report"):
            for name, document in self._folder.documents(kind):
                outputs = document_outputs(document, name, tasks)
                self._folder.count(name, len(outputs))
                found += outputs
        return found

    def _answers(self) -> tuple[ImportedAnswer, ...]:
        found: list[ImportedAnswer] = []
        for name, document in self._folder.documents("results"):
            mine = list(read_results(document, name, self._specs))
            self._folder.count(name, len(mine))
            found += mine
        return tuple(found)

    def _report(self, tasks: tuple[Task, ...], registry_hash: str, outputs: list[Output]) -> Json:
        coverage: ToolCoverage = cover_tools(
            {tool for test in self._suites.tests.values() for tools in expected_tools(test) for tool in tools}
        )
        covered = [(key, recall) for key, recall in sorted(self._recall.items())]
        whole = [key for key, recall in covered if recall.value == 1.0]
        return {
            "suites": self._suites.counts(),
            "suite_fingerprint": self._suites.fingerprint,
            "ids_in_several_suites": self._suites.shared_ids,
            "manual_tests_left_out": self._suites.manual,
            "wrong_prompt_hashes": self._suites.wrong_hashes,
            "no_expected_tool": [task.id for task in tasks if "no-expected-tool" in task.flags],
            "oracles_not_valid": {key: "; ".join(faults) for key, faults in sorted(self._faults.items())},
            "registry": {
                "hash": registry_hash,
                "tools": len(self._registry.tools),
                "defined_twice": self._registry.merged,
                "superseded": {file: len(names) for file, names in sorted(self._registry.superseded.items())},
                "contradictory_schemas": self._registry.contradictions,
            },
            "retrieval": {
                "retriever": RETRIEVER,
                "limit": LIMIT,
                "tests_with_all_expected": len(whole),
                "tests": len(covered),
                "entries_covered": sum(recall.covered for _, recall in covered),
                "entries_expected": sum(recall.expected for _, recall in covered),
                "not_covered": [key for key, recall in covered if recall.value < 1.0],
            },
            "tool_results": msgspec.to_builtins(coverage),
            "baselines": self._baselines(),
            "outputs": len(outputs),
            "left_out": self._suites.left_out,
            "ignored": self._folder.ignored,
        }

    def _baselines(self) -> Json:
        by_suite: dict[str, list[Mapping[str, Json]]] = {}
        for key, test in self._suites.tests.items():
            by_suite.setdefault(self._suites.suite_of[key], []).append(test)
        tiers = (Tier.CONTRACT, Tier.COMPLETION)
        return {
            tier.value: {
                suite: msgspec.to_builtins(measure_baselines(tests, tier))
                for suite, tests in sorted(by_suite.items())
            }
            for tier in tiers
        }
