"""Laws of keys, redaction and resolution."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from replay.core.keys import call_key
from replay.core.types import Json, RepeatPolicy
from replay.tools.keys import KeyRecipe, recipe_for
from replay.tools.misses import MissReporter
from replay.tools.redaction import API_KEYS, CREDENTIALS, PASSWORDS, scrub
from replay.tools.resolver import Resolver, SnapshotSource
from tests.support.answering import MemoryStore, make_answer, make_call, make_spec

RULES = (CREDENTIALS, API_KEYS, PASSWORDS)
NAMES = st.sampled_from(
    ["city", "api_key", "Authorization", "cookie", "password", "id", "url", "$redacted", ""]
)
TEXTS = st.sampled_from(
    [
        "",
        "Oslo",
        "planted-secret",
        "u?api_key=planted-secret&x=1",
        "Authorization: Bearer planted-secret",
        "é",
        "\x00",
    ]
) | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=20,
)
ARGUMENTS = st.dictionaries(NAMES, VALUES, max_size=5) | VALUES
RECIPES = st.sampled_from([recipe_for("stabletoolbench"), KeyRecipe(benchmark="demo")])


@given(ARGUMENTS, RECIPES)
def test_applying_a_recipe_twice_is_applying_it_once(arguments: Json, recipe: KeyRecipe) -> None:
    """lookup(apply(x)) == lookup(apply(apply(x))): what was stored is what is found."""
    once = recipe.apply(make_call(arguments))
    assert call_key(once) == call_key(recipe.apply(once))


@given(ARGUMENTS)
def test_scrubbing_twice_is_scrubbing_once(value: Json) -> None:
    """Masks are left alone."""
    assert scrub(value, RULES) == scrub(scrub(value, RULES), RULES)


@given(ARGUMENTS, RECIPES)
def test_a_recorded_call_is_found(arguments: Json, recipe: KeyRecipe) -> None:
    """Whatever is recorded through the recipe is found by the raw call."""
    store = MemoryStore(make_answer(recipe.apply(make_call(arguments))))
    tools = Resolver((SnapshotSource(store, recipe),), recipe, MissReporter(store)).for_episode("t1")
    assert "rain" == tools.answer(make_call(arguments), step=0).body


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), VALUES, max_size=3))
def test_order_of_names_does_not_change_the_key(arguments: dict[str, Json]) -> None:
    """A call is a JSON value, not a text."""
    backward = dict(reversed(arguments.items()))
    assert call_key(make_call(arguments)) == call_key(make_call(backward))


@given(st.integers(1, 5), st.integers(1, 12))
def test_sticky_last_serves_the_sequence_and_then_its_last(recorded: int, asked: int) -> None:
    """The answers of one episode are 0, 1, ..., n-1, n-1, ..."""
    store = MemoryStore(*(make_answer(body=str(number), sequence=number) for number in range(recorded)))
    recipe = KeyRecipe(benchmark="demo")
    tools = Resolver((SnapshotSource(store, recipe),), recipe, MissReporter(store)).for_episode("t1")
    call = make_call(spec=make_spec(RepeatPolicy.STICKY_LAST))
    served = [tools.answer(call, step=step).body for step in range(asked)]
    assert served == [min(number, recorded - 1) for number in range(asked)]
