"""Raw answer -> converted answer, the form that judges read (spec 4.8).

Owns which steps are kept, how they are counted, and the choices upstream leaves to chance: they are made by a
seed derived from the query id, so neither file order nor the order of conversion matters. Both spellings of
tools, roles and calls are read, and null where upstream's converter stops (issues 16 and 34). Source:
toolbench/tooleval/convert_to_answer_format.py and evaluation/dataclass.py at aa4ed9f.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from replay.core.determinism import derive_seed
from replay.core.errors import InputError
from replay.core.types import Json

__all__ = ["CONVERT_SEED", "convert_answer"]

CONVERT_SEED: Final = 42
"""Upstream seeds its generator with it; here it is one part of each choice's own seed."""

_FINISH: Final = "Finish"
_SKIPPED: Final = ("system", "user", "function", "tool")
_OPENING: Final = 2
"""System and user node of every answer; both count as steps and are written blank."""


def convert_answer(raw: Json, *, method: str, query_id: str, seed: int = CONVERT_SEED) -> dict[str, Json]:
    """Convert one raw answer: a valid one from its last history, any other from one walk through its tries.

    Shape:   {"query", "available_tools", "answer": {"method", "total_steps", "final_answer",
             "answer_details"}}.
    Errors:  InputError when the object is no raw answer, naming the JSON path.
    Source:  convert_to_answer_format.py. Differs: the try and the branches of an invalid answer are chosen by
             (seed, method, query id, step); upstream draws them in directory order.
    """
    answer = _field(raw, "answer_generation", dict, "$")
    where = "$.answer_generation"
    if answer.get("valid_data"):
        histories = _field(answer, "train_messages", list, where)
        if not histories:
            raise InputError("a valid answer without histories", where=f"{where}.train_messages")
        steps = list(_read_history(histories[-1], f"{where}.train_messages[-1]"))
    elif "cot" in method.lower():
        steps = list(_read_chain(raw, (seed, "convert-try", method, query_id)))
    elif "dfs" in method.lower():
        steps = list(_read_tree(raw, (seed, "convert-walk", method, query_id)))
    else:
        raise InputError(f"unknown method {method!r}", expected="a name with CoT or DFS in it")
    return {
        "query": answer.get("query", ""),
        "available_tools": answer.get("function", []),
        "answer": {
            "method": method,
            "total_steps": len(steps) + _OPENING,
            "final_answer": answer.get("final_answer", ""),
            "answer_details": _nest(steps),
        },
    }


# ---- valid answers -------------------------------------------------------------------------------------


def _read_history(history: Json, where: str) -> Iterator[dict[str, Json]]:
    """Read the steps of one conversation; text beside a call is dropped."""
    messages = _objects(history, where)
    position = _OPENING
    while position < len(messages):
        message = messages[position]
        role = message.get("role")
        if role == "assistant":
            if isinstance(message.get("function_call"), dict):
                call = message["function_call"]
                reply = messages[position + 1] if position + 1 < len(messages) else {}
                yield _tool_step(call, "" if call.get("name") == _FINISH else reply.get("content"))
                # The message after a call is its reply, whatever its role.
                position += 1
            elif message.get("tool_calls"):
                yield from _read_calls(message["tool_calls"], messages[position + 1 :], where)
            else:
                yield _step("assistant", message.get("content"))
        elif role not in _SKIPPED:
            raise InputError(f"unknown role {role!r}", where=f"{where}[{position}].role")
        position += 1


def _read_calls(calls: Json, later: Sequence[Mapping[str, Json]], where: str) -> Iterator[dict[str, Json]]:
    """Read the calls of one turn up to a Finish; a call without a reply leaves no step."""
    for call in _objects(calls, f"{where}.tool_calls"):
        function = _field(call, "function", dict, f"{where}.tool_calls")
        if function.get("name") == _FINISH:
            yield _tool_step(function, "")
            return
        for message in later:
            if message.get("role") == "tool" and message.get("tool_call_id") == call.get("id"):
                yield _tool_step(function, message.get("content"))
                break


# ---- invalid answers -----------------------------------------------------------------------------------


def _read_chain(raw: Json, seed: tuple[str | int, ...]) -> Iterator[dict[str, Json]]:
    tries = _objects(_field(raw, "trys", list, "$"), "$.trys")
    if not tries:
        return
    chosen = derive_seed(*seed) % len(tries)
    nodes = _objects(_field(tries[chosen], "chain", list, f"$.trys[{chosen}]"), f"$.trys[{chosen}].chain")
    position = 0
    while position < len(nodes):
        node = nodes[position]
        kind = node.get("node_type")
        if kind == "Action":
            given = nodes[position + 1] if position + 1 < len(nodes) else {}
            yield _action_step(node, given)
            position += 1
        elif kind == "Thought":
            yield _step("assistant", node.get("description"))
        else:
            raise InputError(f"unknown node type {kind!r}", where=f"$.trys[{chosen}].chain[{position}]")
        position += 1


def _read_tree(raw: Json, seed: tuple[str | int, ...]) -> Iterator[dict[str, Json]]:
    """Walk from the root to a leaf, one derived choice a step; an action and its input are one step."""
    path = "$.tree.tree"
    node = _field(_field(raw, "tree", dict, "$"), "tree", dict, "$.tree")
    number = 0
    while children := _objects(node.get("children") or [], f"{path}.children"):
        chosen = derive_seed(*seed, number) % len(children)
        node = children[chosen]
        path = f"{path}.children[{chosen}]"
        number += 1
        kind = node.get("node_type")
        if kind == "Thought":
            yield _step("assistant", node.get("description"))
        elif kind == "Action":
            below = _objects(node.get("children") or [], f"{path}.children")
            given = next((child for child in below if child.get("node_type") == "Action Input"), {})
            yield _action_step(node, given)
            node = given
        else:
            raise InputError(f"unknown node type {kind!r}", where=path)


def _action_step(action: Mapping[str, Json], given: Mapping[str, Json]) -> dict[str, Json]:
    call = {"name": action.get("description"), "arguments": given.get("description")}
    return _tool_step(call, given.get("observation"))


# ---- steps ---------------------------------------------------------------------------------------------


def _tool_step(call: Mapping[str, Json], response: Json) -> dict[str, Json]:
    message = {"name": call.get("name"), "arguments": call.get("arguments"), "response": response}
    return _step("tool", {name: "" if value is None else value for name, value in message.items()})


def _step(role: str, message: Json) -> dict[str, Json]:
    return {"role": role, "message": "" if message is None else message, "next": []}


def _nest(steps: Sequence[dict[str, Json]]) -> list[dict[str, Json]]:
    chain = [_step("system", ""), _step("user", ""), *steps]
    for before, after in pairwise(chain):
        before["next"] = [after]
    return chain[:1]


def _field(value: Json, name: str, kind: type, where: str) -> Json:
    found = value.get(name) if isinstance(value, Mapping) else None
    if not isinstance(found, kind):
        raise InputError(
            f"no usable field {name!r}", where=where, expected=f"a raw answer with {name} as {kind.__name__}"
        )
    return found


def _objects(value: Json, where: str) -> list[dict[str, Json]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InputError("not a list of objects", where=where)
    return value
