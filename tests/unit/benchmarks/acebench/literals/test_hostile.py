"""Hostile outputs end in a reading or a named error, in bounded time, and nothing of them ever runs."""

# ruff: noqa: RUF001 - full-width signs and other scripts are the point

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from replay.benchmarks.acebench.literals.arithmetic import MAX_OPERATIONS
from replay.benchmarks.acebench.literals.official import read_official
from replay.benchmarks.acebench.literals.strict import find_call_lists, read_strict
from replay.benchmarks.acebench.literals.syntax import LiteralError
from replay.core.types import Json

_BOMBS = {
    "power": "[f(a=9**9**9)]",
    "power of a negative": "[f(a=(-9)**999999)]",
    "shift": "[f(a=1<<999999999)]",
    "repeat": "[f(a='x'*10**10)]",
    "list repeat": "[f(a=[0]*10**10)]",
    "format": "[f(a='%999999999d' % 1)]",
    "format of many": "[f(a=('%s'*20000) % (('a'*65536,)*20000))]",
    "written out": "[f(a=''+str([['a'*65536]*65536]))]",
    "rounding places": "[f(a=0+round(1,-999999999))]",
    "lists of lists": "[f(a=[[[[0]*60000]*60000]*60000]*60000)]",
    "sum of lists": "[f(a=[]+sum([[0]*60000]*60000,[]))]",
    "comparison of lists": "[f(a=[max([[0]*60000]*60000,[[0]*60000]*60000)]*1)]",
    "many operations": f"[f(a=[{'[0]*2000,' * 7000}])]",
    "chain": f"[f(a={'9*' * 5000}9)]",
    "squares": f"[f(a={'(' * 60}9{')**2' * 60})]",
    "open brackets": "[" * 1_000_000,
    "nested": "[" * 10_000 + "]" * 10_000,
    "nested calls": "[f(a=" * 10_000 + ")]" * 10_000,
    "nested value": f"[f(a={'[' * 10_000}{']' * 10_000})]",
    "unary": f"[f(a={'-' * 50_000}1)]",
    "quotes": "[" + "'" * 500_000,
    "escapes": "[" + "\\'" * 500_000,
    "pairs": "[]" * 500_000,
    "full-width": "［f(a='😀')］",
    "mixed": "好的，调用如下：［f］ [f(城市='北京', emoji='😀')] done.",
    "prose": "a b c " * 170_000,
    "open text": "['" + "a" * 500_000,
    "nul": "[f(a='\0')]",
    "surrogate": "[f(a='\ud800')]",
    "word": f"[{'a' * 500_000}",
    "names": "[" + "a." * 250_000,
    "blanks": "[" + " " * 500_000,
    "digits": f"[f(a={'9' * 100_000})]",
}


def _official(text: str) -> Json:
    return read_official(text, multi_turn=False)


def _session(text: str) -> Json:
    return read_official(text, multi_turn=True)


@pytest.mark.parametrize("name", sorted(_BOMBS))
@pytest.mark.parametrize("read", [_official, _session, read_strict], ids=["official", "session", "strict"])
def test_every_bomb_is_read_or_refused_soon(name: str, read: Callable[[str], Json]) -> None:
    """A list of calls or a LiteralError within seconds, however the text is built."""
    started = time.process_time()
    with suppress(LiteralError):
        assert isinstance(read(_BOMBS[name]), list)
    assert time.process_time() - started < 3.0


def test_operations_are_bounded_exactly() -> None:
    """As many as are stated are computed, one more is refused by name."""
    most = [f"f(a={'1+' * 100}1)"] * (MAX_OPERATIONS // 100)
    assert [("f", {"a": 101})] * len(most) == read_official(f"[{','.join(most)}]", multi_turn=False)
    with pytest.raises(LiteralError, match="more than 400 operations"):
        read_official(f"[{','.join([*most, 'f(a=1+1)'])}]", multi_turn=False)


@pytest.mark.parametrize(
    "source",
    [
        "__import__('pathlib').Path({path!r}).touch()",
        "1+__import__('pathlib').Path({path!r}).touch()",
        "''+str(open({path!r}, 'w'))",
        "[].__class__",
        "len(open({path!r}, 'w'))+1",
    ],
)
def test_code_in_an_output_never_runs(source: str, tmp_path: Path) -> None:
    """The file that the code would make is not there afterwards."""
    made = tmp_path / "made"
    text = f"[f(a={source.format(path=str(made))})]"
    for read in (_official, _session, read_strict):
        with suppress(LiteralError):
            read(text)
    assert not made.exists()


def test_a_call_among_other_scripts_is_found() -> None:
    """Full-width brackets are prose, names and texts of any script are read."""
    assert [[("f", {"城市": "北京", "emoji": "😀"})]] == find_call_lists(_BOMBS["mixed"])
