"""A small folder in ACEBench's own layout, every category in both languages, in our own sentences."""

# ruff: noqa: RUF001 - Chinese punctuation

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from replay.benchmarks.acebench.records import AGENT, ATOM, CATEGORIES, MULTI_TURN, SPECIAL
from replay.benchmarks.acebench.scoring.carrying_out import carry_out
from replay.core.types import Json, Task
from tests.support.ace_agents import make_record, make_task

__all__ = ["write_ace_folder"]

_ASK: Final = {
    "en": "Book a table for {} at the Blue Door, and tell them that it is a birthday.",
    "zh": "在蓝门餐厅订一张{}人的桌子，并告诉他们这是生日。",
}
_PHONE: Final = {
    "en": "Your name is Eve. Send Frank the message 'See you at {}'. Delete the oldest message if you must.",
    "zh": "你的名字是Eve。你想给Frank发送短信“{}点见”。如有必要，删除最早的短信。",
}
_TRUTHS: Final = {
    "special_incomplete": {"book_table": ["place"]},
    "special_error_param": {"seats": ["many"]},
    "special_irrelevant": "Due to the limitations of the function, I cannot solve this problem.",
}


def write_ace_folder(folder: Path, *, per_category: int = 1) -> Path:
    """Write inputs and truths of every category and return the folder."""
    for language in ("en", "zh"):
        truths = folder / f"data_{language}" / "possible_answer"
        truths.mkdir(parents=True)
        for category in CATEGORIES:
            rows = list(_rows(category, language, per_category))
            name = f"data_{category}.json"
            for path, column in ((truths.parent / name, 0), (truths / name, 1)):
                lines = [json.dumps(row[column], ensure_ascii=False) for row in rows]
                path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def _rows(category: str, language: str, count: int) -> Iterator[tuple[Json, Json]]:
    for number in range(count):
        name = f"{category}_{number}_0" if category in MULTI_TURN else f"{category}_{number}"
        if category in AGENT:
            yield _agent(category, language, name, number)
        else:
            yield _single(category, language, name, number + 2)


def _single(category: str, language: str, name: str, seats: int) -> tuple[Json, Json]:
    question: Json = {
        "id": name,
        "question": f"user: {_ASK[language].format(seats)}\n",
        "function": [_table_tool()],
    }
    if category == "normal_preference":
        question["profile"] = "{'basic_features': {'name': 'Ann'}, 'user_history': {}}"
    else:
        question["time"] = ""
    truth = _TRUTHS[category] if category in SPECIAL else _calls(category, seats)
    return question, {"id": name, "ground_truth": truth}


def _calls(category: str, seats: int) -> Json:
    call: Json = {"place": "Blue Door", "seats": seats}
    if category in ATOM:
        call["birthday"] = True
    return {"book_table": call}


def _agent(category: str, language: str, name: str, number: int) -> tuple[Json, Json]:
    said = f"See you at {number}" if language == "en" else f"{number}点见"
    stones = [
        "[delete_message(message_id=3)]",
        f"[send_message(sender_name='Eve', receiver_name='Frank', message='{said}')]",
    ]
    question = {
        "id": name,
        "question": _PHONE[language].format(number),
        "initial_config": {"BaseApi": {"wifi": True, "logged_in": True}},
        "path": [],
        "function": [_send_tool(), _delete_tool()],
        "involved_classes": ["BaseApi", "MessageApi"],
    }
    state = carry_out(_as_task(category, language, question), stones).result
    return question, {"id": name, "ground_truth": state, "mile_stone": stones}


def _as_task(category: str, language: str, row: Json) -> Task:
    given = {key: value for key, value in row.items() if key not in ("path", "involved_classes")}
    config = given.pop("initial_config")
    classes = row["involved_classes"]
    return make_task(make_record(category, language=language, classes=classes, config=config, **given))


def _tool(name: str, required: list[str], **properties: str) -> Json:
    shown = {key: {"type": kind, "description": key} for key, kind in properties.items()}
    parameters = {"type": "object", "properties": shown, "required": required}
    return {"name": name, "description": name.replace("_", " "), "parameters": parameters}


def _table_tool() -> Json:
    return _tool("book_table", ["place"], place="string", seats="integer", birthday="boolean")


def _send_tool() -> Json:
    names = ["sender_name", "receiver_name", "message"]
    return _tool("send_message", names, sender_name="string", receiver_name="string", message="string")


def _delete_tool() -> Json:
    return _tool("delete_message", ["message_id"], message_id="integer")
