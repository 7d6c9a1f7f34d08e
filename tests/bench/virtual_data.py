"""An invented StableToolBench response cache as large as the benchmark's own, and requests for all of it.

What is known of the real cache, and taken over: the solvable queries use 2,490 APIs; the published cache has
164,980 records of 16,464 APIs, 10 an API, in one file each; the lengths of answers are those of the 33
different observations in the benchmark's example answers, the longest four of which the client had cut. How
the records spread over the APIs is not published: a geometric distribution is used, so that a record lies in
a file of 19 on average.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench.http_load import Ask

__all__ = ["APIS", "RECORDS_AN_API", "Call", "make_asks", "make_calls", "make_request", "write_cache"]

APIS: Final = 2_490
RECORDS_AN_API: Final = 10

_LENGTHS: Final = (
    42, 43, 44, 44, 52, 52, 52, 52, 52, 84, 84, 389, 420, 460, 497, 504, 537,
    562, 617, 681, 735, 802, 827, 918, 951, 981, 993, 996, 1000, 1027, 1027, 1027, 1027,
)  # fmt: skip
_APIS_A_TOOL: Final = 5
_TOOLS_A_CATEGORY: Final = 12
_WORDS: Final = (
    "amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "haven", "inlet", "jetty", "knoll",
    "lagoon", "meadow", "north", "orchard", "prairie", "quarry", "ridge", "summit", "tundra", "upland",
    "valley", "willow", "yonder", "zenith", "harbour", "canyon", "island", "coast", "market", "station",
)  # fmt: skip


class Call(NamedTuple):
    """One recorded call."""

    category: str
    tool: str
    api: str
    arguments: dict[str, object]
    answer: dict[str, object]


def make_calls(*, apis: int = APIS, records: int | None = None, seed: int = 7) -> Iterator[Call]:
    """Yield calls, those of one API together; `records` for each API instead of the distribution."""
    dice = random.Random(seed)  # noqa: S311 (measurement data, not secrets)
    for number in range(apis):
        tool, api = divmod(number, _APIS_A_TOOL)
        category = f"Category_{tool // _TOOLS_A_CATEGORY}"
        count = records or _geometric(dice)
        for record in range(count):
            arguments = {"query": f"{dice.choice(_WORDS)} {dice.choice(_WORDS)}", "page": record}
            yield Call(category, f"tool_{tool}_for_{category}", f"api_{api}", arguments, _make_answer(dice))


def write_cache(folder: Path, calls: list[Call]) -> int:
    """Write calls as the original does, one file an API; return the bytes."""
    files: dict[Path, dict[str, object]] = {}
    for call in calls:
        path = folder / call.category / call.tool / f"{call.api}.json"
        files.setdefault(path, {})[str(call.arguments)] = call.answer
    for path, held in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(held, indent=4))
    return sum(path.stat().st_size for path in files)


def make_asks(calls: list[Call], *, seed: int = 7) -> list[Ask]:
    """Make one HTTP request a call, in random order, with the body that must come back."""
    asks = [_make_ask(call) for call in calls]
    random.Random(seed).shuffle(asks)  # noqa: S311
    return asks


def make_request(fields: dict[str, str]) -> bytes:
    """Make the HTTP request of a call; the two fields that have no effect are added."""
    body = json.dumps({**fields, "strip": "truncate", "toolbench_key": "none"}).encode()
    head = b"POST /virtual HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def _make_ask(call: Call) -> Ask:
    fields = {"category": call.category, "tool_name": call.tool, "api_name": call.api}
    request = make_request({**fields, "tool_input": json.dumps(call.arguments)})
    answer = json.dumps(call.answer, ensure_ascii=False, separators=(",", ":")).encode()
    return Ask(request, answer)


def _geometric(dice: random.Random) -> int:
    count = 1
    while dice.random() > 1 / RECORDS_AN_API:
        count += 1
    return count


def _make_answer(dice: random.Random) -> dict[str, object]:
    """Make an answer whose JSON is about as long as one of the observed ones: an object, or text of one."""
    left = dice.choice(_LENGTHS)
    items: list[object] = []
    while left > 90:
        item = {"id": dice.randrange(10_000), "name": dice.choice(_WORDS), "place": dice.choice(_WORDS)}
        items.append(item)
        left -= len(str(item)) + 2
    held = {"status": "ok", "total": dice.randrange(1000), **({"items": items} if items else {})}
    return {"error": "", "response": str(held) if dice.random() < 0.5 else held}
