"""Text from the bytes of tokens: characters over several tokens, stop strings over several tokens."""

from __future__ import annotations

import pytest

from replay.llm.llamacpp.output import Output


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_a_stop_string_is_found_however_tokens_cut_it(size: int) -> None:
    """The text ends before the first of them."""
    data = "Sum: é 42\n\nUser: next\n\nUser: more".encode()
    output = Output(("\n\nUser:", "more"))
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert any(output.add(piece) for piece in pieces)
    assert "Sum: é 42" == output.text()


def test_of_stop_strings_in_one_token_the_first_place_counts() -> None:
    """Also when a longer one begins later."""
    output = Output(("stop", "b"))
    assert output.add(b"a b c stop")
    assert "a " == output.text()


def test_without_stop_strings_everything_is_kept() -> None:
    """Bytes that are no character become the replacement character, once the text is asked for."""
    output = Output(())
    assert [False] * 3 == [output.add(piece) for piece in (b"\xe6\x97", b"\xa5", b"\xff")]
    assert "日\ufffd" == output.text()
