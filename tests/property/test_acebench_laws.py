"""Laws of ACEBench's readings and checks: fast and complete agree, a truth accepts its own gold answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from replay.benchmarks.acebench.literals import official
from replay.benchmarks.acebench.literals.plain import read_plain
from replay.benchmarks.acebench.literals.strict import read_strict
from replay.benchmarks.acebench.literals.syntax import LiteralError, parse_expression
from replay.benchmarks.acebench.scoring.official_agent import measure_process
from replay.benchmarks.acebench.scoring.strict_calls import check_strict_calls
from replay.core.types import Json
from tests.support.ace_outcomes import call_text

_NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True).filter(
    lambda name: (
        name
        not in {
            "if",
            "in",
            "is",
            "as",
            "or",
            "not",
            "and",
            "for",
            "def",
            "del",
            "try",
            "else",
            "from",
            "with",
            "pass",
            "elif",
        }
    )
)
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=8,
)
_CALLS = st.lists(st.tuples(_NAMES, st.dictionaries(_NAMES, _VALUES, max_size=3)), min_size=1, max_size=3)
_SOURCES = st.lists(
    st.sampled_from(
        [
            "[",
            "]",
            "(",
            ")",
            "{",
            "}",
            ",",
            ":",
            "=",
            " ",
            "\n",
            "'a'",
            '"b"',
            "'",
            '"',
            "f",
            "g(",
            "a=",
            "1",
            "-",
            "2.5",
            "True",
            "None",
            "true",
            "if",
            "\\",
            ".",
            "é",
            "#",
            "0",
        ]
    ),
    max_size=14,
).map(lambda parts: "[" + "".join(parts))


def _complete(text: str) -> Json:
    """Read without the short way."""
    body = parse_expression(text)
    return [official._call(element) for element in body.elts]  # type: ignore[attr-defined]


@given(_SOURCES)
def test_what_is_read_fast_is_what_the_complete_reading_says(text: str) -> None:
    """Nothing is accepted that Python refuses, and no value differs in kind."""
    plain = read_plain(text)
    if plain is not None:
        assert repr(_complete(text)) == repr(plain)


@given(_CALLS)
def test_calls_are_read_back_as_they_were_written(calls: list[tuple[str, dict[str, Json]]]) -> None:
    """In the protocol's own form, by both readings."""
    text = call_text(calls)
    assert calls == read_strict(text)
    assert calls == official.read_official_list(text)


@given(_CALLS, st.randoms(use_true_random=False))
def test_a_truth_accepts_its_calls_in_any_order(
    calls: list[tuple[str, dict[str, Json]]], random: Json
) -> None:
    """One to one, whatever the order; one call more or less is an error."""
    truth = {f"{name}_{number}": arguments for number, (name, arguments) in enumerate(calls)}
    mixed = [(f"{name}", arguments) for name, arguments in calls]
    random.shuffle(mixed)
    assert check_strict_calls(mixed, truth, set) == ""
    assert check_strict_calls(mixed[1:], truth, set) == "wrong functions number"


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_by_name(text: str) -> None:
    """No other exception ever comes out."""
    for read in (read_strict, official.read_official_list):
        try:
            assert isinstance(read(text), list)
        except LiteralError as error:
            assert str(error)  # noqa: PT017 - both ends are fine, a third is not


@given(st.lists(st.sampled_from("abc"), max_size=6), st.lists(st.sampled_from("abc"), min_size=1, max_size=4))
def test_process_grows_with_what_is_done(process: list[str], stones: list[str]) -> None:
    """More messages behind never take a milestone away, and all milestones in order are the whole."""
    share = measure_process(process, [stones])
    assert 0.0 <= share <= measure_process([*process, "a"], [stones]) <= 1.0
    assert measure_process([*stones, *process], [stones]) == 1.0
