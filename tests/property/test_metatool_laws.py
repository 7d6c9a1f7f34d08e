"""Laws of MetaTool's readings, lists and files."""

from __future__ import annotations

import json
import random
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from replay.benchmarks.metatool.importing.embeddings import NeighbourTable
from replay.benchmarks.metatool.importing.lists import ListBuilder
from replay.benchmarks.metatool.importing.outputs import read_outputs
from replay.benchmarks.metatool.importing.upstream_random import python_sample, python_shuffle, seed_python
from replay.benchmarks.metatool.scoring.awareness import read_default, read_literal, read_strict
from tests.unit.benchmarks.metatool.builders import (
    TOOLS,
    answer,
    evaluate,
    make_awareness,
    make_multi,
    make_reliability,
    make_similar,
    make_task,
)

PIECES = st.sampled_from(
    [
        *TOOLS,
        "None",
        "none",
        "yes",
        "no",
        "not",
        "don't",
        "need",
        "tool",
        "and",
        "or",
        ",",
        ".",
        "\n",
        "`",
        "**",
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=6), max_size=12).map(" ".join)
SAMPLES = st.sampled_from([make_awareness(), make_similar(), make_reliability(), make_multi()])


@given(TEXTS, SAMPLES)
def test_every_answer_has_a_verdict_and_every_difference_a_cause(text: str, sample: object) -> None:
    """make_verdict refuses a difference without one."""
    verdict, asked = evaluate(sample, answer(text))  # type: ignore[arg-type]
    assert {verdict.compat.value, verdict.strict.value} <= {0.0, 1.0}
    assert [] == asked


@given(TEXTS)
def test_readings_of_awareness_are_closed(text: str) -> None:
    """Three labels each; white space around changes nothing."""
    assert read_literal(text) in ("yes", "no", "manual")
    assert read_default(text) == read_default(f"\n {text} \n")
    assert read_strict(text) in ("yes", "no", "undetermined")


@given(st.sampled_from(TOOLS), st.text(alphabet=" \n.,;!?*`'\"()", max_size=8), st.booleans())
def test_one_name_with_signs_around_is_chosen(name: str, signs: str, lower: bool) -> None:
    """Whatever its case, by default; spelled right, strictly too."""
    text = f"{signs}{name.lower() if lower else name}{signs}"
    verdict, _ = evaluate(make_similar(name), answer(text))
    assert 1.0 == verdict.compat.value
    assert lower or 1.0 == verdict.strict.value


@given(st.permutations(TOOLS), TEXTS)
def test_the_order_of_the_list_does_not_change_a_score(order: list[str], text: str) -> None:
    """What was shown where is told, not scored."""
    one, _ = evaluate(make_similar(), answer(text))
    other, _ = evaluate(make_similar(), answer(text, order=order))
    assert (one.compat.value, one.strict.value) == (other.compat.value, other.strict.value)


@given(st.integers(0, 2**32 - 1), st.integers(1, 400), st.data())
def test_draws_are_those_of_python(seed: int, size: int, data: st.DataObject) -> None:
    """A sample, then a shuffle, from one stream."""
    count = data.draw(st.integers(0, min(size, 30)))
    theirs = random.Random(seed)  # noqa: S311
    expected = theirs.sample(range(size), count)
    shuffled = list(expected)
    theirs.shuffle(shuffled)
    stream = seed_python(seed)
    ours = python_sample(stream, range(size), count)
    assert expected == ours
    python_shuffle(stream, ours)
    assert shuffled == ours


@settings(max_examples=12)
@given(st.integers(31, 60), st.randoms(use_true_random=False))
def test_lists_keep_their_rules(size: int, noise: random.Random) -> None:
    """Truth first; the removed tool nowhere; both wanted ones once."""
    names = [f"t{number}" for number in range(size)]
    vectors = {name: [noise.random() for _ in range(3)] for name in names}
    lists = ListBuilder(names, NeighbourTable(names, vectors))
    assert "t0" == lists.similar("t0")[0]
    assert "t0" not in lists.reliability("t0")
    assert lists.reliability("t0") == lists.reliability("t0")
    multi = lists.multi("t0", "t1")
    assert len(multi) == len(set(multi))
    assert {"t0", "t1"} <= set(multi)


@given(st.lists(st.text(max_size=20), min_size=1, max_size=5))
def test_what_a_line_file_says_is_what_is_scored(tmp_path_factory: object, texts: list[str]) -> None:
    """Any text of any script."""
    folder: Path = tmp_path_factory.mktemp("outputs")  # type: ignore[attr-defined]
    tasks = {f"t{number}": make_task(make_similar(), f"t{number}") for number in range(len(texts))}
    lines = [{"id": name, "model_output": text} for name, text in zip(tasks, texts, strict=True)]
    path = folder / "x.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert texts == [output.data["answer"] for output in read_outputs(path, tasks)]
