"""Single cases: one line, one verdict or one named error, in order."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from replay.benchmarks.metatool.scoring.cases import MetaToolCases
from replay.core.errors import InputError
from replay.core.types import Json
from tests.unit.benchmarks.metatool.builders import (
    TOOLS,
    make_multi,
    make_reliability,
    make_similar,
    make_task,
)

TASKS = {
    name: make_task(sample, name)
    for name, sample in {
        "similar-0": make_similar(line=0),
        "similar-1": make_similar(line=1, query="And t\u00f6morrow?"),
        "reliability-0": make_reliability(),
        "multi-0": make_multi(line=3),
    }.items()
}


def score(folder: Path, *lines: Json) -> list[Json]:
    """Score lines."""
    path = folder / "cases.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found = MetaToolCases().score_cases(path, TASKS)
    assert found is not None
    return list(found)


def case(category: str, output: Json, name: Json = "", **fields: Json) -> Json:
    """Build a line."""
    return {"category": category, "id": name, "model_output": output, **fields}


@pytest.mark.parametrize(
    ("line", "verdict", "error", "literal"),
    [
        (case("match_awareness", "No."), "no", "", "yes"),
        (case("match_single_similar", "skytool", "SkyTool"), True, "", "None"),
        (case("match_single_similar", "NewsTool", "SkyTool"), False, "wrong_tool", "NewsTool"),
        (case("match_single_similar", "X", "A", candidates=["A", "X"]), False, "wrong_tool", "X"),
        (case("match_reliability", "", "TideTable"), True, "", "None"),
        (case("match_reliability", "SkyTool", "TideTable"), False, "tool_chosen", "SkyTool"),
        (case("match_multi", "SkyTool, NewsTool", "3"), True, "", "correct"),
        (case("match_multi", "SkyTool", 3), False, "1/1", "incorrect"),
        (case("match_multi", "SkyTool, NewsTool, sql_scribe", "3"), False, "more_than_two", "manual"),
    ],
)
def test_an_answer_is_read_by_all_rules(
    tmp_path: Path, line: Json, verdict: Json, error: str, literal: str
) -> None:
    """Default, literal and strict together."""
    (found,) = score(tmp_path, line)
    assert (verdict, error, literal) == (found["verdict"], found["error_type"], found["paper_literal"])
    assert "strict" in found


def test_a_list_is_compared_with_the_archives(tmp_path: Path) -> None:
    """In order, by tool or by line."""
    lists = [
        case("list_similar", list(TOOLS), "SkyTool"),
        case("list_similar", sorted(TOOLS), "SkyTool"),
        case("list_reliability", list(TOOLS), "TideTable"),
        case("list_multi", list(TOOLS), "3"),
        case("list_multi", "SkyTool", "3"),
    ]
    assert [True, False, True, True, False] == [line["verdict"] for line in score(tmp_path, *lists)]


def test_a_sample_is_compared_by_its_hash(tmp_path: Path) -> None:
    """Of the queries in their order."""
    text = json.dumps(["Will it rain?", "And t\u00f6morrow?"], ensure_ascii=False)
    right = hashlib.sha256(text.encode()).hexdigest()
    lines = [case("sample5_queries_sha256", value, "SkyTool") for value in (right, "0" * 64)]
    assert [True, False] == [line["verdict"] for line in score(tmp_path, *lines)]


def test_an_expected_verdict_is_compared(tmp_path: Path) -> None:
    """With its kind of error and the literal reading, where they are given."""
    lines = [
        case("match_awareness", "No.", verdict="no"),
        case("match_awareness", "No.", verdict="no", paper_literal="no"),
        case("match_single_similar", "X", "SkyTool", verdict=False, error_type="wrong_tool"),
        case("match_awareness", "No."),
    ]
    assert [True, False, False, None] == [line.get("agrees") for line in score(tmp_path, *lines)]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (case("match_single_similar", "x", "Nobody"), "unknown id 'Nobody'"),
        (case("match_multi", "x", "99"), "unknown id '99'"),
        (case("list_similar", [], "Nobody"), "unknown id"),
        (case("match_reliability", ["x"], "TideTable"), "model_output is no text"),
        (case("match_single_similar", "x", None), "no id"),
        (case("match_single_similar", "x", "SkyTool", candidates="SkyTool"), "no list of names"),
        (case("match_nothing", "x"), "no case"),
        ("text", "no case"),
    ],
)
def test_a_line_that_cannot_be_scored_says_why_and_the_rest_goes_on(
    tmp_path: Path, line: Json, said: str
) -> None:
    """A named error in its place."""
    first, wrong, last = score(
        tmp_path, case("match_awareness", "No."), line, case("match_awareness", "Yes.")
    )
    assert said in wrong["error"]
    assert "verdict" not in wrong
    assert ([1, 2, 3], "no", "yes") == (
        [first["line"], wrong["line"], last["line"]],
        first["verdict"],
        last["verdict"],
    )


@pytest.mark.parametrize("text", ["", "[]", '{"id": "similar-0", "model_output": "x"}\n', "[1"])
def test_another_file_holds_no_cases(tmp_path: Path, text: str) -> None:
    """It is read as outputs, and refused there if need be."""
    path = tmp_path / "x.jsonl"
    path.write_text(text, encoding="utf-8")
    assert None is MetaToolCases().score_cases(path, TASKS)


def test_a_line_that_is_no_json_is_an_error_of_the_file(tmp_path: Path) -> None:
    """With its number."""
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(case("match_awareness", "No.")) + "\n{\n", encoding="utf-8")
    cases = MetaToolCases().score_cases(path, TASKS)
    assert cases is not None
    with pytest.raises(InputError, match=r"x\.jsonl, line 2"):
        list(cases)
