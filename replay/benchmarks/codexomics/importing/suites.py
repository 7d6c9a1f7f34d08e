"""Suites -> tests by suite and id, with what is wrong with each named (spec section 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from replay.benchmarks.codexomics.importing.files import Document, Folder, suite_lists
from replay.benchmarks.codexomics.records import prompt_hash, read_oracle, task_id
from replay.benchmarks.codexomics.schemas import schema_errors
from replay.benchmarks.codexomics.scoring.baselines import echo_parameters
from replay.core.canonical import digest
from replay.core.errors import InputError
from replay.core.types import Json

__all__ = ["SuiteBook", "expected_tools", "oracle_faults"]

_FINGERPRINTED: Final = ("id", "instruction", "expectedResult", "maxScore", "assertCallOnly")


class SuiteBook:
    """The tests of one suites file."""

    def __init__(self, folder: Folder, wanted: str = "") -> None:
        """Choose the suites file (the one with most automatic tests) and read it.

        Errors:  InputError when there is none, or when one suite holds one id twice.
        """
        self.left_out: dict[str, str] = {}
        self.tests: dict[str, Mapping[str, Json]] = {}
        """By task id."""
        self.suite_of: dict[str, str] = {}
        self.manual = 0
        self.wrong_hashes: list[str] = []
        chosen = self._choose(folder, wanted)
        if chosen:
            self._read(chosen, folder.by_kind["suites"][chosen])
            folder.count(chosen, len(self.tests))

    def _choose(self, folder: Folder, wanted: str) -> str:
        files = dict(folder.documents("suites"))
        if wanted and wanted not in files:
            known = f"one of {', '.join(files) or '(none found)'}"
            raise InputError(f"no suites file {wanted!r}", where="option suites", expected=known)
        if not files:
            return ""
        sizes = {name: sum(1 for _ in _automatic(document)) for name, document in files.items()}
        chosen = wanted or max(files, key=lambda name: (sizes[name], name))
        for name in files:
            if name != chosen:
                self.left_out[name] = f"another version of the suites; to read it: --option suites={name}"
        return chosen

    def _read(self, file: str, document: Document) -> None:
        for suite, tests in suite_lists(document):
            for place, test in enumerate(tests):
                where = f"{file}, $.{suite}[{place}]"
                if test.get("evaluation", "automatic") != "automatic":
                    self.manual += 1
                    continue
                identity = test.get("id")
                if not isinstance(identity, str) or not identity:
                    raise InputError(f"id is {identity!r}", where=where, expected="text")
                if not isinstance(test.get("instruction"), str):
                    raise InputError("instruction is no text", where=where, expected="text")
                name = str(test.get("suiteId") or suite)
                key = task_id(name, identity)
                if key in self.tests:
                    raise InputError(
                        f"two tests are called {identity!r} in suite {name!r}",
                        where=where,
                        expected="ids that are unique inside a suite",
                    )
                stated = test.get("prompt_sha256")
                if isinstance(stated, str) and stated != prompt_hash(test["instruction"]):
                    self.wrong_hashes.append(key)
                self.tests[key] = test
                self.suite_of[key] = name

    @property
    def fingerprint(self) -> str:
        """Digest of what is asked and expected, whatever else a suites file carries."""
        content = {
            key: {name: test[name] for name in _FINGERPRINTED if name in test}
            for key, test in self.tests.items()
        }
        return digest("codexomics-suites", content).removeprefix("sha256:")

    @property
    def shared_ids(self) -> list[str]:
        """Ids that several suites use; a map keyed by id alone would lose one of each."""
        counts = Counter(key.split("/", 1)[1] for key in self.tests)
        return sorted(name for name, count in counts.items() if count > 1)

    def counts(self) -> dict[str, int]:
        """Tests by suite."""
        return dict(sorted(Counter(self.suite_of.values()).items()))


def oracle_faults(test: Mapping[str, Json], schemas: Mapping[str, Json]) -> list[str]:
    """Say what keeps a test's own oracle from being valid under a registry; empty when nothing does."""
    faults = []
    steps = read_oracle(test, keep_repeated_parameters=True).steps
    for index, step in enumerate(steps, start=1):
        tool = step.tools[0]
        if tool not in schemas:
            faults.append(f"call {index}: no tool {tool!r} in the registry")
            continue
        found = schema_errors(schemas[tool], echo_parameters(step.parameters, schemas[tool]))
        faults += [f"call {index} ({tool}): {error}" for error in found]
    return faults


def expected_tools(test: Mapping[str, Json]) -> list[tuple[str, ...]]:
    """Acceptable tools of each step, folded."""
    return [step.tools for step in read_oracle(test).steps]


def _automatic(document: Document) -> Iterator[Json]:
    for _, tests in suite_lists(document):
        yield from (test for test in tests if test.get("evaluation", "automatic") == "automatic")
