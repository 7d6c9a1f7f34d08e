"""Secrets that a stream cuts in pieces: found in the joined text of each delta, taken out of the pieces."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from replay.core.canonical import parse_json
from replay.core.errors import CanonicalError
from replay.core.types import Json
from replay.tools.redaction import MASK

__all__ = ["cut_events", "is_stream", "mask_events"]

_MAX_DEPTH: Final = 32
_STREAMED: Final = "text/event-stream"

Place = tuple[str | int, ...]


def mask_events(events: Sequence[str], values: Iterable[str]) -> list[str]:
    """Mask the values that stand cut over the texts of several events; other events keep their bytes.

    A text is followed by its place in the events' JSON (`choices[0].delta.content`). The first piece of a
    value becomes the mask, the others become empty.
    """
    wanted = [value for value in values if value]
    if not wanted:
        return list(events)
    documents = [_data_of(event) for event in events]
    changed: set[int] = set()
    for place in _places(documents):
        pieces = [_text_at(document, place) for document in documents]
        for index, text in _take_out(pieces, wanted):
            _put(documents[index], place, text)
            changed.add(index)
    return [
        _with_data(event, documents[index]) if index in changed else event
        for index, event in enumerate(events)
    ]


def cut_events(body: bytes) -> tuple[int, ...]:
    """Lengths of the events of a stream: cut after blank lines, never where packets happened to end."""
    cuts: list[int] = []
    start = at = 0
    while at < len(body):
        end = body.find(b"\n", at)
        end = len(body) if end < 0 else end + 1
        if body[at:end].strip(b"\r\n") == b"" and end > at:
            cuts.append(end - start)
            start = end
        at = end
    return tuple(cuts)


def is_stream(headers: Iterable[tuple[str, str]]) -> bool:
    """Tell by its headers whether an answer is a stream of events."""
    return any(
        name.lower() == "content-type" and value.lower().startswith(_STREAMED) for name, value in headers
    )


def _take_out(pieces: list[str], values: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the pieces that change."""
    joined = "".join(pieces)
    owner = [index for index, piece in enumerate(pieces) for _ in piece]
    shown = list(joined)
    found = False
    for value in values:
        at = joined.find(value)
        while at >= 0:
            found = True
            shown[at : at + len(value)] = [MASK, *[""] * (len(value) - 1)]
            at = joined.find(value, at + len(value))
    if found:
        texts = [""] * len(pieces)
        for index, char in zip(owner, shown, strict=True):
            texts[index] += char
        yield from ((i, text) for i, text in enumerate(texts) if text != pieces[i])


def _data_of(event: str) -> Any:
    lines = [line.partition(":") for line in event.splitlines()]
    text = "\n".join(data.removeprefix(" ") for name, _, data in lines if name == "data")
    try:
        return parse_json(text) if text[:1] in "{[" and text else None
    except CanonicalError:
        return None


def _with_data(event: str, document: Json) -> str:
    kept = [line for line in event.splitlines(keepends=True) if not line.startswith("data")]
    data = f"data: {json.dumps(document, ensure_ascii=False)}\n"
    first = next((index for index, line in enumerate(kept) if not line.strip()), len(kept))
    return "".join([*kept[:first], data, *kept[first:]])


def _places(documents: Iterable[Json]) -> list[Place]:
    found: dict[Place, None] = {}
    for document in documents:
        for place in _walk(document, ()):
            found.setdefault(place)
    return list(found)


def _walk(value: Json, place: Place) -> Iterator[Place]:
    if isinstance(value, str):
        yield place
    elif len(place) < _MAX_DEPTH and isinstance(value, dict):
        for name, item in value.items():
            yield from _walk(item, (*place, name))
    elif len(place) < _MAX_DEPTH and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, (*place, index))


def _text_at(document: Any, place: Place) -> str:
    for part in place:
        try:
            document = document[part]
        except (KeyError, IndexError, TypeError):
            return ""
    return document if isinstance(document, str) else ""


def _put(document: Any, place: Place, text: str) -> None:
    *path, last = place
    for part in path:
        document = document[part]
    document[last] = text
