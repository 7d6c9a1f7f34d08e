"""Names in answers: borders, containment, order."""

from __future__ import annotations

import pytest

from replay.benchmarks.metatool.scoring.mentions import NameFinder
from tests.unit.benchmarks.metatool.builders import TOOLS


def names_in(text: str, names: tuple[str, ...] = TOOLS, masks: tuple[str, ...] = ()) -> list[str]:
    """Names in order of their first mention."""
    return [name for _, name in NameFinder(names, masks).first(text.lower())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SkyTool", ["SkyTool"]),
        ("use skytool.", ["SkyTool"]),
        ("NewsTool, then SkyTool, then NewsTool", ["NewsTool", "SkyTool"]),
        ("Map&Route", ["Map&Route"]),
        ("Map&Route and Map", ["Map&Route", "Map"]),
        ("SkyTool&NewsTool", ["SkyTool", "NewsTool"]),
        ("snownow", ["snownow"]),
        ("SkyTools, aSkyTool, SkyTool_2", []),
        ("\u4f7f\u7528SkyTool\u5de5\u5177", ["SkyTool"]),
        ("\u3010SkyTool\u3011", ["SkyTool"]),
        ("\u00e9SkyTool", []),
        ("researching", []),
        ("", []),
    ],
)
def test_whole_names_are_found(text: str, expected: list[str]) -> None:
    """In any case; other scripts beside a name do not hide it."""
    assert expected == names_in(text)


def test_a_longer_name_off_the_list_hides_the_listed_one() -> None:
    """Naming another tool is not naming the one inside its name."""
    assert [] == names_in("Map&Route", ("Map",), ("Map&Route",))
    assert ["Map"] == names_in("Map&Route or Map", ("Map",), ("Map&Route",))


def test_mentions_are_bounded() -> None:
    """At most so many of each name, all in order of place."""
    found = NameFinder(TOOLS).every("skytool newstool " * 100, limit=3)
    assert ["SkyTool", "NewsTool"] * 3 == [name for _, name in found]


def test_a_text_that_grows_when_lowered_keeps_its_order() -> None:
    """Places are those of the lower-cased text."""
    assert ["NewsTool", "SkyTool"] == names_in("\u0130\u0130\u0130 NewsTool SkyTool")
