"""A file of single cases, line by line: {"id", "kind", "input"}, with `expected` or `expected_error` beside.

Numbers agree within 1e-6; identifiers that each world makes anew are told as <uuid4> and not compared.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from replay.benchmarks.toolsandbox.cases.answering import KINDS, answer_case
from replay.benchmarks.toolsandbox.importing.source import MAX_FILE_BYTES
from replay.benchmarks.toolsandbox.records import BENCHMARK
from replay.benchmarks.toolsandbox.scoring.crashes import DefinitionError, OfficialCrashError
from replay.core.canonical import parse_json
from replay.core.errors import CanonicalError, InputError, LimitError
from replay.core.types import Json, Task

__all__ = ["ToolSandboxCases"]

_TOLERANCE: Final = 1e-6
_UUID4: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


class ToolSandboxCases:
    """Scores lines; keeps nothing between them."""

    def score_cases(self, path: Path, tasks: Mapping[str, Task]) -> Iterator[Json] | None:
        """Score every line of a file of cases, in order; None for a file of another form.

        Errors:  InputError for a file that is not UTF-8, LimitError for one that is too large.
        """
        if path.suffix != ".jsonl":
            return None
        if path.stat().st_size > MAX_FILE_BYTES:
            raise LimitError(f"more than {MAX_FILE_BYTES} bytes", where=path.name)
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(f"not UTF-8 at byte {error.start}", where=path.name) from None
        lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
        if not lines or not _is_case(_decode(lines[0][1])):
            return None
        return (_score_line(number, line, tasks) for number, line in lines)


def _is_case(value: Json) -> bool:
    return isinstance(value, dict) and "kind" in value and isinstance(value.get("input"), dict)


def _decode(line: str) -> Json:
    try:
        return parse_json(line)
    except CanonicalError:
        return None


def _score_line(number: int, line: str, tasks: Mapping[str, Task]) -> Json:
    shown: dict[str, Json] = {"line": number, "benchmark": BENCHMARK}
    case = _decode(line)
    if not _is_case(case) or case["kind"] not in KINDS:
        return shown | {"error": f"no case; expected kind (one of {', '.join(KINDS)}) and input"}
    shown |= {"id": str(case.get("id", "")), "kind": case["kind"], "error_type": ""}
    try:
        shown["verdict"] = _plain(answer_case(case["kind"], case["input"], tasks))
    except OfficialCrashError as crash:
        shown |= {"verdict": {"error": crash.kind, "text": crash.text}, "error_type": crash.kind}
    except (InputError, DefinitionError) as error:
        return shown | {"error": str(error)}
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        return shown | {"error": f"the input does not fit its kind: {type(error).__name__}: {error}"}
    if "expected_error" in case:
        wanted: Json = {"error": case["expected_error"], "text": case.get("error_text", "")}
        shown["agrees"] = shown["verdict"] == wanted
    elif "expected" in case:
        shown["agrees"] = not shown["error_type"] and _agrees(shown["verdict"], case["expected"])
    return shown


def _plain(value: Json) -> Json:
    """Hide identifiers of this world, as cases do."""
    return json.loads(_UUID4.sub("<uuid4>", json.dumps(value)))


def _is_names(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _agrees(found: Json, expected: Json, name: str = "") -> bool:
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(
            key in found and _agrees(found[key], value, key) for key, value in expected.items()
        )
    if isinstance(expected, list):
        if name == "auto_guardrails":
            # Upstream's order is that of a set.
            expected = [sorted(one) if _is_names(one) else one for one in expected]
        return isinstance(found, list) and len(found) == len(expected) and all(map(_agrees, found, expected))
    if type(expected) in (int, float) and type(found) in (int, float):
        return math.isclose(found, expected, rel_tol=0.0, abs_tol=_TOLERANCE)
    return bool(found == expected)
