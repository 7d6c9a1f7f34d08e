"""Recipes leave out what they name, and nothing else."""

from __future__ import annotations

import msgspec
import pytest

from replay.core.keys import call_key
from replay.core.types import Json, ToolSpec
from replay.tools.keys import Exclusion, KeyRecipe, defaults_of, recipe_for
from replay.tools.redaction import CREDENTIALS
from tests.support.answering import make_alias, make_call, make_spec, make_tool_call

STB = recipe_for("stabletoolbench")


def key(arguments: Json, recipe: KeyRecipe = STB) -> str:
    """Key of a call with these arguments under a recipe."""
    return call_key(recipe.apply(make_call(arguments)))


def test_stabletoolbench_leaves_the_toolbench_key_out() -> None:
    """The caller's account key is no part of the call."""
    assert key({"q": 1}) == key({"q": 1, "toolbench_key": "planted"})


def test_stabletoolbench_keeps_passwords() -> None:
    """A password checker is asked about passwords: two of them are two calls."""
    assert key({"password": "a"}) != key({"password": "b"})


def test_nothing_recorded_holds_a_secret() -> None:
    """What a recipe gives to be stored holds none of the planted values."""
    stored = recipe_for("other").apply(
        make_call(
            {"headers": {"Authorization": "planted-1"}, "url": "u?api_key=planted-2", "password": "planted-3"}
        )
    )
    assert b"planted" not in msgspec.json.encode(stored)


def test_an_exclusion_holds_for_its_tools_only() -> None:
    """An exclusion that names tools changes no other tool's keys."""
    recipe = KeyRecipe(
        benchmark="demo",
        exclusions=(Exclusion(path=("nonce",), reason="random", tools=frozenset({"other/tool"})),),
    )
    assert key({"nonce": 1}, recipe) != key({"nonce": 2}, recipe)


def test_a_nested_exclusion_takes_only_its_leaf() -> None:
    """A path goes down through objects and leaves the rest of them."""
    recipe = KeyRecipe(benchmark="demo", exclusions=(Exclusion(path=("meta", "trace"), reason="random"),))
    applied = recipe.apply(make_call({"meta": {"trace": "x", "page": 2}}))
    assert applied.arguments == {"meta": {"page": 2}}


def test_absent_is_not_default_unless_declared() -> None:
    """Without declared defaults a missing argument and its default are two calls."""
    assert key({}) != key({"page": 1})


def test_declared_defaults_are_filled() -> None:
    """With declared defaults both spellings are one call."""
    spec = make_spec(parameters={"properties": {"page": {"default": 1}, "q": {"default": None}}})
    recipe = KeyRecipe(benchmark="demo", defaults=defaults_of([spec]))
    assert key({}, recipe) == key({"page": 1}, recipe)


@pytest.mark.parametrize("parameters", [None, [], {"properties": []}, {"properties": {"page": 3}}])
def test_odd_schemas_declare_no_defaults(parameters: Json) -> None:
    """A schema from outside that is none is no reason to fail."""
    assert defaults_of([ToolSpec(name="x", parameters=parameters)]) == {}


@pytest.mark.parametrize("arguments", [[], "text", 5, None, [1, {"api_key": "x"}]])
def test_arguments_need_not_be_an_object(arguments: Json) -> None:
    """The virtual API accepts lists, texts and numbers; so do its keys."""
    applied = STB.apply(make_call(arguments))
    assert call_key(applied) == call_key(STB.apply(applied))


def test_what_is_no_part_of_the_key_changes_nothing() -> None:
    """The call as written and the spec are for the record and for policy only."""
    bare = make_call()
    dressed = make_call(call=make_tool_call(), spec=make_spec())
    assert call_key(STB.apply(bare)) == call_key(STB.apply(dressed))


@pytest.mark.parametrize(
    "changes",
    [
        {"benchmark": "other"},
        {"tool": "weather/later"},
        {"arguments": {"city": "Oslo", "units": "metric"}},
        {"arguments": {"city": "oslo"}},
        {"arguments": {"City": "Oslo"}},
        {"arguments": {"city": "Oslo "}},
        {"arguments": {}},
        {"state": "sha256:00"},
    ],
)
def test_every_single_change_is_another_key(changes: dict[str, Json]) -> None:
    """Each field of a request is in its key: changing any one of them is a miss."""
    assert call_key(STB.apply(make_call())) != call_key(STB.apply(make_call(**changes)))


def test_aliases_keep_their_text() -> None:
    """An alias is the upstream cache's own text, byte for byte."""
    alias = make_alias("{'api_key': 'x'}")
    assert STB.apply(make_call(aliases=(alias,))).aliases == (alias,)


def test_recipes_are_data() -> None:
    """A recipe can be printed with every name and reason in it."""
    shown = msgspec.to_builtins(STB)
    assert [part["reason"] for part in shown["exclusions"] + shown["redactions"]]


def test_unknown_benchmarks_get_the_general_recipe() -> None:
    """A benchmark without a recipe of its own still has its secrets masked."""
    assert CREDENTIALS in recipe_for("something").redactions
