"""Finish: answers, give-ups and mistakes, leniently under compat rules, plainly under strict ones."""

from __future__ import annotations

import pytest

from replay.benchmarks.stabletoolbench.playing.finish import read_finish
from replay.benchmarks.stabletoolbench.playing.statuses import UpstreamFailureError

_ANSWER = '{"return_type": "give_answer", "final_answer": "sunny"}'
_GIVE_UP = '{"return_type": "give_up_and_restart"}'


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("code", "text"),
    [
        (3, _ANSWER),
        (3, '{"return_type": "give_answer", "final_answer": "two\nlines\tand a tab"}'),
        (4, _GIVE_UP),
        (4, '{"return_type": "give_up_and_restart", "final_answer": "ignored"}'),
        (2, "{}"),
        (2, ""),
        (2, "no JSON at all"),
        (2, '{"final_answer": "sunny"}'),
        (2, '{"return_type": "give_answer"}'),
        (2, '{"return_type": "done", "final_answer": "sunny"}'),
        (2, '{"return_type": null, "final_answer": "sunny"}'),
        (2, '{"return_type": ["give_answer"], "final_answer": "sunny"}'),
        (2, "[" * 100_000),
    ],
)
def test_codes_that_both_rules_share(code: int, text: str, *, strict: bool) -> None:
    """An answer is 3, a give-up 4, and each mistake 2."""
    assert code == read_finish(text, strict=strict).code


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (3, '{"return_type": "give_answer", "final_answer": "never closed'),
        (3, '{"return_type": "give_answer", "final_answer": "a "quoted" word"}'),
        (4, 'I stop. "return_type": "give_up_and_restart"'),
        (2, '{"return_type": "something", "final_answer": "x'),
        (2, '{"return_type": "give_answer", final'),
        (2, '{"return_type":"give_answer","final_answer":"no spaces, not closed'),
    ],
)
def test_compat_searches_broken_text(code: int, text: str) -> None:
    """Text that is not JSON is searched for the two fields as upstream spells them."""
    assert code == read_finish(text, strict=False).code


@pytest.mark.parametrize(
    "text",
    [
        '{"return_type": "give_answer", "final_answer": "never closed',
        '{"return_type": "give_answer", "final_answer": "  "}',
        '{"return_type": "give_answer", "final_answer": null}',
        '{"return_type": "give_answer", "final_answer": {"a": 1}}',
        '["return_type"]',
    ],
)
def test_strict_wants_an_answer_in_words(text: str) -> None:
    """Strict takes neither broken text nor an answer that is blank or no text."""
    assert read_finish(text, strict=True).code == 2


@pytest.mark.parametrize("text", ["[]", "null", "5", '"give_answer"'])
def test_compat_fails_where_upstream_fails(text: str) -> None:
    """JSON that is no object stops upstream's program."""
    with pytest.raises(UpstreamFailureError, match="finish-arguments"):
        read_finish(text, strict=False)


def test_observations_are_upstreams_bytes() -> None:
    """The three texts a candidate reads are those of recorded conversations."""
    assert read_finish(_ANSWER, strict=False).observation == (
        '{"response":"successfully giving the final answer."}'
    )
    assert read_finish(_GIVE_UP, strict=False).observation == '{"response":"chose to give up and restart"}'
    assert read_finish("{}", strict=False).observation == '{error:"must have "return_type""}'
