"""ACEBench: scoring a whole result folder against a line-by-line `ast` checker of the official kind.

The opponent is written here from the rules, single-turn and session categories alike: it reads the three
files of a category line by line, parses every output with `ast`, walks the tree and compares; every check
gives a result with its error text, and wrong items make a line of a score file, as upstream's do. It gives
the official verdict only. Ours reads the same result files and scores both readings against tasks that are
already imported, as `replay score` does. Both must agree on every official verdict; neither writes to disk.
"""

from __future__ import annotations

import ast
import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from replay.benchmarks.acebench.benchmark import AceBench
from replay.benchmarks.acebench.importing.importer import AceBenchImporter
from replay.benchmarks.acebench.records import MULTI_TURN, NORMAL
from replay.core.protocols import Settings
from replay.core.types import Task
from tests.support.ace_outcomes import (
    drop_optional,
    gold_outcome,
    perturbed_outcome,
    shift_numbers,
    wrap_texts,
)
from tests.support.data import find_shared_data

__all__ = ["run"]

REPEATS: Final = 5


def run() -> dict[str, object]:
    """Score all normal records of four candidates, and of each alone; best of five, CPU time.

    The candidates: the truth itself; numbers shifted; arguments dropped that are not required; texts wrapped
    in contradicting ones. Where a record has nothing to change they say the truth, so they agree as good
    candidates do. Alone, no task has been decoded and no output has been seen before.
    """
    shared = find_shared_data()
    if shared is None or not (shared / "acebench").is_dir():
        return {"skipped": "no upstream ACEBench data (set REPLAY_TEST_DATA)"}
    result = AceBenchImporter().load(shared / "acebench", {})
    tasks = {task.id: task for task in result.tasks}
    with tempfile.TemporaryDirectory() as name:
        folders = _write_results(Path(name), list(tasks.values()))
        together = _compare(folders, tasks, shared / "acebench")
        alone = {
            folder.name: _compare([folder], tasks, shared / "acebench")["times_faster"] for folder in folders
        }
    return {**together, "times_faster_alone": alone}


def _compare(folders: list[Path], tasks: dict[str, Task], data: Path) -> dict[str, Any]:
    ours_s, ours = _best(lambda: _score_ours(folders, tasks))
    theirs_s, theirs = _best(lambda: _score_theirs(folders, data))
    return {
        "outputs": len(theirs),
        "same_official_verdicts": ours == theirs,
        "ours_both_readings_s": round(ours_s, 3),
        "line_by_line_ast_official_only_s": round(theirs_s, 3),
        "times_faster": round(theirs_s / ours_s, 2),
    }


def _best(work: Callable[[], dict[str, bool]]) -> tuple[float, dict[str, bool]]:
    times, found = [], {}
    for _ in range(REPEATS):
        started = time.process_time()
        found = work()
        times.append(time.process_time() - started)
    return min(times), found


def _write_results(folder: Path, tasks: list[Task]) -> list[Path]:
    """One result folder a candidate."""
    bench = AceBench()
    normal = [task for task in tasks if task.split.split("/")[1] in NORMAL]
    for name, change in (
        ("gold", None),
        ("shifted", shift_numbers),
        ("short", drop_optional),
        ("wrapped", wrap_texts),
    ):
        outcomes = []
        for task in normal:
            changed = None if change is None else perturbed_outcome(task, change)
            outcomes.append((task, 0, changed or gold_outcome(task)))
        bench.write_outputs(outcomes, folder / name, "result")
    return sorted(folder.iterdir())


def _score_ours(folders: list[Path], tasks: dict[str, Task]) -> dict[str, bool]:
    bench, found = AceBench(), {}
    settings = bench.check_settings(Settings())
    for run_folder in folders:
        for output in bench.read_outputs(run_folder, tasks):
            task = tasks[output.task]
            play = bench.evaluate(
                task, bench.outcome_of(output, task), trial=0, settings=settings, reference=None
            )
            try:
                play.send(None)
            except StopIteration as done:
                found[f"{run_folder.name}/{output.task}"] = done.value[0].compat.value == 1.0
    return found


