"""One line out of what pip wrote."""

from __future__ import annotations

import pytest

from replay.llm.pip_words import explain_pip

REFUSED = (
    "WARNING: Retrying after connection broken by 'NewConnectionError('...: Failed to establish "
    "a new connection: [Errno 111] Connection refused')': /simple/toy/"
)
MISSING = "ERROR: No matching distribution found for toy==1.0"


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("", "nothing"),
        ("first\nlast\n", "last"),
        (f"Looking in indexes\n{MISSING}\nmore", MISSING),
        (f"{REFUSED}\n{MISSING}", f"{MISSING} (the index did not answer: Connection refused)"),
        ("x.c:1: error: no such type\nERROR: Failed building wheel", "x.c:1: error: no such type"),
        ("ERROR: HTTP error 403 Client Error", "ERROR: HTTP error 403 Client Error"),
    ],
    ids=["nothing", "no mark", "missing", "unreached", "compiler", "said once"],
)
def test_the_line_that_says_why_is_chosen(log: str, said: str) -> None:
    """What is missing, and why, if the index was not reached."""
    assert said == explain_pip(log)


def test_a_long_line_is_cut() -> None:
    """The one line stays readable."""
    assert 300 == len(explain_pip("ERROR " + "x" * 1000))
