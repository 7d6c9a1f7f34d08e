"""Our own suite: what ships is whole, its gold scripts are right, and its wrong scripts are wrong."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping

import pytest

from replay.benchmarks.codexomics.importing.importer import CodeXomicsImporter
from replay.benchmarks.codexomics.records import ObservedCall, Tier
from replay.benchmarks.codexomics.scoring.evaluator import assess
from replay.benchmarks.codexomics.scoring.evidence import parse_arguments
from replay.benchmarks.codexomics.tasks import read_task
from replay.core.protocols import ImportResult
from replay.core.types import Json
from tests.support.data import CHECKOUT

SOURCES = CHECKOUT / "snapshots" / "sources" / "codexomics-mini"


@functools.cache
def imported() -> ImportResult:
    """Import the suite once."""
    return CodeXomicsImporter().load(SOURCES, {})


@functools.cache
def scripts(name: str) -> Mapping[str, tuple[ObservedCall, ...]]:
    """The calls of a script by task."""
    document = json.loads((SOURCES / "scripts" / f"{name}.json").read_text(encoding="utf-8"))
    return {script["task"]: tuple(_calls(script["turns"])) for script in document["scripts"]}


def _calls(turns: list[Json]) -> list[ObservedCall]:
    made = [call for turn in turns for call in turn.get("tool_calls", [])]
    return [
        ObservedCall(tool=call["name"], parameters=parse_arguments(call["arguments"])[0]) for call in made
    ]


def passing(name: str, tier: Tier) -> list[str]:
    """Tasks that a script passes."""
    found = []
    for task in imported().tasks:
        data = read_task(task)
        if assess(data.test, scripts(name)[task.id], tier, data.make_registry()).success:
            found.append(task.id)
    return found


def test_the_suite_has_no_fault() -> None:
    """47 tests without a flag, and an oracle that is valid for each."""
    assert (47, [], {}) == (
        len(imported().tasks),
        [task.id for task in imported().tasks if task.flags],
        imported().report["oracles_not_valid"],
    )


def test_everything_but_two_remote_tools_is_executed() -> None:
    """The remote ones have recorded answers."""
    remote = imported().report["tool_results"]["recorded_only"]
    recorded = {answer.request.tool.split("@")[0] for answer in imported().answers if answer.request}
    assert set(remote) == recorded == {"get_uniprot_entry", "search_pdb_structures"}


@pytest.mark.parametrize("tier", [Tier.CONTRACT, Tier.COMPLETION])
def test_every_gold_script_passes(tier: Tier) -> None:
    """Under the strict and the completion tier."""
    assert [task.id for task in imported().tasks] == passing("gold", tier)


@pytest.mark.parametrize("tier", [Tier.CONTRACT, Tier.COMPLETION])
def test_no_wrong_script_passes(tier: Tier) -> None:
    """Each has one mistake that counts."""
    assert [] == passing("wrong", tier)


def test_the_sources_are_ours() -> None:
    """Everything that was read states our licence."""
    assert {"Apache-2.0"} == {source.licence for source in imported().sources}
