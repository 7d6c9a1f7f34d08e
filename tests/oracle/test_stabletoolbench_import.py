"""The importer on the real data of both benchmarks: every count of the specification, nothing left out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from replay.benchmarks.stabletoolbench.functions import build_functions
from replay.benchmarks.stabletoolbench.importing.importer import StableToolBenchImporter
from replay.benchmarks.stabletoolbench.wording import Wording, wording_of
from replay.core.canonical import digest
from replay.core.protocols import ImportResult
from replay.core.types import Digest, Json, Task, ToolSpec
from tests.support.data import CHECKOUT

_GROUPS = {
    "G1_category": 153,
    "G1_instruction": 163,
    "G1_tool": 158,
    "G2_category": 124,
    "G2_instruction": 106,
    "G3_instruction": 61,
}
_DIGEST_PROGRAM = """
import sys, msgspec
from pathlib import Path
from replay.benchmarks.stabletoolbench.importing.importer import StableToolBenchImporter
from replay.core.canonical import digest
print(digest("import", msgspec.to_builtins(StableToolBenchImporter().load(Path(sys.argv[1]), {}))))
"""


@pytest.fixture(scope="module")
def solvable(shared_data: Path) -> ImportResult:
    """Import of the StableToolBench data."""
    return StableToolBenchImporter().load(shared_data / "stabletoolbench", {})


@pytest.fixture(scope="module")
def toolbench(shared_data: Path) -> ImportResult:
    """Import of the ToolBench data."""
    return StableToolBenchImporter().load(shared_data / "toolbench", {})


def test_queries(solvable: ImportResult) -> None:
    """765 queries in six groups; the example set repeats three of them."""
    queries = solvable.report["queries"]
    assert (765, _GROUPS, 3) == (queries["total"], queries["by_group"], queries["repeated_records"])
    assert len(solvable.tasks) == 765


@pytest.mark.parametrize(
    ("expected", "field"),
    [
        (4070, "entries"),
        (117, "truncated_names"),
        (141, "longest_name"),
        (402, "entries_with_dropped_parameters"),
        (2, "entries_with_colliding_parameters"),
        (2748, "entries_with_template_response"),
        (7873, "parameters"),
        (1621, "renamed_parameters"),
    ],
)
def test_functions(solvable: ImportResult, expected: int, field: str) -> None:
    """Function entries and what upstream's rules do to their names and parameters."""
    assert expected == solvable.report["functions"][field]


def test_function_entries_by_group(solvable: ImportResult) -> None:
    """Entries, tools and APIs of each group are those of the specification."""
    assert solvable.report["functions"]["by_group"] == {
        "G1_category": {"entries": 644, "tools": 88, "apis": 364},
        "G1_instruction": {"entries": 862, "tools": 154, "apis": 820},
        "G1_tool": {"entries": 794, "tools": 100, "apis": 500},
        "G2_category": {"entries": 728, "tools": 234, "apis": 433},
        "G2_instruction": {"entries": 690, "tools": 330, "apis": 604},
        "G3_instruction": {"entries": 352, "tools": 7, "apis": 44},
    }


def test_distinct_apis(solvable: ImportResult) -> None:
    """Tools, APIs and categories over all groups, and those whose names hold `_for_`."""
    distinct = solvable.report["functions"]["distinct"]
    found = {name: distinct[name] for name in ("categories", "tools", "apis", "apis_with_for")}
    assert found == {"categories": 47, "tools": 814, "apis": 2490, "apis_with_for": 24}
    assert (len(distinct["tools_with_for"]), distinct["apis_of_tools_with_for"]) == (6, 20)
    assert len(solvable.tools) == 2490


def test_old_rule_collisions(solvable: ImportResult) -> None:
    """Under the name rule before 2024-09-10 three pairs of APIs share a file."""
    collisions = solvable.report["functions"]["distinct"]["old_rule_collisions"]
    assert sorted(collisions) == [
        "Business/signnow_for_Business/get_role_ids",
        "Communication/melrose_labs_voice_api_for_Communication/list_available_numbers",
        "Data/trulia_real_estate_scraper_for_Data/search",
    ]
    assert {len(apis) for apis in collisions.values()} == {2}


