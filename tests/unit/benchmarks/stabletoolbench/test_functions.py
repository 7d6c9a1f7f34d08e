"""Functions a candidate sees: upstream's construction bit for bit, and the strict one."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from replay.benchmarks.stabletoolbench.functions import (
    build_functions,
    find_by_suffix,
    honest_schema,
    nested_form,
)
from replay.core.errors import InputError
from replay.core.types import Json
from tests.unit.benchmarks.stabletoolbench.entries import make_parameter, make_raw_spec


def _compat(**fields: Json) -> Json:
    return build_functions([make_raw_spec(**fields)])[0].upstream


def _strict(**fields: Json) -> Json:
    return build_functions([make_raw_spec(**fields)], rules="strict")[0].upstream


def test_finish_is_last() -> None:
    """Finish follows the APIs and stands for none of them."""
    entries = build_functions([make_raw_spec()])
    assert [entry.shown.name for entry in entries] == ["current_for_weather_desk", "Finish"]
    assert entries[-1].raw is None


def test_unknown_rules_are_refused() -> None:
    """The allowed rules are listed."""
    with pytest.raises(InputError, match="unknown rules 'loose'; expected one of compat, strict"):
        build_functions([], rules="loose")


def test_shown_and_upstream_agree() -> None:
    """The tool spec and the flat function object hold the same text and schema."""
    entry = build_functions([make_raw_spec()])[0]
    shown = {k: getattr(entry.shown, k) for k in ("name", "description", "parameters")}
    assert shown == entry.upstream


def test_shown_keeps_the_identity() -> None:
    """A call of a function is looked up under the identity of its API."""
    assert build_functions([make_raw_spec()])[0].shown.identity == "Weather/weather_desk_for_Weather/current"


@pytest.mark.parametrize(
    ("expected", "kind"),
    [
        ("integer", "NUMBER"),
        ("string", "STRING"),
        ("boolean", "BOOLEAN"),
        ("string", "ARRAY"),
        ("string", "string"),
    ],
)
def test_compat_types(expected: str, kind: str) -> None:
    """Upstream knows three types; everything else is a string."""
    function = _compat(required_parameters=[make_parameter(type=kind)])
    assert expected == function["parameters"]["properties"]["city"]["type"]


@pytest.mark.parametrize(("expected", "start"), [(["", "city"], True), (["city"], False)])
def test_compat_lists_start(expected: list[str], *, start: bool) -> None:
    """StableToolBench starts its lists with an empty string, ToolBench does not."""
    function = build_functions([make_raw_spec()], empty_start=start)[0].upstream
    assert expected == function["parameters"]["required"]


def test_compat_drops_optional_parameters_without_required_ones() -> None:
    """An API without required parameters loses all of them."""
    function = _compat(required_parameters=[], optional_parameters=[make_parameter()])
    assert function["parameters"] == {"type": "object", "properties": {}, "required": [""], "optional": [""]}


def test_compat_keeps_optional_parameters_beside_required_ones() -> None:
    """With a required parameter the optional ones are shown."""
    function = _compat(optional_parameters=[make_parameter("unit")])
    assert function["parameters"]["optional"] == ["", "unit"]


def test_compat_cuts_descriptions() -> None:
    """A parameter's description is cut to 256 characters."""
    function = _compat(required_parameters=[make_parameter(description="x" * 300)])
    assert function["parameters"]["properties"]["city"]["description"] == "x" * 256


def test_compat_replaces_the_api_name_before_it_cuts() -> None:
    """The raw API name in a description becomes the function name, then 256 characters are kept."""
    function = _compat(api_description="Current " + "x" * 300)
    shown = "current_for_weather_desk " + "x" * 231
    assert function["description"].endswith(f'"{shown}"')


def test_compat_without_description_has_one_sentence() -> None:
    """A blank API description adds nothing."""
    function = _compat(api_description="  ")
    assert function["description"] == 'One of the functions of the tool "weather_desk".'


@pytest.mark.parametrize(
    ("expected", "default"),
    [("Oslo", "Oslo"), (0, 0), (False, False), ([1], [1])],
)
def test_compat_example_value(expected: Json, default: Json) -> None:
    """A default with a non-empty text becomes the example value as it is."""
    function = _compat(required_parameters=[make_parameter(default=default)])
    assert expected == function["parameters"]["properties"]["city"]["example_value"]


def test_compat_without_default_has_no_example() -> None:
    """An empty default gives no example value."""
    function = _compat(required_parameters=[make_parameter(default="")])
    assert "example_value" not in function["parameters"]["properties"]["city"]


def test_compat_parameter_names_collide() -> None:
    """The later parameter overwrites the earlier one and the list names both."""
    pair = [make_parameter("Ids", default="a"), make_parameter("ids", default="b")]
    function = _compat(required_parameters=pair)
    assert function["parameters"]["required"] == ["", "ids", "ids"]
    assert function["parameters"]["properties"]["ids"]["example_value"] == "b"


