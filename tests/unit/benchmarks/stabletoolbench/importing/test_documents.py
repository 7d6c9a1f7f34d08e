"""Tool documents and response examples: what they add to queries, and what becomes of the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.core.errors import InputError
from replay.core.types import Json
from tests.unit.benchmarks.stabletoolbench.entries import make_parameter
from tests.unit.benchmarks.stabletoolbench.folders import QUERY_FILE, load, make_query, write_tree

_DOCUMENT = "tools/Weather/weather_desk.json"
_EXAMPLES = "toolenv/response_examples/Weather/weather_desk.json"
_NAMES = {"category_name": "Weather", "tool_name": "Weather Desk", "api_name": "Current"}


def _document(*apis: Json) -> dict[str, Json]:
    return {"tool_name": "Weather Desk", "tool_description": "All weather", "api_list": list(apis)}


def _api(**fields: Json) -> dict[str, Json]:
    return {
        "name": "current",
        "description": "Reads it",
        "method": "GET",
        "required_parameters": [],
        **fields,
    }


def test_a_document_completes_a_names_only_query(tmp_path: Path) -> None:
    """Description and parameters come from the document, found by normalised name."""
    document = _document(_api(required_parameters=[make_parameter()]))
    spec = load(
        write_tree(tmp_path, {QUERY_FILE: [make_query(api_list=[_NAMES])], _DOCUMENT: document})
    ).tools[0]
    assert (spec.description, list(spec.parameters["properties"])) == ("Reads it", ["city"])
    assert spec.extra["tool_description"] == "All weather"


def test_a_document_replaces_nothing_a_query_says(tmp_path: Path) -> None:
    """The query's own description stays."""
    files = {QUERY_FILE: [make_query()], _DOCUMENT: _document(_api())}
    assert load(write_tree(tmp_path, files)).tools[0].description == "Reads the weather of a city"


def test_response_examples_give_the_shape(tmp_path: Path) -> None:
    """A schema of the response examples becomes the response shape of an API without one."""
    files = {
        QUERY_FILE: [make_query()],
        _EXAMPLES: {"api_list": [{"name": "Current", "schema": {"t": "int"}}]},
    }
    assert load(write_tree(tmp_path, files)).tools[0].response_shape == {"t": "int"}


def test_documented_apis_without_query_are_tools(tmp_path: Path) -> None:
    """A folder of tool documents alone gives its APIs as tools."""
    result = load(write_tree(tmp_path, {_DOCUMENT: _document(_api(), _api(name="past"))}))
    assert sorted(spec.identity for spec in result.tools) == [
        "Weather/weather_desk_for_Weather/current",
        "Weather/weather_desk_for_Weather/past",
    ]
    assert result.report["documents"]["apis_without_query"] == 2


def test_a_document_outside_a_category_is_found_by_its_tool(tmp_path: Path) -> None:
    """A lone document has no category of its own; the query's tool finds it."""
    files = {QUERY_FILE: [make_query(api_list=[_NAMES])], "desk/tools.json": _document(_api())}
    assert load(write_tree(tmp_path, files)).tools[0].description == "Reads it"


def test_an_empty_file_is_named_and_not_fatal(tmp_path: Path) -> None:
    """A document of 0 bytes is left out by name."""
    result = load(write_tree(tmp_path, {QUERY_FILE: [make_query()], _EXAMPLES: ""}))
    assert result.report["skipped"] == [{"what": _EXAMPLES, "why": "empty file"}]


@pytest.mark.parametrize(
    ("message", "document"),
    [
        (r"api_list is an object .*\$\.api_list", {"tool_name": "x", "api_list": {}}),
        (r"an API without a name .*record 0, \$\.api_list\[0\]", _document({"description": "x"})),
        (r"a parameter without a name .*required_parameters\[0\]", _document(_api(required_parameters=[1]))),
    ],
)
def test_wrong_documents_are_named(tmp_path: Path, message: str, document: Json) -> None:
    """Each fault names its file and JSON path."""
    with pytest.raises(InputError, match=message):
        load(write_tree(tmp_path, {_DOCUMENT: document}))