def test_duplicate_and_ambiguous_names(solvable: ImportResult) -> None:
    """Four queries get two equal names; in 35 a name is a suffix of an earlier one."""
    flagged = solvable.report["queries"]["flagged_ids"]
    assert sorted(flagged["duplicate-function-names"], key=int) == ["9039", "27543", "27847", "79053"]
    assert len(flagged["suffix-ambiguous-names"]) == 35
    by_id = {task.id: task.split for task in solvable.tasks}
    assert sum(1 for i in flagged["suffix-ambiguous-names"] if by_id[i] == "G3_instruction") == 12


def test_parameter_types(solvable: ImportResult) -> None:
    """The table of parameter types."""
    assert solvable.report["functions"]["parameter_types"] == {
        "ARRAY": 8,
        "BINARY": 2,
        "BOOLEAN": 288,
        "DATE (YYYY-MM-DD)": 59,
        "ENUM": 132,
        "NUMBER": 1995,
        "OBJECT": 4,
        "STRING": 4810,
        "TIME (24-hour HH:MM)": 2,
        "string": 573,
    }


def test_nothing_is_skipped(solvable: ImportResult, shared_data: Path) -> None:
    """Every file is read and accounted for."""
    assert (solvable.report["skipped"], solvable.report["ignored"]) == ([], {})
    on_disk = {
        p.relative_to(shared_data / "stabletoolbench").as_posix()
        for p in (shared_data / "stabletoolbench").rglob("*")
        if p.is_file()
    }
    assert on_disk == {*(source.path for source in solvable.sources), "LICENSE"}
    assert {source.licence for source in solvable.sources} == {"Apache-2.0"}


def test_outputs_and_verdicts(solvable: ImportResult) -> None:
    """Three queries by two candidates in each form; 18 statuses and 9 rounds."""
    assert solvable.report["outputs"]["counts"] == {
        "converted": 6,
        "pass-rate": 6,
        "preference": 3,
        "raw": 6,
        "verdict-sopr": 18,
        "verdict-sowr": 9,
    }
    assert len(solvable.verdicts) == 27


def test_statuses_are_those_of_the_files(solvable: ImportResult) -> None:
    """Only the CoT answer to 588 is unsolved."""
    labels = {
        (output.candidate, output.task): {output.data[run] for run in ("0", "1", "2")}
        for output in solvable.outputs
        if output.format == "pass-rate"
    }
    assert labels.pop(("virtual_chatgpt_cot", "588")) == {"Unsolved"}
    assert set(map(frozenset, labels.values())) == {frozenset({"Solved"})}


def test_recorded_answers(solvable: ImportResult) -> None:
    """46 calls: 34 complete answers, 5 cut, 7 Finish; 5 of 6 shared requests saw different answers."""
    counts = {"calls": 46, "cut": 5, "finish": 7, "recorded": 34}
    assert counts == solvable.report["observations"]
    collisions = solvable.report["answers"]["collisions_listed"]
    assert len(collisions) == 5
    for pair in collisions:
        sources = [answer["source"] for answer in pair["answers"]]
        assert ["virtual_chatgpt_cot" in sources[0], "virtual_chatgpt_dfs" in sources[1]] == [True, True]


def test_the_recorded_answer_of_the_specification(solvable: ImportResult) -> None:
    """The one record the specification shows is found under its identity and key text."""
    found = [
        answer
        for answer in solvable.answers
        if answer.request is not None
        and answer.request.tool == "Data/keyword_analysis_for_Data/querykeywords"
    ]
    assert [answer.aliases[0].text for answer in found] == ["{'q': 'birthday party ideas'}"]
    assert json.loads(found[0].body)["error"] == ""


def test_functions_equal_those_of_the_answers(solvable: ImportResult) -> None:
    """Functions built from the query file are, byte for byte, those of the six example answers."""
    specs = {digest("tool-spec", _builtins(spec)): spec for spec in solvable.tools}
    tasks = {task.id: task for task in solvable.tasks}
    compared = 0
    for output in solvable.outputs:
        if output.format != "raw":
            continue
        built = _functions(tasks[output.task], specs)
        assert json.dumps(built) == json.dumps(output.data["answer_generation"]["function"])
        compared += 1
    assert compared == 6


