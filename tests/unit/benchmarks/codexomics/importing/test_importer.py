"""Import of suites and registries: keys, merging, flags, recorded results, and bad input by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.benchmarks.codexomics.importing.importer import CodeXomicsImporter
from replay.benchmarks.codexomics.importing.registries import RegistryBook
from replay.core.errors import InputError
from replay.core.protocols import ImportResult
from replay.core.types import Json
from tests.unit.benchmarks.codexomics.builders import make_test, single

TOOLS: Json = {
    "tools": {
        "zoom_in": {"description": "Zoom in", "parameters": {"properties": {"factor": {"type": "number"}}}},
        "broken": {"parameters": {"properties": {"k": {"minimum": 2, "maximum": 1}}}},
    }
}


def write(folder: Path, **documents: Json) -> Path:
    """Write JSON files by name."""
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


def load(folder: Path, **documents: Json) -> ImportResult:
    """Import a folder of these documents, with the registry above unless given."""
    return CodeXomicsImporter().load(write(folder, **{"registry": TOOLS, **documents}), {})


def test_keys_are_suite_and_test(tmp_path: Path) -> None:
    """One id in two suites gives two tasks, and the report names it."""
    test = make_test(single("zoom_in"))
    result = load(tmp_path, suites={"automatic_simple": [test], "automatic_complex": [test]})
    assert ["automatic_complex/t1", "automatic_simple/t1"] == [task.id for task in result.tasks]
    assert ["t1"] == result.report["ids_in_several_suites"]
    assert all("id-in-several-suites" in task.flags for task in result.tasks)


def test_one_suite_holds_an_id_once(tmp_path: Path) -> None:
    """The same id twice in a suite is an error that names the place."""
    test = make_test(single("zoom_in"))
    with pytest.raises(InputError, match=r"two tests are called 't1'.*\$\.s\[1\]"):
        load(tmp_path, suites={"s": [test, test]})


@pytest.mark.parametrize(
    ("expected", "flag"),
    [
        ({"expectedResult": {}}, "no-expected-tool"),
        (single("no_such_tool"), "expected-tool-unknown"),
        (single("broken", k=1), "contradictory-schema"),
        (single("zoom_in", factor="x"), "oracle-not-valid"),
    ],
)
def test_faults_of_a_test_are_flagged(tmp_path: Path, expected: Json, flag: str) -> None:
    """Each fault of the data has a name on the task, and the test stays in the plan."""
    (task,) = load(tmp_path, suites={"s": [make_test(expected)]}).tasks
    assert flag in task.flags


def test_manual_tests_are_left_out_and_counted(tmp_path: Path) -> None:
    """Manual tests are out of scope."""
    tests = [
        make_test(single("zoom_in")),
        {**make_test(single("zoom_in")), "id": "m", "evaluation": "manual"},
    ]
    report = load(tmp_path, suites={"s": tests}).report
    assert (1, {"s": 1}) == (report["manual_tests_left_out"], report["suites"])


def test_a_wrong_prompt_hash_is_reported(tmp_path: Path) -> None:
    """An instruction that is not the hashed one is found."""
    test = {**make_test(single("zoom_in")), "prompt_sha256": "0" * 64}
    assert ["s/t1"] == load(tmp_path, suites={"s": [test]}).report["wrong_prompt_hashes"]


def test_names_defined_twice_are_merged() -> None:
    """Union of properties and of required; the richest text wins."""
    book = RegistryBook()
    first = {
        "name": "load",
        "description": "Load",
        "parameters": {"properties": {"a": {}}, "required": ["a"]},
    }
    second = {
        "name": "load",
        "description": "Load a file",
        "parameters": {"properties": {"b": {}}, "required": ["b"]},
    }
    book.add_file("r.json", {"tools": [first, second]})
    tool = book.tools["load"]
    assert ("Load a file", ["a", "b"], {"a", "b"}, ["load"]) == (
        tool.description, tool.parameters["required"], set(tool.parameters["properties"]), book.merged,
    )  # fmt: skip


def test_a_newer_file_supersedes_an_older_one() -> None:
    """Of two files that define a tool the newer one holds, and the report says so."""
    book = RegistryBook()
    book.add_file("new.json", {"tools": [{"name": "a", "description": "new"}]})
    book.add_file("old.json", {"tools": [{"name": "a", "description": "old, and longer"}, {"name": "b"}]})
    assert ("new", {"old.json": ["a"]}) == (book.tools["a"].description, book.superseded)


def test_the_hash_of_a_registry_is_of_its_content() -> None:
    """Order and file names play no part; a changed schema does."""
    hashes = []
    for file, tools in (("a", ["x", "y"]), ("b", ["y", "x"]), ("a", ["x", "z"])):
        book = RegistryBook()
        book.add_file(file, {"tools": [{"name": name} for name in tools]})
        hashes.append(book.hash)
    assert (True, False) == (hashes[0] == hashes[1], hashes[0] == hashes[2])


def test_a_stated_hash_is_kept() -> None:
    """A manifest of upstream brings its own."""
    book = RegistryBook()
    book.add_file("m.json", {"registryHash": "abc", "tools": [{"name": "x"}]})
    assert "abc" == book.hash


def test_recorded_results_become_answers(tmp_path: Path) -> None:
    """A result is keyed by registry, tool and arguments."""
    recorded = {"tool_results": [{"tool_name": "zoom_in", "parameters": {"factor": 2}, "result": {"ok": 1}}]}
    result = load(tmp_path, suites={"s": [make_test(single("zoom_in"))]}, results=recorded)
    (answer,) = result.answers
    assert answer.request is not None
    assert (f"zoom_in@{result.report['registry']['hash'][:12]}", {"factor": 2}, '{"ok": 1}') == (
        answer.request.tool, answer.request.arguments, answer.body,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("documents", "match"),
    [
        ({"suites": {"s": []}}, "no suites found"),
        ({"registry": {"x": 1}, "suites": {"s": [make_test(single("a"))]}}, "no tool registry found"),
        ({"suites": {"s": [{"id": 3, "instruction": "x"}]}}, "id is 3"),
        ({"suites": {"s": [{"id": "a", "expectedResult": {}}]}}, "instruction is no text"),
        ({"registry": {"tools": [3]}}, "a tool is int"),
        ({"registry": {"tools": {"a b": {}}}}, "unusable tool name 'a b'"),
        (
            {
                "suites": {"s": [make_test(single("a"))]},
                "results": {"tool_results": [{"tool_name": "q", "result": 1}]},
            },
            "unknown tool 'q'",
        ),
    ],
)
def test_bad_files_are_errors_by_name(tmp_path: Path, documents: Json, match: str) -> None:
    """What cannot be read is named with its file and record."""
    with pytest.raises(InputError, match=match):
        load(tmp_path, **documents)


@pytest.mark.parametrize(
    ("text", "match"), [("{", "suites.json"), ('{"a": 1, "a": 2}', "suites.json"), ("\xff", "suites.json")]
)
def test_damaged_json_names_the_file(tmp_path: Path, text: str, match: str) -> None:
    """Cut text, repeated names and other encodings are refused."""
    (tmp_path / "suites.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=match):
        CodeXomicsImporter().load(tmp_path, {})


def test_unknown_options_are_refused(tmp_path: Path) -> None:
    """The importer knows one option."""
    with pytest.raises(InputError, match="unknown import option 'filter'"):
        CodeXomicsImporter().load(tmp_path, {"filter": "x"})
