"""Sentences around functions: found again wherever an answer shows them."""

from __future__ import annotations

from replay.benchmarks.stabletoolbench.functions import build_functions, nested_form
from replay.benchmarks.stabletoolbench.wording import OWN_WORDING, Wording, read_wording, wording_of
from tests.unit.benchmarks.stabletoolbench.entries import make_entry, make_raw_spec

_THEIRS = Wording(
    tool_sentence='Part of "{tool}" it is.',
    description_sentence="Meaning: <{description}>",
    finish="Stop here",
    final_answer="Text",
    system="Tools. 1.Look\n",
    user="\n{query}\nGo!\n",
)


def test_read_wording_finds_what_functions_were_built_with() -> None:
    """Sentences and prompts come back from the functions and messages they were put into."""
    functions = [entry.upstream for entry in build_functions([make_raw_spec()], wording=_THEIRS)]
    messages = [
        {"role": "system", "content": "Tools. 1.Look\n1.weather_desk: Weather\n"},
        {"role": "user", "content": "\nIs it cold?\nGo!\n"},
    ]
    assert read_wording([make_entry()], functions, messages=messages, query="Is it cold?") == _THEIRS


def test_read_wording_of_nested_functions() -> None:
    """The nested form shows the same sentences."""
    functions = [nested_form(entry.upstream) for entry in build_functions([make_raw_spec()], wording=_THEIRS)]
    found = read_wording([make_entry()], functions, messages=[], query="")
    assert found is not None
    assert found.tool_sentence == _THEIRS.tool_sentence


def test_read_wording_without_finish() -> None:
    """An answer that does not show Finish gives no wording."""
    functions = [build_functions([make_raw_spec()])[0].upstream]
    assert read_wording([make_entry()], functions, messages=None, query="") is None


def test_read_wording_without_a_described_function() -> None:
    """An answer without any description gives no wording."""
    functions = [entry.upstream for entry in build_functions([make_raw_spec(api_description="")])]
    assert read_wording([make_entry(api_description="")], functions, messages=[], query="") is None


def test_read_wording_survives_foreign_shapes() -> None:
    """Whatever is not a function object is passed over."""
    assert read_wording([make_entry()], ["x", {"name": 1}, None], messages=[1, {}], query="q") is None


def test_wording_of_task_data() -> None:
    """Stored wording wins, our own is the default."""
    assert (
        wording_of(
            {
                "wording": {
                    "tool_sentence": "a",
                    "description_sentence": "b",
                    "finish": "c",
                    "final_answer": "d",
                }
            }
        ).finish
        == "c"
    )
    assert wording_of({}) == OWN_WORDING
