"""ACEBench: scoring a whole result folder against a line-by-line `ast` checker of the official kind.

The opponent is written here from the rules, single-turn and session categories alike: it reads the three files
of a category line by line, parses every output with `ast`, walks the tree and compares. It gives the official
verdict only; ours reads the same result files, scores both readings against tasks that are already imported,
as `replay score` does. Both must agree on every official verdict. Neither side writes anything.
"""

from __future__ import annotations

import ast
import json
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from replay.benchmarks.acebench.benchmark import AceBench
from replay.benchmarks.acebench.importing.importer import AceBenchImporter
from replay.benchmarks.acebench.records import MULTI_TURN, NORMAL
from replay.core.types import Task
from tests.support.ace_outcomes import drop_optional, gold_outcome, perturbed_outcome, shift_numbers
from tests.support.data import find_shared_data

__all__ = ["run"]

REPEATS: Final = 5


def run() -> dict[str, object]:
    """Score all normal records with gold, shifted and shortened outputs; best of five, CPU time."""
    shared = find_shared_data()
    if shared is None or not (shared / "acebench").is_dir():
        return {"skipped": "no upstream ACEBench data (set REPLAY_TEST_DATA)"}
    import tempfile  # noqa: PLC0415 - only here

    result = AceBenchImporter().load(shared / "acebench", {})
    tasks = {task.id: task for task in result.tasks}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_results(folder, list(tasks.values()))
        ours_s, ours = _best(lambda: _score_ours(folder, tasks))
        theirs_s, theirs = _best(lambda: _score_theirs(folder, shared / "acebench"))
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


def _write_results(folder: Path, tasks: list[Task]) -> None:
    """Three result folders: the truth itself, numbers shifted, optional arguments dropped."""
    bench = AceBench()
    normal = [task for task in tasks if task.split.split("/")[1] in NORMAL]
    for name, change in (("gold", None), ("shifted", shift_numbers), ("short", drop_optional)):
        outcomes = []
        for task in normal:
            changed = None if change is None else perturbed_outcome(task, change)
            outcomes.append((task, 0, changed or gold_outcome(task)))
        bench.write_outputs(outcomes, folder / name, "result")


def _score_ours(folder: Path, tasks: dict[str, Task]) -> dict[str, bool]:
    bench, found = AceBench(), {}
    settings = None
    for run_folder in sorted(folder.iterdir()):
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
_NESTED: Final = ["array", "tuple", "object", "objectArray"]


def _score_theirs(folder: Path, data: Path) -> dict[str, bool]:
    found = {}
    for run_folder in sorted(folder.iterdir()):
        for language in ("en", "zh"):
            for category in NORMAL:
                results = _load(run_folder / f"result_{language}" / f"data_{category}_result.json")
                prompts = _load(data / f"data_{language}" / f"data_{category}.json")
                truths = _load(data / f"data_{language}" / "possible_answer" / f"data_{category}.json")
                for result, prompt, truth in zip(results, prompts, truths, strict=True):
                    name = f"{run_folder.name}/{language}/{result['id']}"
                    found[name] = _check_item(result["result"], prompt, truth["ground_truth"], category)
    return found


def _load(path: Path) -> list[Any]:
    with path.open(encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def _check_item(output: str, prompt: Any, truth: Any, category: str) -> bool:
    try:
        if category in MULTI_TURN:
            text = "".join(output.split())
        else:
            text = _outermost(output)
        calls = [_resolve(element) for element in ast.parse(text, mode="eval").body.elts]  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 - as upstream does
        return False
    return any(
        _check_list(prompt["function"], calls, pool) for pool in (truth if isinstance(truth, list) else [truth])
    )


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


def _check_list(tools: list[Any], calls: list[Any], truth: dict[str, Any]) -> bool:
    if len(calls) != len(truth):
        return False
    wanted = [{re.sub(r"_\d+$", "", name): arguments} for name, arguments in truth.items()]
    names = Counter(name for call in calls for name in call)
    if names != Counter(name for call in wanted for name in call):
        return False
    for full_name, call in zip(truth, wanted, strict=True):
        tool = next((tool for tool in tools if tool["name"] in full_name), None)
        name = next(iter(call))
        if not any(next(iter(mine)) == name and _check_call(tool, mine, call) for mine in calls):
            return False
    return True


def _check_call(tool: Any, mine: dict[str, Any], wanted: dict[str, Any]) -> bool:  # noqa: PLR0911
    arguments, truth = next(iter(mine.values())), next(iter(wanted.values()))
    if arguments == {} or tool["parameters"] == {}:
        return bool(arguments == tool["parameters"])
    properties = tool["parameters"]["properties"]
    if truth == properties:
        return True
    if truth == {} or tool["name"] not in mine:
        return False
    if any(name not in arguments for name in tool["parameters"]["required"]):
        return False
    for name, value in arguments.items():
        if name not in properties or name not in truth:
            return False
        if not _check_value(value, truth[name], properties[name]):
            return False
    return True


def _check_value(value: Any, truth: Any, detail: Any) -> bool:  # noqa: PLR0911
    declared = detail["type"]
    kind, inner = _TYPES[declared], None
    if declared in _NESTED:
        inner = _TYPES[detail["items"]["type"]] if "items" in detail and "type" in detail["items"] else dict
    fits, is_free = _check_type(value, truth, kind, inner)
    if not fits or is_free:
        return fits
    if kind is dict:
        return _check_dict(value, truth)
    if kind is list and inner is dict:
        return len(value) == len(truth) and all(map(_check_dict, value, truth))
    if kind is str:
        return _standard(truth) in _standard(value)
    if kind is list:
        return [_standard(v) if isinstance(v, str) else v for v in value] == [
            _standard(v) if isinstance(v, str) else v for v in truth
        ]
    return True


def _check_type(value: Any, truth: Any, kind: type, inner: type | None) -> tuple[bool, bool]:
    is_free = type(truth) is not kind
    if value == "true":
        value = True
    if value == "false":
        value = False
    failed = False
    if type(value) is kind:
        if inner is None:
            return True, is_free
        for item in truth:
            if not isinstance(item, list) or all(_check_type(v, item, inner, None)[0] for v in value):
                return True, is_free
        failed = True
    if type(value) is type(truth) or value == truth:
        return not failed, True
    return False, is_free


def _check_dict(value: Any, truth: Any) -> bool:
    if not isinstance(value, dict) or len(value) != len(truth):
        return False
    for name, mine in value.items():
        if name not in truth:
            return False
        if isinstance(truth[name], dict):
            if not _check_dict(mine, truth[name]):
                return False
        else:
            wanted = _standard(truth[name]) if isinstance(truth[name], str) else truth[name]
            given = _standard(mine) if isinstance(mine, str) else mine
            if str(wanted) not in str(given):
                return False
    return True


def _standard(text: str) -> str:
    return re.sub(r"[ \,\.\/\-\_\*\^]", "", text).lower().replace("'", '"')
