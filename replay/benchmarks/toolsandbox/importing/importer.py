"""A dump of ToolSandbox scenarios -> tasks, tool specs, recorded API answers.

Nothing of upstream is run. The same files give the same archive whatever the time, zone or locale: values
that depend on the day are those of the dump's frozen clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import msgspec

from replay.benchmarks.toolsandbox.importing.answers import read_answers
from replay.benchmarks.toolsandbox.importing.scenarios import World, read_base, read_variant, split_of
from replay.benchmarks.toolsandbox.importing.source import Dump
from replay.benchmarks.toolsandbox.importing.tools import read_specs
from replay.benchmarks.toolsandbox.records import BENCHMARK, Scenario
from replay.core.canonical import digest
from replay.core.errors import InputError
from replay.core.protocols import ImportResult
from replay.core.types import Json, Task, ToolSpec

__all__ = ["ToolSandboxImporter"]

_BASES = "scenarios_base.json"
_VARIANTS = "scenario_variants.json"
_WORLD = "world_state.json"


class ToolSandboxImporter:
    """Reads a dump: base scenarios, variants, the shared world, tool texts, recorded answers."""

    def load(self, source: Path, options: Mapping[str, Json]) -> ImportResult:
        """Read everything under a folder.

        Options: `variants`: `import` (default) or `leave-out`.
        Errors:  InputError for a wrong folder, an unknown option, and for all faults of the data at once.
        """
        variants = _check_options(options)
        dump = Dump(source)
        world = World(dump.read(_WORLD))
        specs = read_specs(dump)
        bases = _read_bases(dump, world)
        scenarios = [*bases.values(), *(_read_variants(dump, bases) if variants else ())]
        answers = read_answers(dump)
        dump.raise_if_any()
        return ImportResult(
            benchmark=BENCHMARK,
            version=_version(dump),
            tasks=tuple(_make_task(scenario, specs) for scenario in scenarios),
            tools=tuple(specs.values()),
            answers=answers,
            report=_report(scenarios, len(answers)),
            sources=dump.sources,
            licences={"upstream data": dump.licence},
        )


def _check_options(options: Mapping[str, Json]) -> bool:
    for name, value in options.items():
        if name != "variants":
            raise InputError(f"unknown import option {name!r}", expected="variants")
        if value not in ("import", "leave-out"):
            raise InputError(
                f"unusable value {value!r}", where="option variants", expected="import, leave-out"
            )
    return bool(options.get("variants", "import") == "import")


def _records(data: Json, name: str, file: str) -> list[Json]:
    records = data.get(name) if isinstance(data, dict) else None
    if not isinstance(records, list):
        raise InputError(f"no list {name!r}", where=file, expected=f"an object with a list {name!r}")
    return records


def _read_bases(dump: Dump, world: World) -> dict[str, Scenario]:
    bases: dict[str, Scenario] = {}
    records = _records(dump.read(_BASES), "scenarios", _BASES)
    for number, record in enumerate(records):
        try:
            scenario = read_base(record, world)
        except (InputError, msgspec.ValidationError) as error:
            dump.fault(str(error), f"{_BASES}, {_name(record, number)}")
            continue
        if scenario.name in bases:
            dump.fault("a second scenario of this name", f"{_BASES}, {_name(record, number)}")
        bases[scenario.name] = scenario
    dump.count(_BASES, len(records))
    return bases


def _read_variants(dump: Dump, bases: Mapping[str, Scenario]) -> list[Scenario]:
    if not dump.has(_VARIANTS):
        return []
    made: dict[str, Scenario] = {}
    records = _records(dump.read(_VARIANTS), "variants", _VARIANTS)
    for number, record in enumerate(records):
        try:
            scenario = read_variant(record, bases)
        except (InputError, msgspec.ValidationError) as error:
            dump.fault(str(error), f"{_VARIANTS}, {_name(record, number)}")
            continue
        if scenario.name in made or scenario.name in bases:
            dump.fault("a second scenario of this name", f"{_VARIANTS}, {_name(record, number)}")
        made[scenario.name] = scenario
    dump.count(_VARIANTS, len(records))
    return list(made.values())


def _name(record: Json, number: int) -> str:
    name = record.get("name") if isinstance(record, dict) else None
    return f"record {number}" if not isinstance(name, str) else f"scenario {name}"


def _make_task(scenario: Scenario, specs: Mapping[str, ToolSpec]) -> Task:
    return Task(
        id=scenario.name,
        split=split_of(scenario),
        data=msgspec.to_builtins(scenario),
        tools=tuple(digest("tool-spec", msgspec.to_builtins(specs[name])) for name in scenario.tools),
    )


def _report(scenarios: list[Scenario], answers: int) -> dict[str, Json]:
    categories = Counter(name for scenario in scenarios for name in scenario.categories)
    return {
        "scenarios": len(scenarios),
        "bases": sum(1 for scenario in scenarios if scenario.name == scenario.base),
        "splits": dict(sorted(Counter(split_of(scenario) for scenario in scenarios).items())),
        "categories": dict(sorted(categories.items())),
        "milestones": sum(len(scenario.milestones) for scenario in scenarios),
        "minefields": sum(len(scenario.minefields) for scenario in scenarios),
        "answers": answers,
    }


def _version(dump: Dump) -> str:
    content = digest("import-version", [[source.path, source.digest] for source in dump.sources])
    return f"content-{content.removeprefix('sha256:')[:12]}"
