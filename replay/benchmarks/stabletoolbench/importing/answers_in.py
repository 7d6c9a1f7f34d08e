"""Answer files of upstream: raw answers, one file a query, and converted answers, one file a group.

Checks the shape that later readers rely on and says whose answer to which query a file is. Both spellings of
tools and roles pass; what an answer says is not judged here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from replay.benchmarks.stabletoolbench.faults import Faults, json_kind
from replay.core.types import Json, Record

__all__ = [
    "AnswerRecord",
    "answer_calls",
    "is_converted_file",
    "is_raw_answer",
    "read_converted",
    "read_raw_answer",
]

RAW: Final = "raw"
CONVERTED: Final = "converted"
_FILE_NAME: Final = re.compile(r"(?P<id>[^_/]+)_(?P<method>[^/]+)\.json")


class AnswerRecord(Record, frozen=True, kw_only=True):
    """One answer to one query, as a file has it."""

    candidate: str
    group: str
    """Folder or file name that says which queries are meant."""
    id: str
    """Upstream query id."""
    form: str
    """raw or converted."""
    method: str
    query: str
    functions: tuple[Json, ...]
    data: Json
    """The whole object of the file."""
    file: str


def is_raw_answer(value: Json) -> bool:
    """Recognise a raw answer by its `answer_generation`."""
    return isinstance(value, dict) and "answer_generation" in value


def is_converted_file(value: Json) -> bool:
    """Recognise a group of converted answers by some record of it."""
    records = value.values() if isinstance(value, dict) else ()
    return any(isinstance(item, dict) and {"answer", "available_tools"} <= item.keys() for item in records)


def read_raw_answer(file: str, value: Json, faults: Faults) -> AnswerRecord | None:
    """Read one raw answer; id and method come from the file name, candidate and group from the folders.

    Shape:   `<candidate>/<group>/<id>_<method>.json` in StableToolBench, `answer/<group>/<id>_<method>.json`
             in ToolBench, where the method names the candidate.
    """
    parts = file.split("/")
    named = _FILE_NAME.fullmatch(parts[-1])
    if named is None:
        faults.add("a raw answer's file name has no id", file=file, expected="<query id>_<method>.json")
        return None
    place = f"record {named['id']}"
    generation = value["answer_generation"]
    wrong = _wrong_in_raw(value, generation)
    if wrong:
        path, what, expected = wrong
        faults.add(what, file=file, record=named["id"], path=path, expected=expected)
        return None
    folders = parts[:-1]
    shared = len(folders) < 2 or folders[-2] == "answer"
    return AnswerRecord(
        candidate=named["method"] if shared else folders[-2],
        group=folders[-1] if folders else place,
        id=named["id"],
        form=RAW,
        method=named["method"],
        query=generation["query"],
        functions=tuple(generation["function"]),
        data=value,
        file=file,
    )


def read_converted(file: str, value: Json, faults: Faults) -> Iterator[AnswerRecord]:
    """Read the converted answers of a group: `<candidate>/<group>.json`."""
    parts = file.split("/")
    for task_id, record in value.items():
        wrong = _wrong_in_converted(record)
        if wrong:
            path, what, expected = wrong
            faults.add(what, file=file, record=task_id, path=f'$["{task_id}"]{path}', expected=expected)
            continue
        yield AnswerRecord(
            candidate=parts[-2] if len(parts) > 1 else parts[-1].removesuffix(".json"),
            group=parts[-1].removesuffix(".json"),
            id=task_id,
            form=CONVERTED,
            method=record["answer"].get("method", ""),
            query=record["query"],
            functions=tuple(record["available_tools"]),
            data=record,
            file=file,
        )


def answer_calls(value: Json) -> Iterator[tuple[str, str, str, int]]:
    """Walk a raw answer's calls as (function name, argument text, observation, status code), in file order.

    Nodes that are no object, and inputs that never got an observation, are passed over.
    """
    tree = value.get("tree")
    if isinstance(tree, dict):
        yield from _tree_calls(tree.get("tree"))
        return
    for attempt in _objects(value.get("trys")):
        action: Json = None
        for node in _objects(attempt.get("chain")):
            yield from _call(action, node)
            action = node


def _tree_calls(root: Json) -> Iterator[tuple[str, str, str, int]]:
    """Walk with a list instead of recursion: depth is the file's, not ours."""
    waiting: list[tuple[Json, Json]] = [(None, root)]
    while waiting:
        parent, node = waiting.pop()
        if not isinstance(node, dict):
            continue
        yield from _call(parent, node)
        waiting.extend((node, child) for child in reversed(_objects(node.get("children"))))


def _call(action: Json, node: dict[str, Json]) -> Iterator[tuple[str, str, str, int]]:
    if not isinstance(action, dict) or action.get("node_type") != "Action":
        return
    found = (action.get("description"), node.get("description"), node.get("observation"))
    code = node.get("observation_code")
    if node.get("node_type") == "Action Input" and all(isinstance(text, str) for text in found):
        yield (*found, code if isinstance(code, int) else -1)  # type: ignore[misc]  # texts by the test above


def _objects(value: Json) -> list[dict[str, Json]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


Wrong = tuple[str, str, str] | None
"""JSON path, what is wrong there, what was expected."""


def _wrong_in_raw(value: Json, generation: Json) -> Wrong:
    path = "$.answer_generation"
    if not isinstance(generation, dict):
        return path, f"answer_generation is {json_kind(generation)}", "an object"
    if not isinstance(generation.get("query"), str):
        return f"{path}.query", "no query text", "the text of the query"
    if not isinstance(generation.get("function"), list):
        return f"{path}.function", "no function list", "a list of functions"
    if not isinstance(value.get("trys"), list) and not isinstance(value.get("tree"), dict):
        return "$", "neither trys nor a tree", "a CoT answer with trys or a DFS answer with a tree"
    return None


def _wrong_in_converted(record: Json) -> Wrong:
    if not isinstance(record, dict):
        return "", f"a converted answer is {json_kind(record)}", "an object"
    answer = record.get("answer")
    if not isinstance(answer, dict):
        return ".answer", f"answer is {json_kind(answer)}", "an object"
    wanted: tuple[tuple[dict[str, Json], str, type, str, str], ...] = (
        (record, "query", str, "no query text", "the text of the query"),
        (record, "available_tools", list, "no list of tools", "a list of functions"),
        (answer, "final_answer", str, "no final answer text", "a text, empty when there is none"),
        (answer, "answer_details", list, "no answer details", "a list of nodes"),
    )
    for holder, name, kind, what, expected in wanted:
        if not isinstance(holder.get(name), kind):
            return f"{'.answer' if holder is answer else ''}.{name}", what, expected
    return None
