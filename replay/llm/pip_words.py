"""What pip said when it failed, in a line: what is missing, and whether the index answered at all.

pip writes pages of output and ends with "No matching distribution", also where no index could be reached:
that is said a hundred lines before, if at all. Whoever reads one line needs both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["explain_pip"]

_TOLD_CHARACTERS: Final = 300

# The line that says most, the best mark first.
_MARKS: Final = (
    "No module named",
    "THESE PACKAGES DO NOT MATCH THE HASHES",
    "No matching distribution",
    "could not find",
    "CMake Error",
    "error:",
    "ERROR",
)

_UNREACHED: Final = re.compile(
    r"Connection refused|Name or service not known|Temporary failure in name resolution"
    r"|Network is unreachable|No route to host|timed out|CERTIFICATE_VERIFY_FAILED|Connection reset by peer"
    r"|\b(?:401|403|407|50[0-9]) (?:Client|Server) Error",
    re.IGNORECASE,
)


def explain_pip(log: str) -> str:
    """Choose the line of a log that says why, and add what kept pip from the index."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    if not lines:
        return "nothing"
    chosen = next((line for mark in _MARKS for line in lines if mark in line), lines[-1])
    cause = _cause(lines)
    told = chosen[:_TOLD_CHARACTERS]
    return f"{told} (the index did not answer: {cause})" if cause and cause not in told else told


def _cause(lines: Iterable[str]) -> str:
    found = (_UNREACHED.search(line) for line in lines)
    return next((match.group() for match in found if match), "")
