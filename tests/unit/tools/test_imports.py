"""Imported answers get their keys; collisions are reported with both answers."""

from __future__ import annotations

import itertools

import pytest

from replay.core.errors import InputError
from replay.core.keys import alias_key, call_key
from replay.core.protocols import ImportedAnswer
from replay.core.types import CallAlias, Json, Origin, Provenance, SnapshotStatus
from replay.tools.imports import answers_to_snapshots
from replay.tools.keys import recipe_for
from tests.support.answering import BENCHMARK, MemoryStore, make_alias, make_call

RECIPE = recipe_for(BENCHMARK)


def make_imported(text: str, arguments: Json, body: str = "1", **changes: Json) -> ImportedAnswer:
    """Build one record of an upstream cache file: its key text, its arguments, its answer."""
    facts: dict[str, Json] = {"source": f"weather/now.json#{text}", "aliases": (make_alias(text),)} | changes
    return ImportedAnswer(request=make_call(arguments), body=body, **facts)


def test_an_imported_answer_keeps_where_it_came_from() -> None:
    """Provenance, origin and source travel with the answer."""
    (snapshot,), _ = answers_to_snapshots([make_imported("{'a': 1}", {"a": 1}, origin="real")], RECIPE)
    assert (Provenance.IMPORTED, Origin.REAL, {"source": "weather/now.json#{'a': 1}"}) == (
        snapshot.provenance,
        snapshot.origin,
        snapshot.meta,
    )


def test_canonical_key_and_alias_lead_to_one_answer() -> None:
    """The upstream key text is a second way to the same snapshot."""
    (snapshot,), _ = answers_to_snapshots([make_imported("{'a': 1}", {"a": 1})], RECIPE)
    assert (call_key(make_call({"a": 1})), (alias_key(BENCHMARK, make_alias("{'a': 1}")),)) == (
        snapshot.key,
        snapshot.aliases,
    )


def test_the_spec_example_gives_two_collisions() -> None:
    """Two argument orders and two ways to say no arguments, each with other answers: 2 collisions, 0 lost."""
    records = [
        make_imported("{'q': 'a', 'n': 1}", {"q": "a", "n": 1}, '"first"', source="f#1"),
        make_imported("{'n': 1, 'q': 'a'}", {"n": 1, "q": "a"}, '"second"', source="f#2"),
        make_imported("{}", {}, '"third"', source="f#3"),
        make_imported("", {}, '{"error": "", "response": ""}', source="f#4"),
        make_imported("{'q': \"it's\"}", {"q": "it's"}, '"fifth"', source="f#5"),
    ]
    snapshots, collisions = answers_to_snapshots(records, RECIPE)
    assert [('"first"', '"second"', True), ('"third"', '{"error": "", "response": ""}', True)] == [
        (found.kept_body, found.lost_body, found.reachable) for found in collisions
    ]
    assert len(snapshots) == 5


def test_the_loser_of_a_collision_is_reached_by_its_alias() -> None:
    """Compat lookups find exactly what upstream would have found."""
    records = [
        make_imported("{'a': 1, 'b': 2}", {"a": 1, "b": 2}, '"kept"', source="f#1"),
        make_imported("{'b': 2, 'a': 1}", {"b": 2, "a": 1}, '"lost"', source="f#2"),
    ]
    snapshots, _ = answers_to_snapshots(records, RECIPE)
    store = MemoryStore(*snapshots)
    found = store.get(alias_key(BENCHMARK, make_alias("{'b': 2, 'a': 1}")))
    assert found is not None
    assert '"lost"' == found.body


def test_equal_answers_are_one_snapshot_with_both_aliases() -> None:
    """A record that only repeats another one is no collision."""
    records = [
        make_imported("{'a': 1, 'b': 2}", {"a": 1, "b": 2}),
        make_imported("{'b': 2, 'a': 1}", {"b": 2, "a": 1}),
    ]
    snapshots, collisions = answers_to_snapshots(records, RECIPE)
    assert (1, 2, ()) == (len(snapshots), len(snapshots[0].aliases), collisions)


def test_an_alias_of_two_answers_is_reported() -> None:
    """Under an old name rule two tools may share one upstream key: both answers are named."""
    shared = CallAlias(label="old-name", tool="weather/old", text="{}")
    records = [
        ImportedAnswer(request=make_call({}, tool="a"), aliases=(shared,), body="1", source="f#1"),
        ImportedAnswer(request=make_call({}, tool="b"), aliases=(shared,), body="2", source="f#2"),
    ]
    snapshots, (collision,) = answers_to_snapshots(records, RECIPE)
    assert ("old-name", "1", "2", True, 2) == (
        collision.alias,
        collision.kept_body,
        collision.lost_body,
        collision.reachable,
        len(snapshots),
    )


def test_an_answer_without_a_request_is_keyed_by_its_first_alias() -> None:
    """What an importer could not parse is still kept and still found as upstream found it."""
    aliases = (make_alias("not json"), make_alias("not json", "compact-json"))
    answer = ImportedAnswer(request=None, aliases=aliases, body="1", source="f#1")
    (snapshot,), _ = answers_to_snapshots([answer], RECIPE)
    keys = [alias_key(BENCHMARK, alias) for alias in aliases]
    assert (keys[0], (keys[1],)) == (snapshot.key, snapshot.aliases)


def test_a_body_that_is_not_json_is_kept_as_text() -> None:
    """NaN is an opaque answer, never null."""
    (snapshot,), _ = answers_to_snapshots([make_imported("{}", {}, '{"x": NaN}')], RECIPE)
    assert ("text", SnapshotStatus.NOT_JSON, '{"x": NaN}') == (snapshot.media, snapshot.status, snapshot.body)


def test_order_of_answers_does_not_matter() -> None:
    """Any order of the same records gives the same snapshots and the same report."""
    records = [
        make_imported("{'a': 1, 'b': 2}", {"a": 1, "b": 2}, "1", source="f#10"),
        make_imported("{'b': 2, 'a': 1}", {"b": 2, "a": 1}, "2", source="f#9"),
        make_imported("{'b':2,'a':1}", {"b": 2, "a": 1}, "3", source="f#11"),
        make_imported("{}", {}, "4", source="g#1"),
    ]
    results = {repr(answers_to_snapshots(order, RECIPE)) for order in itertools.permutations(records)}
    assert len(results) == 1


def test_the_first_record_of_a_file_keeps_the_key() -> None:
    """Record 9 comes before record 10."""
    records = [
        make_imported("{'a': 1, 'b': 2}", {"a": 1, "b": 2}, '"tenth"', source="f#10"),
        make_imported("{'b': 2, 'a': 1}", {"b": 2, "a": 1}, '"ninth"', source="f#9"),
    ]
    _, (collision,) = answers_to_snapshots(records, RECIPE)
    assert '"ninth"' == collision.kept_body


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"request": None, "aliases": ()}, r"neither a request nor an alias \(f#1\)"),
        ({"request": make_call({"x": float("nan")})}, r"cannot be keyed: .* \(f#1\)"),
        ({"status": "odd"}, r"'odd' is not a valid SnapshotStatus \(f#1\)"),
        ({"origin": "odd"}, r"'odd' is not a valid Origin \(f#1\)"),
    ],
)
def test_bad_answers_are_named(changes: dict[str, Json], message: str) -> None:
    """An answer that cannot be kept is an error with its source, never dropped."""
    facts: dict[str, Json] = {"request": make_call({}), "body": "1", "source": "f#1"} | changes
    with pytest.raises(InputError, match=message):
        answers_to_snapshots([ImportedAnswer(**facts)], RECIPE)