def test_compat_names_may_be_equal() -> None:
    """Two APIs whose names agree in the last 64 characters get one name."""
    tail = "a" * 70
    entries = build_functions([make_raw_spec("x" + tail), make_raw_spec("y" + tail)])
    assert entries[0].shown.name == entries[1].shown.name


def test_strict_names_are_unique_and_short() -> None:
    """Cut, equal and repeated names each get a tail of their own within 64 characters."""
    tail = "a" * 70
    specs = [make_raw_spec("x" + tail), make_raw_spec("y" + tail), make_raw_spec(), make_raw_spec()]
    names = [entry.shown.name for entry in build_functions(specs, rules="strict")]
    assert len(set(names)) == 5
    assert max(map(len, names)) <= 64


def test_strict_names_do_not_depend_on_earlier_calls() -> None:
    """The same specs give the same names."""
    specs = [make_raw_spec("x" * 80)]
    assert build_functions(specs, rules="strict") == build_functions(specs, rules="strict")


def test_strict_name_holds_only_allowed_characters() -> None:
    """The caret that upstream lets through is replaced."""
    assert _strict(api="A^B")["name"].startswith("a_b_for_weather_desk_")


def test_strict_keeps_optional_parameters() -> None:
    """All parameters are shown whether or not one is required."""
    function = _strict(required_parameters=[], optional_parameters=[make_parameter("unit")])
    assert list(function["parameters"]["properties"]) == ["unit"]
    assert function["parameters"]["required"] == []


def test_strict_numbers_colliding_parameters() -> None:
    """Colliding names are numbered; where the shown name differs the raw one is kept."""
    pair = [make_parameter("array[]"), make_parameter("array[]")]
    entry = build_functions([make_raw_spec(required_parameters=pair)], rules="strict")[0]
    assert list(entry.upstream["parameters"]["properties"]) == ["array", "array_2"]
    assert entry.shown.extra == {"renamed": {"array": "array[]", "array_2": "array[]"}}


def test_strict_names_an_empty_parameter() -> None:
    """A name that normalises to nothing is still callable."""
    function = _strict(required_parameters=[make_parameter("???")])
    assert list(function["parameters"]["properties"]) == ["parameter"]


def test_strict_keeps_whole_descriptions() -> None:
    """Nothing is cut."""
    assert _strict(api_description="x" * 300)["description"].endswith("x" * 300)


@pytest.mark.parametrize(
    ("expected", "kind"),
    [
        ({"type": "number"}, "NUMBER"),
        ({"type": "string"}, "STRING"),
        ({"type": "boolean"}, "BOOLEAN"),
        ({"type": "array"}, "ARRAY"),
        ({"type": "object"}, "OBJECT"),
        ({"type": "string", "format": "date"}, "DATE (YYYY-MM-DD)"),
        ({"type": "string", "format": "time"}, "TIME (24-hour HH:MM)"),
        ({"type": "string"}, "ENUM"),
        ({}, "never seen"),
    ],
)
def test_honest_types(expected: Json, kind: str) -> None:
    """Each upstream type becomes what it says; an unknown one allows anything."""
    schema = honest_schema([("a", {"type": kind}, False)])
    assert expected == schema["properties"]["a"]


def test_find_by_suffix_takes_the_first() -> None:
    """A correct name is routed to an earlier function that ends with it, as upstream does."""
    entries = build_functions([make_raw_spec("Advanced search"), make_raw_spec("search")])
    found = find_by_suffix(entries, "search_for_weather_desk")
    assert found is not None
    assert found.shown.name == "advanced_search_for_weather_desk"


def test_find_by_suffix_takes_the_last_of_equal_names() -> None:
    """Of two functions with one name the last API is called, as upstream's table of names has it."""
    entries = build_functions([make_raw_spec("Get it!"), make_raw_spec("Other"), make_raw_spec("Get it?")])
    found = find_by_suffix(entries, "get_it_for_weather_desk")
    assert found is not None
    assert found.raw is not None
    assert found.raw.name == "Get it?"


def test_find_by_suffix_mixes_tool_of_the_first_and_api_of_the_last() -> None:
    """Equal names of two tools give the first one's tool with the last one's API."""
    long_name = "x" * 70
    first = replace(make_raw_spec(long_name), identity=f"A/one_for_A/{long_name}")
    last = replace(make_raw_spec(f"y{long_name}"), identity=f"B/two_for_B/y{long_name}")
    found = find_by_suffix(build_functions([first, last]), build_functions([first])[0].shown.name)
    assert found is not None
    assert found.raw is not None
    assert found.raw.identity == f"A/one_for_A/y{long_name}"


def test_find_by_suffix_knows_no_finish() -> None:
    """Finish is no API."""
    assert find_by_suffix(build_functions([make_raw_spec()]), "Finish") is None


def test_nested_form() -> None:
    """Newer answer files wrap the function."""
    assert nested_form({"name": "a"}) == {"type": "function", "function": {"name": "a"}}
