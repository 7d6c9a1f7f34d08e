"""An unpacked tool response cache: `<category>/<tool>_for_<category>/<api>.json`, one object per API.

Every record is kept with what is known about it: key encoding, origin, the record filter's verdict, oddities.
Values that are no honest JSON (NaN, duplicate names, lone surrogates) are kept as the text they were written
as. Source: server/main.py and server/utils.py at aa4ed9f.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from replay.benchmarks.stabletoolbench.cache_keys import OLD_NAME, CacheKey, parse_cache_key
from replay.benchmarks.stabletoolbench.faults import Faults
from replay.benchmarks.stabletoolbench.importing.answer_book import AnswerBook, RecordedAnswer
from replay.benchmarks.stabletoolbench.importing.record_filter import (
    ACCEPTED,
    check_record,
    is_empty_answer,
    is_failure_record,
    origin_of,
)
from replay.core.canonical import parse_json
from replay.core.errors import CanonicalError
from replay.core.types import CallAlias, Json, Record

__all__ = ["MAX_ANSWER_BYTES", "CacheReader", "CacheRules", "cache_identity", "scan_members"]

MAX_ANSWER_BYTES: Final = 16 << 20
"""The store's bound for one value."""
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_LISTED: Final = 200


class CacheRules(Record, frozen=True, kw_only=True):
    """What an import does with doubtful records."""

    record_filter: str = "flag"
    """flag: keep with the verdict; exclude: leave out what the upstream filter rejects, counted and named."""
    failures: str = "leave-out"
    """leave-out: the simulator's failure records are no answers; keep: replay them as upstream would."""
    origin: str = "auto"
    """auto: as far as the record proves it; or real, simulated, unknown, declared for the whole cache."""


def cache_identity(path: str) -> str | None:
    """Tool identity of a cache file by its path, or None when the path is not one of a cache."""
    parts = path.split("/")[-3:]
    if len(parts) < 3 or not parts[2].endswith(".json") or not parts[1].endswith(f"_for_{parts[0]}"):
        return None
    return f"{parts[0]}/{parts[1]}/{parts[2].removesuffix('.json')}"


def scan_members(text: str) -> Iterator[tuple[str, int, int]]:
    """Walk the members of one JSON object as (key, start, end of the value's text), as Python reads JSON.

    Errors:  ValueError or RecursionError where the text is not one JSON object.
    """
    decode = json.JSONDecoder().raw_decode
    position = _after(text, _skip(text, 0), "{")
    if text[position : position + 1] == "}":
        closing = position
    else:
        while True:
            if text[position : position + 1] != '"':
                raise ValueError(f"no key at character {position}")
            key, end = decode(text, position)
            start = _after(text, _skip(text, end), ":")
            _, end = decode(text, start)
            yield key, start, end
            closing = _skip(text, end)
            if text[closing : closing + 1] == "}":
                break
            position = _after(text, closing, ",")
    rest = _skip(text, closing + 1)
    if rest != len(text):
        raise ValueError(f"more text after the object, at character {rest}")


def _after(text: str, position: int, mark: str) -> int:
    """Position of what follows a mark that must stand here."""
    if text[position : position + 1] != mark:
        raise ValueError(f"cut off or broken at character {position}, no {mark!r}")
    return _skip(text, position + 1)


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return position if match is None else match.end()


