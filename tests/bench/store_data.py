"""Invented API calls and answers for measurements: deterministic, about 362 bytes an answer.

Shaped like recorded answers: many APIs with a fixed set of fields each, values that are identifiers, numbers,
dates and phrases. zstd alone shrinks one about 1.5 times, with a trained dictionary about 6 times: a little
less than real answers, so sizes measured on them are on the safe side.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from replay.core.keys import call_key, call_request
from replay.core.types import CallRequest, Provenance, Snapshot, SnapshotKind

__all__ = ["make_calls", "make_snapshots"]

_WORDS = (
    "amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "haven",
    "inlet", "jetty", "knoll", "lagoon", "meadow", "north", "orchard", "prairie",
    "quarry", "ridge", "summit", "tundra", "upland", "valley", "willow", "yonder",
    "zenith", "harbor", "canyon", "island", "coast", "market", "station", "museum",
    "garden", "bridge", "tower", "castle", "square", "river", "lake", "forest",
    "beach", "airport", "terminal", "gallery", "theatre",
)  # fmt: skip
_CITIES = (
    "Oslo", "Lima", "Quito", "Turin", "Lagos", "Perth", "Osaka", "Leeds",
    "Accra", "Delhi", "Porto", "Hanoi", "Minsk", "Tunis", "Davao", "Cusco",
)  # fmt: skip
_APIS = 48
_ITEM_FIELDS = 5
_ENVELOPES = (
    {"status": "success", "message": "Request was processed", "code": 200},
    {"success": True, "errors": [], "pagination": {"page": 1, "per_page": 20, "total_pages": 1}},
    {"meta": {"status": "ok", "version": "v1.0", "copyright": "example.com"}},
)


def make_calls(count: int, *, seed: int = 7) -> Iterator[tuple[CallRequest, str]]:
    """Yield `count` different calls with their answers as JSON text."""
    dice = random.Random(seed)  # noqa: S311 (measurement data, not secrets)
    apis = [_make_api(dice, number) for number in range(_APIS)]
    for number in range(count):
        tool, envelope, items = apis[int(dice.random() ** 2 * _APIS)]
        arguments = {"query": f"{dice.choice(_CITIES)} {dice.choice(_WORDS)}", "page": number}
        results = [{"id": dice.randrange(10_000), **dice.choice(items)}, dict.fromkeys(items[0])]
        answer = {"error": "", "response": {**envelope, "results": results}}
        request = CallRequest(benchmark="stabletoolbench", tool=tool, arguments=arguments)
        yield request, json.dumps(answer, ensure_ascii=False)


def make_snapshots(count: int, *, seed: int = 7) -> Iterator[Snapshot]:
    """Yield the same calls as snapshots."""
    for request, body in make_calls(count, seed=seed):
        yield Snapshot(
            kind=SnapshotKind.API,
            key=call_key(request),
            scope=request.tool,
            request=call_request(request),
            body=body,
            provenance=Provenance.IMPORTED,
        )


def _make_api(dice: random.Random, number: int) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
    category = dice.choice(("Data", "Travel", "Finance", "Sports", "Location", "Media"))
    tool = f"{category}/{dice.choice(_WORDS)}_{dice.choice(_WORDS)}_api_{number}/search_{dice.choice(_WORDS)}"
    fields = dice.sample(
        ("title", "city", "rating", "price", "updated_at", "image_url", "is_open"), _ITEM_FIELDS
    )
    items = [{field: _make_value(dice, field) for field in fields} for _ in range(40)]
    return tool, dice.choice(_ENVELOPES), items


def _make_value(dice: random.Random, field: str) -> str | float | bool:
    match field:
        case "price" | "rating":
            return round(dice.random() * 100, 1)
        case "is_open":
            return dice.random() < 0.8
        case "updated_at":
            return f"2024-0{dice.randrange(1, 10)}-1{dice.randrange(10)}T00:00:00Z"
        case "city":
            return dice.choice(_CITIES)
        case "image_url":
            return f"https://images.example.com/{dice.choice(_WORDS)}/{dice.choice(_WORDS)}.jpg"
        case _:
            return f"The {dice.choice(_WORDS)} {dice.choice(_WORDS)} of {dice.choice(_CITIES)}"
