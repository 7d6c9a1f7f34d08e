"""Benchmarks by name. A benchmark's modules are imported when it is asked for, not before."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol, cast

from replay.core.errors import InputError
from replay.core.protocols import Benchmark, Importer
from replay.core.types import Json, Task, ToolSpec, Verdict

__all__ = [
    "AnswerForm",
    "ApiRules",
    "CaseScorer",
    "PoolRules",
    "get_api_rules",
    "get_benchmark",
    "get_case_scorer",
    "get_importer",
    "get_library_versions",
    "get_live_form",
    "get_pool_rules",
    "get_record_filter",
    "names",
]

_BENCHMARKS: Final[Mapping[str, tuple[str, str]]] = {
    "acebench": ("replay.benchmarks.acebench.benchmark", "AceBench"),
    "codexomics": ("replay.benchmarks.codexomics.benchmark", "CodeXomics"),
    "metatool": ("replay.benchmarks.metatool.benchmark", "MetaTool"),
    "stabletoolbench": ("replay.benchmarks.stabletoolbench.benchmark", "StableToolBench"),
    "toolsandbox": ("replay.benchmarks.toolsandbox.benchmark", "ToolSandbox"),
}
"""Module and class of each benchmark."""

_IMPORTERS: Final[Mapping[str, tuple[str, str]]] = {
    "acebench": ("replay.benchmarks.acebench.importing.importer", "AceBenchImporter"),
    "codexomics": ("replay.benchmarks.codexomics.importing.importer", "CodeXomicsImporter"),
    "metatool": ("replay.benchmarks.metatool.importing.importer", "MetaToolImporter"),
    "stabletoolbench": ("replay.benchmarks.stabletoolbench.importing.importer", "StableToolBenchImporter"),
    "toolsandbox": ("replay.benchmarks.toolsandbox.importing.importer", "ToolSandboxImporter"),
}
"""Module and class of each importer; apart, because a replay never needs one."""


_API_RULES: Final[Mapping[str, tuple[str, str]]] = {
    "stabletoolbench": ("replay.benchmarks.stabletoolbench.api_rules", "StableToolBenchApis"),
}
"""Module and class of what a benchmark tells a simulator; needed when one is asked."""


_LIBRARIES: Final[Mapping[str, tuple[str, str]]] = {
    "toolsandbox": ("replay.benchmarks.toolsandbox.libraries", "library_versions"),
}
"""Module and function that names the versions of libraries on which a benchmark's world rests."""


_RECORD_FILTERS: Final[Mapping[str, tuple[str, str]]] = {
    "stabletoolbench": ("replay.benchmarks.stabletoolbench.importing.record_filter", "check_record"),
}
"""Module and function that filters what a live proxy answers."""


_LIVE_FORMS: Final[Mapping[str, tuple[str, str]]] = {
    "stabletoolbench": ("replay.benchmarks.stabletoolbench.live_answers", "LiveAnswers"),
}
"""Module and class of the form in which a benchmark wants what live APIs say."""


_CASES: Final[Mapping[str, tuple[str, str]]] = {
    "acebench": ("replay.benchmarks.acebench.scoring.line_cases", "AceBenchCases"),
    "codexomics": ("replay.benchmarks.codexomics.scoring.cases", "CodeXomicsCases"),
    "metatool": ("replay.benchmarks.metatool.scoring.cases", "MetaToolCases"),
    "toolsandbox": ("replay.benchmarks.toolsandbox.cases.scorer", "ToolSandboxCases"),
}
"""Module and class of what scores single cases: lines that question the rules, not a candidate's run."""


_POOL_RULES: Final[Mapping[str, tuple[str, str]]] = {
    "codexomics": ("replay.benchmarks.codexomics.scoring.pooling", "Pooling"),
}
"""Module and class of what says which verdicts may be put side by side; others have nothing to say."""


class AnswerForm(Protocol):
    """How a benchmark's calls are answered, where that is not just what an API says."""

    def answer(self, text: str) -> str:
        """Write what an API said."""
        ...

    def failure(self, why: str) -> str:
        """Write why there is no answer."""
        ...


class PoolRules(Protocol):
    """What a benchmark asks of verdicts that enter one figure or one comparison."""

    def check(self, verdicts: Iterable[Verdict]) -> None:
        """Raise InputError with the reason when they may not."""
        ...


class CaseScorer(Protocol):
    """Scores a file of single cases, one a line, each on its own: ids may repeat or name no task."""

    def score_cases(self, path: Path, tasks: Mapping[str, Task]) -> Iterator[Json] | None:
        """Score every line, in order, as one JSON object each; None for a file that holds no cases.

        Shape:   an object has `line`, and `verdict` and `error_type` or, for a line that cannot be scored,
                 `error`. With an expected verdict in the line it has `agrees`.
        """
        ...


class ApiRules(Protocol):
    """What a benchmark knows of its APIs that a simulator must be told."""

    def document(self, spec: ToolSpec) -> Json:
        """Documentation of an API, parameters included, in the order it is shown."""
        ...

    def schema(self, spec: ToolSpec) -> Json:
        """JSON Schema of an API's answers. Raises InputError when its recorded shape cannot be used."""
        ...


def names() -> tuple[str, ...]:
    """Names of all benchmarks, sorted."""
    return tuple(sorted(_BENCHMARKS))


def get_benchmark(name: str) -> Benchmark:
    """Make the benchmark of that name. Raises InputError listing the known names."""
    return cast("Benchmark", _make(name, _BENCHMARKS))


def get_importer(name: str) -> Importer:
    """Make the importer of that benchmark. Raises InputError listing the known names."""
    return cast("Importer", _make(name, _IMPORTERS))


def get_api_rules(name: str) -> ApiRules | None:
    """Make what that benchmark tells a simulator; None when it has no rules of its own."""
    return cast("ApiRules", _make(name, _API_RULES)) if name in _API_RULES else None


def get_library_versions(name: str) -> dict[str, str]:
    """Versions of the libraries that may change what that benchmark's world answers, sorted by name."""
    return cast("dict[str, str]", _make(name, _LIBRARIES)) if name in _LIBRARIES else {}


def get_record_filter(name: str) -> Callable[[Json], str] | None:
    """Find what says of a live answer `accept` or why not, as that benchmark's own server does; or None."""
    if name not in _RECORD_FILTERS:
        return None
    module, function = _RECORD_FILTERS[name]
    return cast("Callable[[Json], str]", getattr(import_module(module), function))


def get_live_form(name: str) -> AnswerForm | None:
    """Make the form of that benchmark's live answers; None when they are what the API says."""
    return cast("AnswerForm", _make(name, _LIVE_FORMS)) if name in _LIVE_FORMS else None


def get_pool_rules(name: str) -> PoolRules | None:
    """Make what says which verdicts of that benchmark may be compared; None when all may."""
    return cast("PoolRules", _make(name, _POOL_RULES)) if name in _POOL_RULES else None


def get_case_scorer(name: str) -> CaseScorer | None:
    """Make what scores single cases of that benchmark; None when it knows none."""
    return cast("CaseScorer", _make(name, _CASES)) if name in _CASES else None


def _make(name: str, table: Mapping[str, tuple[str, str]]) -> object:
    if name not in table:
        near = difflib.get_close_matches(name.lower(), table, n=1)
        raise InputError(
            f"no benchmark {name!r}",
            expected=f"one of {', '.join(sorted(table))}",
            next_step=f"did you mean {near[0]}?" if near else "",
        )
    module, class_name = table[name]
    made: object = getattr(import_module(module), class_name)()
    return made