def test_strict_names_are_unique(solvable: ImportResult) -> None:
    """Strict rules give each of the 4,070 entries a name of its own within its query."""
    specs = {digest("tool-spec", _builtins(spec)): spec for spec in solvable.tools}
    for task in solvable.tasks:
        names = [
            entry.shown.name for entry in build_functions([specs[d] for d in task.tools], rules="strict")
        ]
        assert len(set(names)) == len(names)
        assert max(map(len, names)) <= 64


def test_upstream_wording_is_found(solvable: ImportResult) -> None:
    """All sentences and both prompts come out of the example answers."""
    wording = wording_of(solvable.tasks[0].data)
    parts = (wording.tool_sentence, wording.description_sentence, wording.system, wording.user)
    assert ["{tool}" in parts[0], "{description}" in parts[1], bool(parts[2]), "{query}" in parts[3]] == [
        True
    ] * 4


def test_toolbench_is_read_whole(toolbench: ImportResult) -> None:
    """12 queries, 15 answers that bring their own, 16 documents; the empty file is named."""
    assert toolbench.report["queries"]["by_group"] == {
        "G1_answer": 5,
        "G1_query": 5,
        "G2_answer": 5,
        "G2_query": 3,
        "G3_answer": 5,
        "G3_query": 2,
        "inference_query_demo": 1,
        "inference_query_demo_open_domain": 1,
    }
    assert toolbench.report["ignored"] == {".DS_Store": 3}
    assert toolbench.report["skipped"] == [
        {
            "what": "data_example/toolenv/response_examples/Business/acrosuite_oauther.json",
            "why": "empty file",
        }
    ]


def test_toolbench_answers(toolbench: ImportResult) -> None:
    """328 calls of 15 answers give 175 complete responses and no collision."""
    assert toolbench.report["observations"] == {
        "calls": 328,
        "cut": 76,
        "finish": 28,
        "made-by-client": 49,
        "recorded": 175,
    }
    assert toolbench.report["answers"]["collisions"] == 0


def test_the_olato_quotes_document(toolbench: ImportResult) -> None:
    """The names-only query gets descriptions, parameters and answer shapes from the one complete document."""
    found = [spec for spec in toolbench.tools if spec.identity.startswith("Social/olato_quotes_for_Social/")]
    assert sorted(spec.name for spec in found) == ["Love Quote", "Motivation Quote", "Success Quote"]
    assert {tuple(spec.parameters["properties"]) for spec in found} == {("quotes",)}
    shapes = {spec.name: spec.response_shape for spec in found}
    assert shapes == {
        "Love Quote": None,
        "Motivation Quote": {"quote": "str"},
        "Success Quote": {"quote": "str"},
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "zone", "locale", "folder"),
    [("0", "UTC", "C", "/"), ("1", "Asia/Tokyo", "C.UTF-8", "/tmp")],  # noqa: S108 - only a working directory
)
def test_import_is_the_same_everywhere(
    solvable: ImportResult, shared_data: Path, seed: str, zone: str, locale: str, folder: str
) -> None:
    """Hash seed, time zone, locale and working directory change no byte of an import."""
    environment = {
        **os.environ,
        "PYTHONHASHSEED": seed,
        "TZ": zone,
        "LC_ALL": locale,
        "PYTHONPATH": str(CHECKOUT),
    }
    done = subprocess.run(
        [sys.executable, "-c", _DIGEST_PROGRAM, str((shared_data / "stabletoolbench").resolve())],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == digest("import", _builtins(solvable))


def _builtins(record: ToolSpec | ImportResult) -> Json:
    return msgspec.to_builtins(record)


def _functions(task: Task, specs: dict[Digest, ToolSpec]) -> list[Json]:
    wording: Wording = wording_of(task.data)
    entries = build_functions([specs[name] for name in task.tools], wording=wording, empty_start=False)
    return [entry.upstream for entry in entries]
