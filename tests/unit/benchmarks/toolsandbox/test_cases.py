"""Single cases, a line each: right and wrong expectations, lines that are none, scenarios that are played."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.benchmarks.toolsandbox.cases.scorer import ToolSandboxCases
from replay.core.types import Json
from tests.support.sandboxes import make_scenario, make_task

TASK = make_task(make_scenario())
EXACT = {"function": "exact", "column_values": ["a", None], "target": "a"}


def score(folder: Path, *cases: Json) -> list[Json]:
    """Score lines of a file."""
    path = folder / "cases.jsonl"
    path.write_text("".join(f"{case if isinstance(case, str) else json.dumps(case)}\n" for case in cases))
    lines = ToolSandboxCases().score_cases(path, {TASK.id: TASK})
    assert lines is not None
    return list(lines)


def make_case(kind: str = "column_similarity", given: Json = None, **more: Json) -> dict[str, Json]:
    """One case."""
    return {"id": "c", "kind": kind, "input": EXACT if given is None else given, **more}


def test_expectations_are_compared(tmp_path: Path) -> None:
    """A case agrees, disagrees, or has nothing to agree with."""
    right, wrong, bare = score(
        tmp_path, make_case(expected=[1.0, None]), make_case(expected=[0.5, None]), make_case()
    )
    assert (True, False, False) == (right["agrees"], wrong["agrees"], "agrees" in bare)
    assert [1.0, None] == right["verdict"]


def test_scenario_is_played(tmp_path: Path) -> None:
    """A scripted scenario is carried out; what each world makes anew is not compared."""
    call = {"name": "add_reminder", "arguments": {"content": "milk", "reminder_timestamp": 1718366400}}
    given = {
        "scenario": TASK.id,
        "agent_script": [{"calls": [call]}, {"say": "Done."}],
        "user_script": [{"end": True}],
    }
    (line,) = score(
        tmp_path, make_case("scenario_replay", given, expected={"similarity": 1.0, "turn_count": 3})
    )
    assert line["agrees"]
    assert "'<uuid4>'" == line["verdict"]["messages_after_setup"][2]["content"]


def test_official_exceptions_are_answers(tmp_path: Path) -> None:
    """Where upstream's program raises, class and text are the answer."""
    said = [{"sender": "USER", "recipient": "AGENT", "content": "q"}]
    given = {"messages": said, "milestones": [{"constraints": []}], "edges": None, "minefields": []}
    case = make_case(
        "trajectory_evaluation", given, expected_error="ZeroDivisionError", error_text="division by zero"
    )
    (line,) = score(tmp_path, case)
    assert (True, "ZeroDivisionError") == (line["agrees"], line["error_type"])


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("{", "no case"),
        (make_case("guess"), "no case; expected kind"),
        (make_case(given={"function": "exact"}), "the input does not fit its kind"),
        (make_case("scenario_replay", {"scenario": "none"}), "unknown scenario 'none'"),
        (
            make_case("scenario_replay", {"scenario": TASK.id, "agent_script": [5], "user_script": []}),
            "turn 0",
        ),
        (
            make_case("scenario_replay", {"scenario": TASK.id, "agent_script": [], "user_script": []}),
            "no turn left",
        ),
    ],
)
def test_bad_lines_are_told_and_the_rest_goes_on(tmp_path: Path, case: Json, message: str) -> None:
    """One bad line has an error of its own."""
    good, bad = score(tmp_path, make_case(expected=[1.0, None]), case)
    assert good["agrees"]
    assert message in bad["error"]


def test_other_files_hold_no_cases(tmp_path: Path) -> None:
    """Lines of outcomes are left to whoever reads those."""
    path = tmp_path / "lines.jsonl"
    path.write_text(json.dumps({"id": "x", "model_output": {}}))
    assert ToolSandboxCases().score_cases(path, {}) is None


@pytest.mark.parametrize("odd", [1, None, [["a"], 1], [[1, "a"]], [[["a"], "b"]], [{}]])
def test_expectations_of_odd_types_do_not_agree(tmp_path: Path, odd: Json) -> None:
    """Whatever is expected, the line is told and the next one scored."""
    said = [{"sender": "USER", "recipient": "AGENT", "content": "q"}]
    given = {"messages": said, "milestones": [], "edges": None, "minefields": []}
    odd_line, right = score(
        tmp_path,
        make_case("trajectory_evaluation", given, expected={"auto_guardrails": odd}),
        make_case(expected=[1.0, None]),
    )
    assert (False, True) == (odd_line.get("agrees", False), right["agrees"])