class CacheReader:
    """Reads cache files into an answer book and counts what it saw."""

    def __init__(
        self, book: AnswerBook, faults: Faults, *, rules: CacheRules, old_names: frozenset[str] | None
    ) -> None:
        """`old_names` are identities that other APIs had before 2024-09-10; None when no query tells."""
        self._book = book
        self._faults = faults
        self._rules = rules
        self._old_names = old_names
        self.counts: Counter[str] = Counter()
        self.named: dict[str, list[str]] = {}

    def read(self, file: str, text: str) -> int:
        """Read one cache file; returns how many records it has."""
        tool = cache_identity(file)
        if tool is None:
            raise ValueError(file)
        number = 0
        seen: set[str] = set()
        try:
            for key, start, end in scan_members(text):
                if key in seen:
                    self._note("repeated-key", file, number)
                seen.add(key)
                self._record(tool, file, number, key=key, text=text[start:end])
                number += 1
        except (ValueError, RecursionError) as error:
            what = "nested too deep" if isinstance(error, RecursionError) else f"not one JSON object: {error}"
            expected = "one complete JSON object of recorded answers"
            self._faults.add(what, file=file, record=number, expected=expected)
        return number

    def report(self) -> dict[str, Json]:
        """Counts by kind, and where the odd ones are; long lists are cut and counted."""
        named = {kind: places[:_LISTED] for kind, places in sorted(self.named.items())}
        return {"counts": dict(sorted(self.counts.items())), "named": named}

    def _note(self, kind: str, file: str, number: int) -> None:
        self.counts[kind] += 1
        self.named.setdefault(kind, []).append(f"{file}, record {number}")

    def _record(self, tool: str, file: str, number: int, *, key: str, text: str) -> None:
        size = len(text.encode())
        if size > MAX_ANSWER_BYTES:
            expected = f"at most {MAX_ANSWER_BYTES} bytes"
            path = f"$[{json.dumps(key[:80])}]"
            self._faults.add(
                f"answer of {size} bytes", file=file, record=number, path=path, expected=expected
            )
            return
        try:
            key.encode()
        except UnicodeEncodeError:
            self._faults.add("a lone surrogate in a key", file=file, record=number, expected="Unicode text")
            return
        answer, body, problem = decode_answer(text)
        verdict = check_record(answer)
        self.counts["records"] += 1
        self.counts["filter-accepts" if verdict == ACCEPTED else "filter-rejects"] += 1
        if is_failure_record(answer) and self._rules.failures == "leave-out":
            self._note("failure-record-left-out", file, number)
            return
        if verdict != ACCEPTED and self._rules.record_filter == "exclude":
            self._note("excluded-by-filter", file, number)
            return
        self._add(tool, f"{file}, record {number}", (file, number), key=key, found=(answer, body, problem))

    def _add(
        self, tool: str, source: str, place: tuple[str, int], *, key: str, found: tuple[Json, str, str]
    ) -> None:
        answer, body, problem = found
        parsed = parse_cache_key(key)
        flags = _flags(answer, parsed, problem)
        for flag in flags:
            self._note(flag, *place)
        self.counts[f"key-{parsed.label}"] += 1
        origin = origin_of(answer) if self._rules.origin == "auto" else self._rules.origin
        self.counts[f"origin-{origin}"] += 1
        meta: dict[str, Json] = {"key": key, "filter": check_record(answer)}
        if flags:
            meta["flags"] = list(flags)
        details = [text for text in (parsed.problem, parsed.unusual, problem) if text]
        if details:
            meta["detail"] = "; ".join(details)
        aliases = [CallAlias(label=parsed.label, tool=tool, text=key)]
        if self._old_names is None or tool in self._old_names:
            aliases.append(CallAlias(label=OLD_NAME, tool=tool, text=key))
        recorded = RecordedAnswer(
            tool=tool,
            arguments=parsed.arguments,
            keyed=not parsed.problem,
            aliases=tuple(aliases),
            body=body,
            media="text" if problem else "json",
            origin=origin,
            status=answer_status(answer, problem),
            source=source,
            meta=meta,
        )
        self._book.add(recorded)


def decode_answer(text: str) -> tuple[Json, str, str]:
    """Decode one answer: (value as Python reads it, text to store, why it is not honest JSON)."""
    try:
        value = parse_json(text)
    except CanonicalError as error:
        return json.loads(text), text, error.what
    return value, json.dumps(value, ensure_ascii=False, separators=(",", ":")), ""


def _flags(answer: Json, key: CacheKey, problem: str) -> tuple[str, ...]:
    shaped = isinstance(answer, dict)
    found = {
        "unreadable-key": bool(key.problem),
        "unusual-key": bool(key.unusual),
        "not-json": bool(problem),
        "not-an-object": not shaped,
        "no-error-field": shaped and "error" not in answer,
        "no-response-field": shaped and "response" not in answer,
        "empty-answer": is_empty_answer(answer),
        "failure-record": is_failure_record(answer),
    }
    return tuple(name for name, holds in found.items() if holds)


def answer_status(answer: Json, problem: str) -> str:
    if problem:
        return "not-json"
    if not isinstance(answer, dict) or "response" not in answer or answer.get("error", None) != "":
        return "error"
    return "empty" if is_empty_answer(answer) else "ok"
