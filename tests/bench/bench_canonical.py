"""Request -> key against what others do: `json.dumps(sort_keys=True)` + SHA-256, and rfc8785 + SHA-256.

Convention of this folder: `bench_NAME.py` has `run() -> dict[str, object]`, prints it as JSON when run as a
script, and compares within one run: rounds are interleaved, figures are medians over rounds, so that a busy
machine slows all sides alike.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import sys
import timeit
from collections.abc import Callable
from typing import Final

import rfc8785

from replay.core.canonical import canonical_bytes, digest
from replay.core.keys import completion_key
from replay.core.selftest import key_subjects
from replay.core.types import Json

__all__ = ["run"]

_ROUNDS: Final = 25
_CALLS: Final = 400

REQUEST: Final[Json] = {
    "benchmark": "stabletoolbench",
    "tool": "Data/keyword_analysis_for_Data/querykeywords",
    "arguments": {
        "query": "birthday party ideas",
        "limit": 5,
        "language": "en",
        "filters": {"countries": ["NO", "SE", "DK"], "exact": True, "after": None, "radius_km": 12.5},
    },
    "state": "",
    "note": "an ordinary request body with a sentence in it",
}
"""About 300 bytes, an ordinary tool call."""

WITH_WHOLE_DOUBLES: Final[Json] = REQUEST | {"sampling": {"temperature": 0.0, "top_p": 1.0}}
"""The same with doubles that canonical JSON prints as integers."""

WITH_EMOJI: Final[Json] = REQUEST | {"note": "caf\u00e9 \U0001f602 \ufe0f"}
"""The same with characters beyond ASCII and beyond the basic plane."""

OUTSIDE: Final[Json] = REQUEST | {"tiny": 1e-9, "\U0001f602": 1, "\ufb33": 2}
"""The same with what takes the complete writer: an emoji in a name and a double with an exponent."""


def _json_key(value: Json) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _rfc8785_key(value: Json) -> str:
    return hashlib.sha256(rfc8785.dumps(value)).hexdigest()


def _our_key(value: Json) -> str:
    return digest("api", value)


_SIDES: Final[dict[str, Callable[[Json], str]]] = {
    "ours": _our_key,
    "json_sha256": _json_key,
    "rfc8785_sha256": _rfc8785_key,
}


def _compare(value: Json) -> dict[str, object]:
    rounds: dict[str, list[float]] = {name: [] for name in _SIDES}
    for _ in range(_ROUNDS):
        for name, key in _SIDES.items():
            seconds = timeit.timeit(lambda key=key: key(value), number=_CALLS)  # type: ignore[misc]
            rounds[name].append(seconds / _CALLS * 1e6)
    medians = {name: statistics.median(found) for name, found in rounds.items()}
    return {
        "size_bytes": len(canonical_bytes(value)),
        "microseconds": {name: round(found, 2) for name, found in medians.items()},
        "times_faster_than_json_sha256": round(medians["json_sha256"] / medians["ours"], 2),
        "times_faster_than_rfc8785_sha256": round(medians["rfc8785_sha256"] / medians["ours"], 2),
    }


def _completion_key_us() -> float:
    (subject,) = (found for found in key_subjects() if found.kind == "completion")
    parts = subject.parts
    seconds = [
        timeit.timeit(
            lambda: completion_key(
                parts["model"], parts["request"], seed=parts["seed"], trial=parts["trial"]
            ),
            number=_CALLS,
        )
        for _ in range(_ROUNDS)
    ]
    return round(statistics.median(seconds) / _CALLS * 1e6, 2)


def run() -> dict[str, object]:
    """Measure all sides in one run; ratios above 1 mean that ours is faster."""
    plain = _compare(REQUEST)
    return {
        "bench": "canonical",
        "request": plain,
        "request_with_whole_doubles": _compare(WITH_WHOLE_DOUBLES),
        "request_with_emoji": _compare(WITH_EMOJI),
        "request_outside_the_fast_writer": _compare(OUTSIDE),
        "completion_key_us": _completion_key_us(),
        "bar": "request: times_faster_than_json_sha256 > 1 and times_faster_than_rfc8785_sha256 > 1",
        "passed": all(
            isinstance(ratio := plain[f"times_faster_than_{name}"], float) and ratio > 1
            for name in ("json_sha256", "rfc8785_sha256")
        ),
    }


if __name__ == "__main__":
    json.dump(run(), sys.stdout, indent=2)
    sys.stdout.write("\n")