# ---- the opponent --------------------------------------------------------------------------------------

_TYPES: Final[dict[str, type]] = {
    "string": str,
    "any": str,
    "integer": int,
    "int": int,
    "number": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "list": list,
    "object": dict,
    "dict": dict,
}
Said = dict[str, Any]
_NESTED: Final = ["array", "tuple", "object", "objectArray"]


def _score_theirs(folders: list[Path], data: Path) -> dict[str, bool]:
    found = {}
    for run_folder in folders:
        for language in ("en", "zh"):
            for category in NORMAL:
                results = _load(run_folder / f"result_{language}" / f"data_{category}_result.json")
                prompts = _load(data / f"data_{language}" / f"data_{category}.json")
                truths = _load(data / f"data_{language}" / "possible_answer" / f"data_{category}.json")
                lines = []
                for result, prompt, truth in zip(results, prompts, truths, strict=True):
                    said = _check_item(result["result"], prompt, truth["ground_truth"], category)
                    found[f"{run_folder.name}/{language}/{result['id']}"] = said["valid"]
                    if not said["valid"]:
                        lines.append({"id": result["id"], **said, "possible_answer": truth["ground_truth"]})
                "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    return found


def _load(path: Path) -> list[Any]:
    with path.open(encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def _right() -> Said:
    return {"valid": True, "error": [], "error_type": ""}


def _wrong(kind: str, text: str) -> Said:
    return {"valid": False, "error": [text], "error_type": kind}


def _check_item(output: str, prompt: Any, truth: Any, category: str) -> Said:
    try:
        text = "".join(output.split()) if category in MULTI_TURN else _outermost(output)
        body = ast.parse(text, mode="eval").body
        calls = [_resolve(element) for element in body.elts]  # type: ignore[attr-defined]
    except Exception as error:  # noqa: BLE001 - as upstream does
        return _wrong("wrong_output_format", f"cannot be decoded: {error}")
    errors = []
    for pool in truth if isinstance(truth, list) else [truth]:
        said = _check_list(prompt["function"], calls, pool)
        if said["valid"]:
            return said
        errors.append(said)
    return {**errors[0], "model_result": text}


def _outermost(text: str) -> str:
    stack: list[str] = []
    start = 0
    for place, letter in enumerate(text):
        if letter == "[":
            if not stack:
                start = place
            stack.append(letter)
        elif letter == "]" and stack:
            stack.pop()
            if not stack:
                return text[start : place + 1]
    raise ValueError(text)


def _resolve(node: Any) -> Any:  # noqa: PLR0911
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp):
        return -node.operand.value  # type: ignore[attr-defined]
    if isinstance(node, ast.List):
        return [_resolve(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        return {_resolve(key): _resolve(value) for key, value in zip(node.keys, node.values, strict=True)}
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call):
        parts, func = [], node.func
        while isinstance(func, ast.Attribute):
            parts.append(func.attr)
            func = func.value
        if isinstance(func, ast.Name):
            parts.append(func.id)
        return {".".join(reversed(parts)): {item.arg: _resolve(item.value) for item in node.keywords}}
    if isinstance(node, ast.Tuple):
        return tuple(_resolve(item) for item in node.elts)
    raise TypeError(node)


def _count_names(calls: list[Any]) -> dict[str, int]:
    counter: Counter[str] = Counter()
    for call in calls:
        counter.update(call.keys())
    return dict(counter)


def _check_list(tools: list[Any], calls: list[Any], truth: dict[str, Any]) -> Said:
    if len(calls) != len(truth):
        return _wrong("wrong functions number", "not as many calls as in the truth")
    wanted = [{re.sub(r"_\d+$", "", name): arguments} for name, arguments in truth.items()]
    mine, theirs = _count_names(calls), _count_names(wanted)
    for name, count in mine.items():
        if theirs.get(name) != count:
            return _wrong("function_mismatch", f"{name} is not so often in the truth")
    said = _right()
    for full_name, call in zip(truth, wanted, strict=True):
        tool = next((tool for tool in tools if tool["name"] in full_name), None)
        for candidate in calls:
            if next(iter(candidate.keys())) == next(iter(call.keys())):
                said = _check_call(tool, candidate, call)
                if said["valid"]:
                    break
            else:
                said = _wrong("unclear", "another function")
        if not said["valid"]:
            return said
    return said


def _check_call(tool: Any, mine: dict[str, Any], wanted: dict[str, Any]) -> Said:  # noqa: PLR0911
    arguments, truth = next(iter(mine.values())), next(iter(wanted.values()))
    if arguments == {} or tool["parameters"] == {}:
        return _right() if arguments == tool["parameters"] else _wrong("wrong_param", "no parameters")
    properties = tool["parameters"]["properties"]
    if truth == properties:
        return _right()
    if truth == {}:
        return _wrong("wrong_param", "no parameters")
    if tool["name"] not in mine:
        return _wrong("wrong_function_name", f"expected {tool['name']}, real {list(mine)}")
    for name in tool["parameters"]["required"]:
        if name not in arguments:
            return _wrong("lack_args", f"lacks {name}")
    said = _right()
    for name, value in arguments.items():
        if name not in properties or name not in truth:
            return _wrong("addition_args", f"{name} is too much")
        said = _check_value(name, value, truth[name], properties[name])
        if not said["valid"]:
            return said
    return said


def _check_value(name: str, value: Any, truth: Any, detail: Any) -> Said:  # noqa: C901, PLR0911
    declared = detail["type"]
    kind, inner = _TYPES[declared], None
    if declared in _NESTED:
        inner = _TYPES[detail["items"]["type"]] if "type" in detail.get("items", ()) else dict
    said = _check_type(value, truth, kind, inner)
    if not said["valid"] or said["is_variable"]:
        return said
    if kind is dict:
        return _check_dict(name, value, truth)
    if kind is list and inner is dict:
        if len(value) != len(truth):
            return _wrong("value_error:list_dict_count", f"{name}: expected {truth}, real {value}")
        for mine, wanted in zip(value, truth, strict=True):
            said = _check_dict(name, mine, wanted)
            if not said["valid"]:
                return said
        return said
    if kind is str and _standard(truth) not in _standard(value):
        return _wrong("value_error:string", f"{name}: expected {truth}, real {value}")
    if kind is list:
        listed = [_standard(v) if isinstance(v, str) else v for v in value]
        if listed != [_standard(v) if isinstance(v, str) else v for v in truth]:
            return _wrong("value_error:list/tuple", f"{name}: expected {truth}, real {value}")
    return said


def _check_type(value: Any, truth: Any, kind: Any, inner: Any) -> Said:
    said: Said = {**_right(), "is_variable": type(truth) is not kind}
    if value == "true":
        value = True
    if value == "false":
        value = False
    failed = False
    if type(value) is kind:
        if inner is None:
            return said
        for item in truth:
            if type(item) is not list or all(_check_type(v, item, inner, None)["valid"] for v in value):
                return said
        failed = True
    if type(value) is type(truth) or value == truth:
        return {**said, "valid": not failed, "is_variable": True}
    return {**said, **_wrong("type_error", f"expected {kind}, real {type(value)}")}


def _check_dict(name: str, value: Any, truth: Any) -> Said:
    if not isinstance(value, dict) or len(value) != len(truth):
        return _wrong("value_error", f"{name}: expected {truth}, real {value}")
    said = _right()
    for key, mine in value.items():
        if key not in truth:
            return _wrong("value_error", f"{name}: expected {truth}, real {value}")
        if isinstance(truth[key], dict):
            said = _check_dict(name, mine, truth[key])
        else:
            wanted = _standard(truth[key]) if isinstance(truth[key], str) else truth[key]
            given = _standard(mine) if isinstance(mine, str) else mine
            if str(wanted) not in str(given):
                said = _wrong("value_error", f"{name}: expected {truth}, real {value}")
        if not said["valid"]:
            return said
    return said


def _standard(text: str) -> str:
    return re.sub(r"[ \,\.\/\-\_\*\^]", "", text).lower().replace("'", '"')
