"""Which recorded answers a simulator is shown."""

from __future__ import annotations

import pytest

from replay.core.keys import alias_key
from replay.core.types import Json, Origin, Provenance, SnapshotStatus
from replay.store.answers import ApiAnswer, make_alias_snapshot
from replay.tools.examples import ExampleBook, render_examples
from tests.support.answering import BENCHMARK, MemoryStore, make_alias, make_answer, make_call

TOOL = "weather/now"


def make_record(city: str, body: str = '{"error": "", "response": "rain"}', **changes: Json) -> Json:
    """Build the record of a call; real unless said otherwise."""
    facts: dict[str, Json] = {"provenance": Provenance.IMPORTED, "origin": Origin.REAL, **changes}
    return make_answer(make_call({"city": city}), body, **facts)


def test_at_most_five_in_order_of_their_keys() -> None:
    """Whatever the order they were stored in."""
    records = [make_record(city) for city in "abcdefgh"]
    forwards = ExampleBook(MemoryStore(*records)).choose(TOOL)
    backwards = ExampleBook(MemoryStore(*reversed(records))).choose(TOOL)
    assert sorted(record.key for record in records)[:5] == [example.key for example in forwards]
    assert forwards == backwards


def test_real_answers_come_before_unknown_ones_and_those_are_labelled() -> None:
    """An answer that upstream may have made up says so in the prompt."""
    store = MemoryStore(
        *(make_record(f"u{number}", origin=Origin.UNKNOWN) for number in range(4)), make_record("real")
    )
    examples = ExampleBook(store).choose(TOOL)
    assert ["real", "unknown", "unknown", "unknown", "unknown"] == [example.origin for example in examples]
    shown = render_examples(examples)
    assert shown.startswith('1. Arguments: {"city":"real"}\nAnswer: {"error"')
    assert 4 == shown.count("(origin unknown)")


@pytest.mark.parametrize(
    "facts",
    [
        {"origin": Origin.SIMULATED},
        {"provenance": Provenance.SIMULATED, "origin": None},
        {"provenance": Provenance.SIMULATED, "origin": Origin.REAL},
        {"status": SnapshotStatus.ERROR},
        {"status": SnapshotStatus.EMPTY},
    ],
)
def test_what_was_made_up_or_failed_is_no_example(facts: dict[str, Json]) -> None:
    """One invention must not lead to another."""
    assert () == ExampleBook(MemoryStore(make_record("a", **facts))).choose(TOOL)


def test_bytes_and_answers_without_known_arguments_are_no_examples() -> None:
    """A prompt shows calls with their arguments, as text."""
    answer = ApiAnswer(body='"x"', origin=Origin.REAL, provenance=Provenance.IMPORTED)
    by_alias = make_alias_snapshot(BENCHMARK, (make_alias("{'city': 'a'}"),), answer)
    assert by_alias.key == alias_key(BENCHMARK, make_alias("{'city': 'a'}"))
    store = MemoryStore(by_alias, make_record("b", "aGVsbG8=", media="bytes"))
    assert () == ExampleBook(store).choose(TOOL)


def test_a_recorded_answer_is_a_real_one() -> None:
    """What this program recorded from a live upstream needs no origin."""
    record = make_record("a", provenance=Provenance.RECORDED, origin=None)
    assert ["real"] == [example.origin for example in ExampleBook(MemoryStore(record)).choose(TOOL)]


def test_long_texts_are_cut() -> None:
    """A prompt stays within its bounds whatever was recorded."""
    record = make_record("c" * 5_000, '"' + "x" * 50_000 + '"')
    (example,) = ExampleBook(MemoryStore(record)).choose(TOOL)
    assert len(example.arguments) < 500
    assert len(example.answer) < 900
    assert example.answer.endswith("...[cut]")


def test_without_examples_the_prompt_says_none() -> None:
    """No empty place in a prompt."""
    assert "(none)" == render_examples(ExampleBook(MemoryStore()).choose(TOOL))
