"""Editing the chromosome: a clipboard and a queue of actions that one call carries out."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

from replay.benchmarks.codexomics.world.biology import clean_dna
from replay.benchmarks.codexomics.world.exports import write_genbank
from replay.benchmarks.codexomics.world.session import Arguments, Handler, Session, SessionFaultError
from replay.core.types import Json

__all__ = ["HANDLERS"]

_MAX_SEQUENCE: Final = 5_000_000


def _queue(session: Session, kind: str, start: int, end: int, bases: str = "") -> dict[str, Json]:
    """Queue an action. `end` under `start` means an insertion before `start`."""
    action = {
        "id": session.next_id("action"),
        "type": kind,
        "start": start,
        "end": end,
        "bases": bases,
        "status": "pending",
    }
    session.add("queue", action)
    return {"action_id": action["id"], "type": kind, "status": "pending", "start": start, "end": end}


def _copy(session: Session, arguments: Arguments) -> dict[str, Json]:
    start, end = session.region(arguments)
    bases = session.bases(start, end)
    if arguments.text("strand", default="+") == "-":
        bases = session.biology.reverse_complement(bases)
    session.data["clipboard"] = {"bases": bases, "start": start, "end": end}
    return {"copied": len(bases), "start": start, "end": end}


def _cut(session: Session, arguments: Arguments) -> dict[str, Json]:
    start, end = session.region(arguments)
    session.data["clipboard"] = {"bases": session.bases(start, end), "start": start, "end": end}
    return _queue(session, "cut", start, end)


def _paste(session: Session, arguments: Arguments) -> dict[str, Json]:
    held = session.data["clipboard"]
    if held is None:
        raise SessionFaultError("the clipboard is empty")
    turned = arguments.flag("reverseComplement", default=False)
    bases = session.biology.reverse_complement(held["bases"]) if turned else held["bases"]
    position = _position(session, arguments)
    return _queue(session, "paste", position, position - 1, bases)


def _insert(session: Session, arguments: Arguments) -> dict[str, Json]:
    bases = clean_dna(arguments.text("sequence", "newSequence"))
    position = _position(session, arguments)
    return _queue(session, "insert", position, position - 1, bases)


def _delete(session: Session, arguments: Arguments) -> dict[str, Json]:
    return _queue(session, "delete", *session.region(arguments))


def _replace(session: Session, arguments: Arguments) -> dict[str, Json]:
    start, end = session.region(arguments)
    return _queue(session, "replace", start, end, clean_dna(arguments.text("newSequence", "sequence")))


def _position(session: Session, arguments: Arguments) -> int:
    session.chromosome(arguments)
    position = arguments.whole("position", "start")
    if not 1 <= position <= len(session.sequence) + 1:
        raise SessionFaultError(f"position {position} is not on the chromosome")
    return position


def _actions(session: Session, arguments: Arguments) -> dict[str, Json]:
    status = arguments.text("status", default="all")
    found = [copy.deepcopy(item) for item in session.data["queue"] if status in ("all", item["status"])]
    return {"actions": found, "count": len(found)}


def _clear(session: Session, arguments: Arguments) -> dict[str, Json]:
    status = arguments.text("status", default="all")
    kept = [item for item in session.data["queue"] if status not in ("all", item["status"])]
    removed = len(session.data["queue"]) - len(kept)
    session.data["queue"] = kept
    return {"removed": removed}


def _clipboard(session: Session, _: Arguments) -> dict[str, Json]:
    held = session.data["clipboard"]
    return {"content": copy.deepcopy(held), "isEmpty": held is None}


def _execute(session: Session, arguments: Arguments) -> dict[str, Json]:
    """Carry out what is pending, from the last place to the first, so that places stay what they were."""
    pending = [item for item in session.data["queue"] if item["status"] == "pending"]
    _refuse_overlaps(pending)
    shift = 0
    for action in sorted(pending, key=lambda item: item["start"], reverse=True):
        before, after = session.sequence[: action["start"] - 1], session.sequence[action["end"] :]
        session.data["sequence"] = before + action["bases"] + after
        change = len(action["bases"]) - (action["end"] - action["start"] + 1)
        _move_features(session, action, change)
        action["status"] = "completed"
        shift += change
    if len(session.sequence) > _MAX_SEQUENCE:
        raise SessionFaultError(f"the chromosome would be over {_MAX_SEQUENCE} bases")
    answer: dict[str, Json] = {
        "executed": len(pending),
        "lengthChange": shift,
        "length": len(session.sequence),
    }
    if arguments.flag("autoSave", default=False):
        answer["file"] = write_genbank(session, arguments.text("filename", default="edited_genome.gbk"))
    return answer


def _refuse_overlaps(pending: list[dict[str, Any]]) -> None:
    placed = sorted(pending, key=lambda item: (item["start"], item["end"]))
    for left, right in pairwise(placed):
        if right["start"] <= left["end"]:
            raise SessionFaultError(f"actions {left['id']} and {right['id']} overlap")


def _move_features(session: Session, action: Mapping[str, Any], change: int) -> None:
    """Features behind an edit move with it; those it removes whole are gone, those it cuts are clipped."""
    start, end = action["start"], action["end"]
    kept = []
    for item in session.data["features"]:
        if item["start"] > end:
            item["start"], item["end"] = item["start"] + change, item["end"] + change
        elif item["end"] >= start:
            if start <= item["start"] and item["end"] <= end:
                continue
            item["end"] = max(item["start"], item["end"] + change)
        kept.append(item)
    session.data["features"] = kept


HANDLERS: Final[Mapping[str, Handler]] = {
    "copy_sequence": _copy,
    "cut_sequence": _cut,
    "paste_sequence": _paste,
    "insert_sequence": _insert,
    "delete_sequence": _delete,
    "replace_sequence": _replace,
    "get_action_list": _actions,
    "clear_actions": _clear,
    "get_clipboard_content": _clipboard,
    "execute_actions": _execute,
}
"""Tool to handler."""
