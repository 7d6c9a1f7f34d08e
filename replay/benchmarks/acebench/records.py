"""Shapes that every part of this benchmark shares: what a task holds and what an outcome is.

Tasks. `Task.id` is the upstream id with its language before it (`en/normal_atom_bool_1`), `Task.split` is
`<language>/<category>` with the upstream name of the category. Every turn of a session is a task of its own
(`en/normal_multi_turn_user_adjust_3_1`: session 3, turn 1), as upstream scores them.

`Task.data` has the upstream names: language, category, id, question, time, profile, involved_classes,
wording, and as JSON *texts* function, initial_config, path, ground_truth, mile_stone. Texts, because two
things matter to the official checker that canonical JSON does not keep: the order of names, and `5.0`
against `5`.

Outcomes (what an episode ends with and evaluators read):

* normal and special categories: `{"output": TEXT}`, the candidate's whole text;
* agent categories: `{"result": [{CLASS: {ATTRIBUTE: VALUE}}, ...], "process": [MESSAGE, ...]}`: the saved
  attributes of every involved class, in the order of `involved_classes`, empty when nothing was ever
  executed, and the agent's messages that went to execution, raw and in order. Names of attributes and
  integer names inside are texts, as in a result file.

None in place of an outcome means that nothing was produced.
"""

from __future__ import annotations

import json
from typing import Final

import msgspec

from replay.core.errors import InputError
from replay.core.types import Json, Record, Task

__all__ = [
    "AGENT",
    "ATOM",
    "BENCHMARK",
    "CATEGORIES",
    "LANGUAGES",
    "MULTI_TURN",
    "NORMAL",
    "SINGLE_TURN",
    "SPECIAL",
    "AceTask",
    "data_of",
    "read_task",
    "session_of",
    "split_of",
    "task_id",
]

BENCHMARK: Final = "acebench"
LANGUAGES: Final = ("en", "zh")

ATOM: Final = (
    "normal_atom_bool",
    "normal_atom_enum",
    "normal_atom_number",
    "normal_atom_list",
    "normal_atom_object_deep",
    "normal_atom_object_short",
)
SINGLE_TURN: Final = ("normal_single_turn_single_function", "normal_single_turn_parallel_function")
MULTI_TURN: Final = ("normal_multi_turn_user_adjust", "normal_multi_turn_user_switch")
NORMAL: Final = (*ATOM, *SINGLE_TURN, *MULTI_TURN, "normal_similar_api", "normal_preference")
SPECIAL: Final = ("special_incomplete", "special_error_param", "special_irrelevant")
AGENT: Final = ("agent_multi_step", "agent_multi_turn")
CATEGORIES: Final = (*NORMAL, *SPECIAL, *AGENT)
"""All 17 categories by their upstream names."""


class AceTask(Record, frozen=True, kw_only=True):
    """One record of the benchmark, decoded: names in upstream order, numbers as upstream wrote them."""

    id: str
    """Upstream id, without the language."""
    language: str
    category: str
    question: str
    time: str = ""
    profile: str = ""
    """Text of a Python dict, as upstream has it (preference only)."""
    function: tuple[Json, ...] = ()
    initial_config: Json = None
    path: tuple[Json, ...] = ()
    involved_classes: tuple[str, ...] = ()
    ground_truth: Json = None
    mile_stone: Json = None
    """A list of texts, or a list of such lists (alternatives); None outside agent categories."""
    wording: dict[str, str] = msgspec.field(default_factory=dict)
    """Upstream prompt texts by name, the language's ending taken off; empty unless the import read them."""

    @property
    def alternatives(self) -> tuple[tuple[str, ...], ...]:
        """Lists of milestones, any one of which will do."""
        stones = self.mile_stone or []
        if stones and isinstance(stones[0], list):
            return tuple(tuple(stone) for stone in stones)
        return (tuple(stones),)


class _Data(Record, frozen=True, kw_only=True):
    """`Task.data` as it is stored."""

    id: str
    language: str
    category: str
    question: str
    function: str
    ground_truth: str
    time: str = ""
    profile: str = ""
    initial_config: str = "null"
    path: str = "[]"
    involved_classes: tuple[str, ...] = ()
    mile_stone: str = "null"
    wording: dict[str, str] = msgspec.field(default_factory=dict)


_TEXTS: Final = ("function", "initial_config", "path", "ground_truth", "mile_stone")
"""Fields that are stored as JSON texts."""


def task_id(language: str, upstream_id: str) -> str:
    """Id of a task: the upstream id with its language before it."""
    return f"{language}/{upstream_id}"


def split_of(language: str, category: str) -> str:
    """Split of a category in one language."""
    return f"{language}/{category}"


def session_of(task: str) -> str:
    """Session of a multi-turn task: its id without the number of the turn."""
    return task.rpartition("_")[0]


def data_of(record: AceTask) -> Json:
    """`Task.data` of a record: the inverse of `read_task`."""
    fields = msgspec.to_builtins(record)
    texts = {name: json.dumps(fields[name], ensure_ascii=False) for name in _TEXTS}
    return {**fields, **texts, "involved_classes": list(record.involved_classes)}


def read_task(task: Task) -> AceTask:
    """Decode what a task holds.

    Errors:  InputError naming the task and the field that is not as this module states it.
    """
    try:
        data = msgspec.convert(task.data, _Data)
        texts = {name: json.loads(getattr(data, name)) for name in _TEXTS}
        plain = {name: getattr(data, name) for name in data.__struct_fields__}
        return msgspec.convert({**plain, **texts}, AceTask)
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        raise InputError(
            f"the task's data cannot be read: {error}", where=f"task {task.id}", expected="an ACEBench record"
        ) from None
