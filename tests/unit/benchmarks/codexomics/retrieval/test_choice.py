"""Retrieval: terms, clauses, bonuses, the limit, and recall as a stage."""

from __future__ import annotations

import pytest

from replay.benchmarks.codexomics.importing.registries import RegistryBook
from replay.benchmarks.codexomics.retrieval.choice import LIMIT, Retriever, measure_recall
from replay.benchmarks.codexomics.retrieval.tokens import clauses, expand, stem, terms


def make_retriever(*names: str, agents: bool = False) -> Retriever:
    """A retriever over tools that have a name and a description made of it."""
    book = RegistryBook()
    book.add_file("r.json", {"tools": [{"name": n, "description": n.replace("_", " ")} for n in names]})
    return Retriever(book.tools, agents=agents)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("List the annotations", ["list", "annotation"]),
        ("toggleTrack", ["toggletrack", "toggle", "track"]),
        ("to a of", []),
        ("搜索基因", ["search", "find", "gene", "搜索", "索基", "基因", "搜索基", "索基因", "搜索基因"]),
    ],
)
def test_terms(text: str, found: list[str]) -> None:
    """Short and stop words go, camel case is split and kept whole, Chinese becomes n-grams and English."""
    assert found == terms(text)


@pytest.mark.parametrize(
    ("word", "short"), [("tracks", "track"), ("loading", "load"), ("families", "family"), ("class", "class")]
)
def test_stems(word: str, short: str) -> None:
    """Plurals and -ing are stripped."""
    assert short == stem(word)


def test_actions_have_synonyms() -> None:
    """A query is expanded, its own words first."""
    assert ["delete", "remove"] == expand(["delete"])


def test_clauses_divide_an_instruction() -> None:
    """Then, next, finally, semicolons and line breaks divide."""
    assert ["zoom in", "pan left", "save"] == clauses("zoom in and then pan left; save")


def test_a_tool_named_in_the_text_comes_first() -> None:
    """The full name in the instruction leads."""
    chosen = make_retriever("get_operons", "list_operons", "operon_map").choose(
        "Use list_operons for operons"
    )
    assert "list_operons" == chosen[0]


def test_every_clause_brings_its_best_two() -> None:
    """The last step of a long instruction is not crowded out by many look-alikes of the first."""
    names = [
        f"export_{word}_sequence"
        for word in [
            "a",
            "b",
            "c",
            "d",
            "e",
            "f",
            "g",
            "h",
            "i",
            "j",
            "k",
            "l",
            "m",
            "n",
            "o",
            "p",
            "q",
            "r",
            "s",
            "t",
            "u",
            "v",
            "w",
            "x",
            "y",
        ]
    ]
    retriever = make_retriever(*names, "clear_highlights")
    chosen = retriever.choose("Export the sequence; export the sequence; finally clear highlights")
    assert (True, True) == ("clear_highlights" in chosen, len(chosen) <= LIMIT)


def test_coordination_tools_need_the_agent_system() -> None:
    """They are candidates only when agents are on."""
    found = [
        "balance_load" in make_retriever("balance_load", agents=on).choose("balance load now")
        for on in (False, True)
    ]
    assert [False, True] == found


def test_nothing_that_fits_gives_general_tools() -> None:
    """A request without evidence gets at most ten general tools."""
    chosen = make_retriever("get_current_state", "search_features", "zoom_in").choose("qqqq")
    assert ("get_current_state", "search_features") == chosen


def test_recall_counts_covered_entries() -> None:
    """An entry is covered by any of its acceptable tools."""
    found = measure_recall(["a", "c"], [("a",), ("b", "c"), ("d",)])
    assert (2, 3, 0.667) == (found.covered, found.expected, round(found.value, 3))
