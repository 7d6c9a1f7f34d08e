"""Script files for candidates of the shipped suite."""

from __future__ import annotations

from pathlib import Path

import msgspec

from replay.core.types import Json

__all__ = ["UNRECORDED", "answer_turn", "call_turn", "write_script"]

UNRECORDED = "Atlantis"
"""A city for which the shipped suite has no weather."""


def call_turn(name: str, **arguments: Json) -> Json:
    """A turn that calls one function."""
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


def answer_turn(text: str) -> Json:
    """A turn that finishes with an answer."""
    return call_turn("Finish", return_type="give_answer", final_answer=text)


def write_script(path: Path, task: str, *turns: Json, name: str = "tester") -> Path:
    """Write a script for one task; without turns it asks for weather that was never recorded."""
    said = turns or (
        call_turn("v2_current_conditions_for_skyline_forecast", city=UNRECORDED),
        answer_turn("It is dry in Atlantis."),
    )
    document = {"name": name, "scripts": [{"task": task, "turns": list(said)}]}
    path.write_bytes(msgspec.json.encode(document))
    return path
