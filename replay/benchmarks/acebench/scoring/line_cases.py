"""Single cases: lines that ask what the rules say of one output, each on its own.

A line holds `category`, `id`, `language` and `model_output`, and may hold the expected `verdict`,
`error_type` and more of what is compared. A session has its id without the turn and a list of outputs, an
agent {"result", "process"}. Categories with `sandbox_` before them are carried out first (messages in,
observations and end state out); `routing_` ones ask who an agent's message is for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from replay.benchmarks.acebench.importing.source import MAX_FILE_BYTES
from replay.benchmarks.acebench.playing.messages import is_for_execution
from replay.benchmarks.acebench.records import AGENT, BENCHMARK, CATEGORIES, MULTI_TURN, task_id
from replay.benchmarks.acebench.scoring.carrying_out import carry_out
from replay.benchmarks.acebench.scoring.cases import CaseBook
from replay.benchmarks.acebench.scoring.verdicts import ACCURACY, PROCESS, judge
from replay.core.errors import InputError, LimitError
from replay.core.types import Json, Score, Task, Verdict

__all__ = ["AceBenchCases"]

_SANDBOX: Final = "sandbox_"
_ROUTING: Final = "routing_"
_COMPARED: Final = (
    "verdict",
    "error_type",
    "process_accuracy",
    "recipient",
    "observations",
    "final_state",
)


class AceBenchCases:
    """Scores lines; keeps nothing between files."""

    def score_cases(self, path: Path, tasks: Mapping[str, Task]) -> Iterator[Json] | None:
        """Score every line of a file of cases, in order; None for a file of another form.

        Errors:  InputError for a file that is not UTF-8, LimitError for one that is too large.
        """
        if path.stat().st_size > MAX_FILE_BYTES:
            raise LimitError("a file of cases that is too large", where=path.name)
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(f"not UTF-8 at byte {error.start}", where=path.name) from None
        lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
        if not lines or not _is_case(_decode(lines[0][1])):
            return None
        scorer = _Scorer(tasks)
        return (scorer.score_line(number, line) for number, line in lines)


class _Scorer:
    """One file at work."""

    def __init__(self, tasks: Mapping[str, Task]) -> None:
        self._tasks = tasks
        self._cases = CaseBook()

    def score_line(self, number: int, line: str) -> Json:
        shown: dict[str, Json] = {"line": number, "benchmark": BENCHMARK}
        value = _decode(line)
        if not _is_case(value):
            return shown | {"error": "no case; expected category, id, language and model_output"}
        shown |= {name: value[name] for name in ("category", "id", "language") if name in value}
        try:
            shown |= self._score(value)
        except InputError as error:
            return shown | {"error": str(error)}
        expected = {name: value[name] for name in _COMPARED if name in value}
        if "verdict" in expected:
            shown["agrees"] = all(_agrees(shown.get(name), said) for name, said in expected.items())
            shown["expected"] = expected
        return shown

    def _score(self, case: Mapping[str, Json]) -> dict[str, Json]:
        category, output = str(case["category"]), case["model_output"]
        if category.startswith(_ROUTING):
            if not isinstance(output, str):
                raise InputError("model_output is no text", expected="an agent's message")
            is_call = is_for_execution(output)
            recipient = "execution" if is_call else "user"
            return {"verdict": is_call, "error_type": "", "recipient": recipient}
        name = task_id(str(case.get("language", "en")), str(case["id"]))
        if category in MULTI_TURN and name not in self._tasks:
            return self._score_session(name, output)
        if name not in self._tasks:
            raise InputError(f"unknown id {name!r}", expected="a task of the archive")
        task = self._tasks[name]
        if category.startswith(_SANDBOX):
            return self._score_messages(task, output)
        return _shown(self._judge(task, output if category in AGENT else {"output": output}))

    def _judge(self, task: Task, outcome: Json) -> tuple[Verdict, ...]:
        return judge(task, outcome, trial=0, cases=self._cases)

    def _score_messages(self, task: Task, messages: Json) -> dict[str, Json]:
        if not isinstance(messages, list) or not all(isinstance(message, str) for message in messages):
            raise InputError("model_output is no list of texts", expected="an agent's messages")
        done = carry_out(task, messages)
        verdicts = self._judge(task, {"result": done.result, "process": done.process})
        return _shown(verdicts) | {"observations": done.observations, "final_state": done.result}

    def _score_session(self, name: str, outputs: Json) -> dict[str, Json]:
        """Score a session: right when all its turns are; its error is that of the first that is not."""
        turns: list[Task] = []
        while f"{name}_{len(turns)}" in self._tasks:
            turns.append(self._tasks[f"{name}_{len(turns)}"])
        if not turns:
            raise InputError(f"unknown id {name!r}", expected="a task or a session of the archive")
        if not isinstance(outputs, list) or len(outputs) != len(turns):
            raise InputError(f"not one output for each of {len(turns)} turns", where=name)
        verdicts = [
            self._judge(task, {"output": output})[0] for task, output in zip(turns, outputs, strict=True)
        ]
        compat = _session([verdict.compat for verdict in verdicts])
        return {**compat, "compat": compat, "strict": _session([verdict.strict for verdict in verdicts])}


def _decode(line: str) -> Json:
    """Read a line as Python's reader does: a lone surrogate in an output is the candidate's matter."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _is_case(value: Json) -> bool:
    if not isinstance(value, dict) or "model_output" not in value or not isinstance(value.get("id"), str):
        return False
    name = str(value.get("category", ""))
    return name.removeprefix(_SANDBOX).removeprefix(_ROUTING) in CATEGORIES


def _agrees(found: Json, said: Json) -> bool:
    if isinstance(found, float) and isinstance(said, (int, float)):
        return round(found, 3) == round(said, 3)
    return bool(found == said)


def _session(scores: Sequence[Score]) -> dict[str, Json]:
    right = sum(1 for score in scores if score.value == 1.0)
    error = next((score.why for score in scores if score.value != 1.0), "")
    return {
        "verdict": right == len(scores),
        "error_type": error,
        "process_accuracy": round(right / len(scores), 3),
    }


def _shown(verdicts: Sequence[Verdict]) -> dict[str, Json]:
    by_metric = {verdict.metric: verdict for verdict in verdicts}
    accuracy, process = by_metric[ACCURACY], by_metric.get(PROCESS)
    compat, strict = _side(accuracy.compat), _side(accuracy.strict)
    if process is not None:
        compat["process_accuracy"] = process.compat.value
        strict["process_accuracy"] = process.strict.value
    shown: dict[str, Json] = {**compat, "compat": compat, "strict": strict}
    differs = {verdict.metric: verdict.differs for verdict in verdicts if verdict.differs}
    return shown | {"differs": differs, "flags": list(accuracy.flags)}


def _side(score: Score) -> dict[str, Json]:
    verdict = None if score.value is None else score.value == 1.0
    return {"verdict": verdict, "error_type": "" if verdict else score.why or score.unscored}
