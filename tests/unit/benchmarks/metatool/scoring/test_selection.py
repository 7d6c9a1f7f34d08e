"""Choices of one tool and of two, by the published rules, by default and strictly."""

from __future__ import annotations

import pytest

from replay.benchmarks.metatool.scoring.mentions import NameFinder
from replay.benchmarks.metatool.scoring.selection import Reading, read_default, read_literal
from replay.benchmarks.metatool.scoring.strict import read_strict
from tests.unit.benchmarks.metatool.builders import TOOLS

OUTSIDE = ("TideTable",)


def by_default(text: str, *, wanted: int = 1) -> Reading:
    """Read by default."""
    return read_default(text, NameFinder(TOOLS), wanted=wanted, outside=OUTSIDE)


def strictly(text: str, *, wanted: int = 1) -> Reading:
    """Read strictly."""
    return read_strict(text, NameFinder(TOOLS), wanted=wanted, outside=OUTSIDE)


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("SkyTool", ("SkyTool",)),
        ("skytool", ()),
        ("None.", ()),
        ("none", ()),
        ("", ()),
        ("SkyTool or NewsTool", None),
        ("SkyTool. None of the others.", None),
        ("SkyTool, none better", ("SkyTool",)),
        ("aSkyToolz", ("SkyTool",)),
        ("snownow", ("snownow",)),
        ("Map&Route", None),
    ],
)
def test_the_literal_rules_read_one_tool(text: str, literal: tuple[str, ...] | None) -> None:
    """Case-sensitive substrings; what the rules do not speak of is left to a person."""
    assert literal == read_literal(text, TOOLS, wanted=1)


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("NewsTool, SkyTool", ("SkyTool", "NewsTool")),
        ("NewsTool", ("NewsTool",)),
        ("None", ()),
        ("SkyTool, NewsTool, sql_scribe", None),
    ],
)
def test_the_literal_rules_read_two_tools(text: str, literal: tuple[str, ...] | None) -> None:
    """More than two are left to a person."""
    assert literal == read_literal(text, TOOLS, wanted=2)


@pytest.mark.parametrize(
    ("text", "default", "strict"),
    [
        ("SkyTool", "SkyTool", "SkyTool"),
        ("SKYTOOL", "SkyTool", "SkyTool"),
        ("1. SkyTool", "SkyTool", "SkyTool"),
        ("Tool name: SkyTool\nIt fits.", "SkyTool", "SkyTool"),
        ("SkyTool is best. None of the others apply.", "SkyTool", "SkyTool"),
        ("SkyTool: it beats NewsTool", "SkyTool", "SkyTool"),
        ("SkyTool or NewsTool", "SkyTool", "open"),
        ("I would use SkyTool, or NewsTool perhaps", "SkyTool", "open"),
        ("NewsTool isn't applicable; SkyTool is", "NewsTool", "SkyTool"),
        ("Not NewsTool but SkyTool", "NewsTool", "SkyTool"),
        ("sql_scribe is not applicable, so None", "sql_scribe", ""),
        ("Neither NewsTool nor SkyTool fits, so None.", "NewsTool", ""),
        ("None.", "", ""),
        ("none", "", ""),
        ("None. SkyTool would be close", "", ""),
        ("None of the other tools fit but SkyTool does.", "", "SkyTool"),
        ("There isn\u2019t an applicable tool.", "", ""),
        ("No tool in the list can do this.", "", ""),
        ("To search for it, use NewsTool.", "search", "NewsTool"),
        ("search", "search", "search"),
        ("I'd use the search tool", "search", "search"),
        ("I would use `search`", "search", "search"),
        ("Now is right for this", "Now", "Now"),
        ("SkyTool helps you now", "SkyTool", "SkyTool"),
        ("sql\\_scribe", "", "sql_scribe"),
        ("\uff33\uff4b\uff59\uff34\uff4f\uff4f\uff4c", "", "SkyTool"),
        ("Sky Tool", "", "open"),
        ("Happy to help!", "", "open"),
    ],
)
def test_one_tool_is_chosen(text: str, default: str, strict: str) -> None:
    """By default the first one that is named; strictly the one that is meant."""
    first, meant = by_default(text), strictly(text)
    assert default == ", ".join(first.chosen)
    assert strict == ("open" if meant.is_open else ", ".join(meant.chosen))


@pytest.mark.parametrize(
    ("text", "default", "strict"),
    [
        ("SkyTool, NewsTool", {"SkyTool", "NewsTool"}, {"SkyTool", "NewsTool"}),
        ("1. NewsTool 2. SkyTool", {"SkyTool", "NewsTool"}, {"SkyTool", "NewsTool"}),
        ("SkyTool and search", {"SkyTool", "search"}, {"SkyTool", "search"}),
        ("SkyTool to search with", {"SkyTool", "search"}, {"SkyTool"}),
        ("SkyTool and Now for the rest", {"SkyTool", "Now"}, {"SkyTool", "Now"}),
        (
            "SkyTool and NewsTool. sql_scribe is not needed.",
            {"SkyTool", "NewsTool", "sql_scribe"},
            {"SkyTool", "NewsTool"},
        ),
        ("None", set(), set()),
        ("", set(), set()),
    ],
)
def test_two_tools_are_chosen(text: str, default: set[str], strict: set[str]) -> None:
    """By default every one that is named; strictly those that are meant."""
    assert (default, strict) == (
        set(by_default(text, wanted=2).chosen),
        set(strictly(text, wanted=2).chosen),
    )


@pytest.mark.parametrize(
    ("text", "oddities"),
    [
        ("", ("empty",)),
        (" \n\t", ("empty",)),
        ("3", ("index_answer",)),
        ("Tool 3.", ("index_answer",)),
        ("#12", ("index_answer",)),
        ("StormTool", ("fabricated",)),
        ("I would use Google", ("fabricated",)),
        ("tidetable is what you want", ("fabricated",)),
        ("storm_tool could do it", ("fabricated",)),
        ("SkyTool or NewsTool", ("ambiguous",)),
        ("None.", ()),
        ("None, ChatGPT can do it", ()),
        ("That is a good question.", ()),
        ("SkyTool", ()),
    ],
)
def test_what_is_odd_is_flagged(text: str, oddities: tuple[str, ...]) -> None:
    """Flags are reported; they do not change the default reading."""
    assert oddities == by_default(text).oddities


def test_the_number_of_an_index_answer_is_kept() -> None:
    """So that a report can say how many would have been right."""
    assert [3, 0] == [by_default("Tool 3.").index, by_default("SkyTool 3").index]
