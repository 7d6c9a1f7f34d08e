"""Builders of upstream-shaped folders, small and in our own words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from replay.benchmarks.stabletoolbench.functions import build_functions
from replay.benchmarks.stabletoolbench.importing.importer import StableToolBenchImporter
from replay.core.protocols import ImportResult
from replay.core.types import Json
from tests.unit.benchmarks.stabletoolbench.entries import make_entry, make_raw_spec

__all__ = [
    "CACHE_FILE",
    "QUERY",
    "QUERY_FILE",
    "load",
    "make_converted",
    "make_query",
    "make_raw",
    "write_tree",
]

QUERY = "Is it cold in Oslo?"
QUERY_FILE = "solvable_queries/test_instruction/G1_instruction.json"
CACHE_FILE = "tool_response_cache/Weather/weather_desk_for_Weather/current.json"
_IDENTITY = "current_for_weather_desk"


def write_tree(root: Path, files: Mapping[str, Json]) -> Path:
    """Write files below a folder: bytes and texts as they are, everything else as JSON."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            text = content if isinstance(content, str) else json.dumps(content, indent=4)
            path.write_text(text, encoding="utf-8")
    return root


def load(root: Path, **options: Json) -> ImportResult:
    """Import a folder."""
    return StableToolBenchImporter().load(root, options)


def make_query(query_id: Json = 7, **fields: Json) -> dict[str, Json]:
    """One query record."""
    record: dict[str, Json] = {
        "query": QUERY,
        "query_id": query_id,
        "api_list": [make_entry()],
        "relevant APIs": [["Weather Desk", "Current"]],
    }
    return {**record, **fields}


def _functions() -> list[Json]:
    return [entry.upstream for entry in build_functions([make_raw_spec()], empty_start=False)]


def make_raw(*calls: tuple[str, str, int], query: str = QUERY) -> dict[str, Json]:
    """One CoT raw answer of calls as (argument text, observation, code) of the one function."""
    chain: list[Json] = []
    for arguments, observation, code in calls:
        chain.append({"node_type": "Action", "description": _IDENTITY})
        chain.append(
            {
                "node_type": "Action Input",
                "description": arguments,
                "observation": observation,
                "observation_code": code,
            }
        )
    generation = {
        "valid_data": False,
        "final_answer": "",
        "function": _functions(),
        "train_messages": [],
        "query": query,
    }
    return {"win": False, "trys": [{"chain": chain, "win": False}], "answer_generation": generation}


def make_converted(final_answer: str = "Yes", query: str = QUERY) -> dict[str, Json]:
    """One converted answer."""
    answer = {"method": "CoT@1", "total_steps": 2, "final_answer": final_answer, "answer_details": []}
    return {"query": query, "available_tools": _functions(), "answer": answer}
