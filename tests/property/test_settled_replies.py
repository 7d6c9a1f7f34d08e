"""What a dialect says is settled of a reply that grows: a beginning of the words, whatever follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.llm.dialects.json_calls import JsonCalls
from replay.llm.dialects.native import FORMS, NativeCalls
from replay.llm.dialects.react import ReactCalls
from replay.llm.dialects.replies import Reply, before_mark

CALL: Final = '{"name": "f", "arguments": {"a": 1}}'
PIECES: Final = (
    *(" ", "\n", "\t", "words", "Thought:", "Thought", "Action:", "Act", "Action Input:", "<tool_call>"),
    *("</tool_call>", "<tool_", "<", "[TOOL_CALLS]", "[TOOL", "[", "]", "<|python_tag|>", "<|py", "{", "}"),
    *(CALL, f"[{CALL}]", CALL.replace("arguments", "parameters"), '{"text": "hi", "calls": []}', ";", "é"),
)
FORM: Final[dict[str, tuple[Callable[[str], Reply], Callable[[str], str]]]] = {
    **{form.name: (NativeCalls(form).read, NativeCalls(form).settle) for form in FORMS},
    "json-calls": (JsonCalls().read, JsonCalls().settle),
    "react": (ReactCalls().read, ReactCalls().settle),
}


@pytest.mark.parametrize("name", FORM)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=9))
def test_what_is_settled_is_the_beginning_of_the_words(name: str, pieces: list[str]) -> None:
    """Of every beginning of every reply; and of the whole text without white space around it."""
    read, settle = FORM[name]
    text = "".join(pieces)
    words = read(text).content or ""
    for end in range(len(text) + 1):
        settled = settle(text[:end])
        assert words.startswith(settled)
        assert text.strip().startswith(settled)


@pytest.mark.parametrize("name", FORM)
def test_plain_words_are_settled_as_they_come(name: str) -> None:
    """But for the white space at their end, which may be the end of the reply."""
    assert "It rains, and" == FORM[name][1]("It rains, and ")


@given(text=st.text("<ab>", max_size=12), more=st.text("<ab>", max_size=6))
def test_a_mark_is_seen_before_it_is_whole(text: str, more: str) -> None:
    """Nothing before the place where one may begin belongs to a mark that comes later."""
    assert (text + more).partition("<ab>")[0].startswith(before_mark(text, "<ab>"))
