"""The generator of synthetic contract results."""

from __future__ import annotations

import pytest

from replay.benchmarks.codexomics.playing.synthetic import GENERATOR, SyntheticWorld, fnv1a, synthetic_answer
from replay.core.types import CallRequest, Provenance


@pytest.mark.parametrize(("data", "value"), [(b"", 0x811C9DC5), (b"a", 0xE40C292C), (b"foobar", 0xBF9CF968)])
def test_the_hash_is_fnv1a(data: bytes, value: int) -> None:
    """Published vectors of the 32-bit hash come out."""
    assert value == fnv1a(data)


@pytest.mark.parametrize(
    ("tool", "field"),
    [
        ("create_annotation", "id"),
        ("open_new_tab", "tab_id"),
        ("get_coding_sequence", "codingSequence"),
        ("virtual_digest", "fragmentDetails"),
        ("design_primers", "forward"),
        ("fetch_alphafold_structure", "filePath"),
        ("blast_search", "searchId"),
        ("list_tasks", "items"),
        ("anything_else", "id"),
    ],
)
def test_answers_have_the_fields_of_their_domain(tool: str, field: str) -> None:
    """A later step finds what it needs, and every answer names the generator."""
    answer = synthetic_answer(tool, {"k": 1})
    assert (True, GENERATOR) == (field in answer, answer["synthetic"])


def test_other_arguments_give_another_answer() -> None:
    """The answer is a function of tool and arguments."""
    assert synthetic_answer("add_task", {"a": 1}) != synthetic_answer("add_task", {"a": 2})


def test_answers_are_labelled_simulated() -> None:
    """Nothing synthetic passes for executed or recorded."""
    result = SyntheticWorld().handle(CallRequest(benchmark="codexomics", tool="zoom_in@r", arguments={}))
    assert (Provenance.SIMULATED, GENERATOR) == (result.provenance, result.lookup)
