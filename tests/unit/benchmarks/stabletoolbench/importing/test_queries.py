"""Query and id files: both forms, ids over groups, and every fault with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.core.errors import InputError
from replay.core.types import Json
from tests.unit.benchmarks.stabletoolbench.entries import make_entry, make_parameter
from tests.unit.benchmarks.stabletoolbench.folders import QUERY_FILE, load, make_query, write_tree

_IDS = "solvable_queries/test_query_ids/G1_instruction.json"
_OTHER = "solvable_queries/test_instruction/G2_category.json"
_EXAMPLE = "solvable_queries_example/test_instruction/G1_instruction.json"


def test_a_query_becomes_a_task(tmp_path: Path) -> None:
    """Id, split, query and reference APIs are taken over; further fields are kept."""
    task = load(write_tree(tmp_path, {QUERY_FILE: [make_query(note="x")]})).tasks[0]
    assert (task.id, task.split) == ("7", "G1_instruction")
    assert task.data["relevant_apis"] == [["Weather Desk", "Current"]]
    assert task.data["upstream"] == {"note": "x"}


def test_tools_are_counted_once(tmp_path: Path) -> None:
    """Equal entries of two queries are one tool spec, named by both tasks."""
    result = load(write_tree(tmp_path, {QUERY_FILE: [make_query(1), make_query(2)]}))
    assert len(result.tools) == 1
    assert result.tasks[0].tools == result.tasks[1].tools


def test_raw_spec_keeps_the_whole_entry(tmp_path: Path) -> None:
    """A spec holds the upstream entry, an honest schema under raw names, and the response shape."""
    entry = make_entry(
        required_parameters=[make_parameter("maxCount", type="NUMBER")], template_response="str"
    )
    spec = load(write_tree(tmp_path, {QUERY_FILE: [make_query(api_list=[entry])]})).tools[0]
    assert spec.extra == entry
    assert list(spec.parameters["properties"]) == ["maxCount"]
    assert spec.response_shape == "str"


def test_names_only_form(tmp_path: Path) -> None:
    """An API list of names is enough for a task; the task says so."""
    entry = {"category_name": "Weather", "tool_name": "Weather Desk", "api_name": "Current"}
    task = load(write_tree(tmp_path, {QUERY_FILE: [make_query(api_list=[entry])]})).tasks[0]
    assert "names-only" in task.flags


def test_open_domain_form(tmp_path: Path) -> None:
    """A query without any API list is a task without tools."""
    record = {"query": "q", "query_id": 1}
    task = load(write_tree(tmp_path, {QUERY_FILE: [record]})).tasks[0]
    assert (task.tools, task.flags) == ((), ("no-api-list",))


def test_toolbench_ids_are_led_by_their_file(tmp_path: Path) -> None:
    """ToolBench counts from 1 in every file, so the file name comes first."""
    files = {f"data_example/instruction/G{n}_query.json": [make_query(1, query=f"q{n}")] for n in (1, 2)}
    assert [task.id for task in load(write_tree(tmp_path, files)).tasks] == ["G1_query-1", "G2_query-1"]


def test_repeated_records_are_counted_once(tmp_path: Path) -> None:
    """The example set repeats queries of the full set word for word."""
    result = load(write_tree(tmp_path, {QUERY_FILE: [make_query()], _EXAMPLE: [make_query()]}))
    assert len(result.tasks) == 1
    assert result.report["queries"]["repeated_records"] == 1


def test_queries_outside_the_id_file_are_left_out_by_name(tmp_path: Path) -> None:
    """The id file says what counts."""
    result = load(write_tree(tmp_path, {QUERY_FILE: [make_query(7), make_query(8)], _IDS: {"7": 0}}))
    assert [task.id for task in result.tasks] == ["7"]
    assert result.report["skipped"] == [
        {"what": f"{QUERY_FILE}, record 1", "why": f"id 8 is not in {_IDS}"},
    ]


def test_flags_name_what_upstream_does_to_names(tmp_path: Path) -> None:
    """Equal, cut and ambiguous names, dropped and colliding parameters are flagged at import."""
    long = "a" * 70
    entries = [
        make_entry("x" + long),
        make_entry("y" + long),
        make_entry("Advanced search"),
        make_entry("search", required_parameters=[], optional_parameters=[make_parameter()]),
        make_entry("twice", required_parameters=[make_parameter("a"), make_parameter("A")]),
    ]
    task = load(write_tree(tmp_path, {QUERY_FILE: [make_query(api_list=entries)]})).tasks[0]
    assert task.flags == (
        "relevant-api-not-listed",
        "duplicate-function-names",
        "suffix-ambiguous-names",
        "truncated-function-names",
        "dropped-parameters",
        "colliding-parameters",
    )


@pytest.mark.parametrize(
    ("message", "record"),
    [
        (r"a query record is a list .*record 0, \$\[0\]", []),
        (r"query is missing or empty .*\$\[0\]\.query\)", make_query(query=" ")),
        (r"query_id is a text .*\$\[0\]\.query_id.*a whole number", make_query("seven")),
        (r"query_id is true/false", make_query(True)),
        (r"query_id is null", make_query(None)),
        (r"api_list is an object .*\$\[0\]\.api_list", make_query(api_list={})),
        (r"an API entry is a text .*api_list\[0\]", make_query(api_list=["x"])),
        (r"tool_name is a number .*api_list\[0\]\.tool_name", make_query(api_list=[make_entry(tool_name=1)])),
        (r"api_description is a list", make_query(api_list=[make_entry(api_description=[])])),
        (r"a parameter list is an object", make_query(api_list=[make_entry(optional_parameters={})])),
        (
            r"a parameter without a name .*api_list\[0\]\.required_parameters\[0\]",
            make_query(api_list=[make_entry(required_parameters=[{"type": "STRING"}])]),
        ),
        (
            r"type is a number .*\.type",
            make_query(api_list=[make_entry(required_parameters=[{"name": "a", "type": 1}])]),
        ),
        (r'not a pair of texts .*relevant APIs"\]\[0\]', make_query(**{"relevant APIs": [["a"]]})),
    ],
)
def test_faults_name_file_record_and_path(tmp_path: Path, message: str, record: Json) -> None:
    """Each wrong value is named with its file, record and JSON path."""
    content = [record] if isinstance(record, dict) else [record, make_query()]
    with pytest.raises(InputError, match=message) as raised:
        load(write_tree(tmp_path, {QUERY_FILE: content}))
    assert QUERY_FILE in str(raised.value)


def test_duplicate_ids_in_one_file(tmp_path: Path) -> None:
    """An id that comes twice is a fault."""
    with pytest.raises(InputError, match=r"id 7 is given twice .*record 1, \$\[1\]\.query_id"):
        load(write_tree(tmp_path, {QUERY_FILE: [make_query(), make_query()]}))


def test_duplicate_ids_over_groups(tmp_path: Path) -> None:
    """An id of two groups is a fault that names both places."""
    with pytest.raises(
        InputError, match=r"id 7 is also in .*G1_instruction.json, record 0, with another query"
    ):
        load(write_tree(tmp_path, {QUERY_FILE: [make_query()], _OTHER: [make_query()]}))


def test_an_id_without_query(tmp_path: Path) -> None:
    """The denominator must not hold what cannot be asked."""
    with pytest.raises(InputError, match=r"id 9 has no query .*test_query_ids"):
        load(write_tree(tmp_path, {QUERY_FILE: [make_query()], _IDS: {"7": 0, "9": 0}}))


def test_many_faults_come_at_once(tmp_path: Path) -> None:
    """All faults are raised together; a long list is cut and counted."""
    with pytest.raises(InputError, match=r"12 faults in the data: .*; and 2 more"):
        load(write_tree(tmp_path, {QUERY_FILE: [make_query("x") for _ in range(12)]}))


@pytest.mark.parametrize(
    ("message", "content"),
    [
        ("G1_instruction.json", '[{"query": "a", "query_id": 1, "api_li'),
        ("NaN", '[{"query": "a", "query_id": NaN}]'),
        ("not UTF-8 at byte 12", b'[{"query": "\xff", "query_id": 1}]'),
        ("G1_instruction.json", "[" * 100_000),
        ("query", '[{"query": "a", "query": "b", "query_id": 1}]'),
    ],
)
def test_broken_query_files(tmp_path: Path, message: str, content: str | bytes) -> None:
    """Cut, dishonest, misencoded or bottomless JSON is one clear error."""
    with pytest.raises(InputError, match=message):
        load(write_tree(tmp_path, {QUERY_FILE: content}))
