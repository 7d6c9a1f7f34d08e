"""Tasks made from answer files whose queries are not at hand (ToolBench's example answers).

An answer shows its query and its functions, not the API entries these were made of. Entries are rebuilt as
far as they can be: from a listed API of the same function name, else from the function itself, whose category
is unknown and whose texts are as they were shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from replay.benchmarks.stabletoolbench.importing.answers_in import AnswerRecord
from replay.benchmarks.stabletoolbench.importing.queries import QueryRecord
from replay.benchmarks.stabletoolbench.naming import FINISH, function_name
from replay.core.types import Json

__all__ = ["FROM_ANSWER", "UNKNOWN_CATEGORY", "entries_by_function", "query_of_answer"]

FROM_ANSWER: Final = "query-from-answer"
"""Flag of such a task."""
UNKNOWN_CATEGORY: Final = "unknown"
_TYPES: Final = {"integer": "NUMBER", "boolean": "BOOLEAN"}
_QUOTED: Final = re.compile(r'"([^"]+)"')
_FOR: Final = "_for_"


def entries_by_function(entries: Iterable[Json]) -> dict[str, Json]:
    """API entries by the function name upstream gives them; the first of a name stays."""
    known: dict[str, Json] = {}
    for entry in entries:
        known.setdefault(function_name(entry["api_name"], entry["tool_name"]), entry)
    return known


def query_of_answer(answer: AnswerRecord, known: Mapping[str, Json]) -> QueryRecord:
    """Make a query of what an answer shows; `known` are the API entries at hand by function name."""
    functions = (item.get("function", item) for item in answer.functions if isinstance(item, dict))
    entries = [
        known.get(function["name"]) or _entry(function)
        for function in functions
        if isinstance(function.get("name"), str) and function["name"] != FINISH
    ]
    return QueryRecord(
        id=answer.id,
        split=answer.group,
        query=answer.query,
        entries=tuple(entries),
        upstream={},
        source=answer.file,
    )


def _entry(function: Json) -> dict[str, Json]:
    name = function["name"]
    described = function.get("description")
    text = described if isinstance(described, str) else ""
    quoted = _QUOTED.search(text)
    tool = quoted[1] if quoted and name.endswith(f"{_FOR}{quoted[1]}") else name.partition(_FOR)[2]
    schema = function.get("parameters")
    schema = schema if isinstance(schema, dict) else {}
    properties = schema.get("properties")
    required = schema.get("required") or []
    shown = properties.items() if isinstance(properties, dict) else ()
    parameters = [(key, item) for key, item in shown if isinstance(item, dict)]
    return {
        "category_name": UNKNOWN_CATEGORY,
        "tool_name": tool or name,
        "api_name": name.removesuffix(f"{_FOR}{tool}"),
        "api_description": text,
        "required_parameters": [_parameter(key, item) for key, item in parameters if key in required],
        "optional_parameters": [_parameter(key, item) for key, item in parameters if key not in required],
        "from_function": True,
    }


def _parameter(name: str, item: Json) -> dict[str, Json]:
    kind, described = item.get("type"), item.get("description")
    return {
        "name": name,
        "type": _TYPES.get(kind, "STRING") if isinstance(kind, str) else "STRING",
        "description": described if isinstance(described, str) else "",
        "default": item.get("example_value", ""),
    }
