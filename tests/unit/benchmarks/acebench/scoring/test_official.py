"""The official checker's rules, one by one: what passes, and the name of the first error."""

from __future__ import annotations

import pytest

from replay.benchmarks.acebench.scoring.cases import CaseBook
from replay.benchmarks.acebench.scoring.verdicts import judge
from replay.core.types import Json
from tests.support.ace_tables import judge_text, make_call_task, make_tool

_TOOL = make_tool(
    required=("city",),
    city="string",
    n="integer",
    rate="number",
    ok="boolean",
    tags={"type": "array", "items": {"type": "string"}},
    where="object",
    stops={"type": "array", "items": {"type": "object"}},
    level="enum",
    ratio="float",
)


def _error(value: str, truth: Json, name: str = "city") -> str:
    """Error of one argument against its truth, beside a right city."""
    arguments = {"city": "Oslo", name: truth}
    others = "" if name == "city" else "city='Oslo', "
    verdict = judge_text(make_call_task({"book": arguments}, _TOOL), f"[book({others}{name}={value})]")
    return verdict.compat.why


@pytest.mark.parametrize(
    ("name", "truth", "value"),
    [
        ("city", "Oslo", "'not OSLO at all'"),
        ("city", "new york", "'New-York_*^./,'"),
        ("city", "it's", "'say it\"s'"),
        ("n", 5, "952"),
        ("n", 5, "5.0"),
        ("rate", 0.5, "9.75"),
        ("rate", 5, "5.0"),
        ("ok", True, "False"),
        ("ok", True, "'true'"),
        ("ok", True, "1"),
        ("tags", ["a b"], "['A-B']"),
        ("where", {"x": 5}, "{'x': 952}"),
        ("where", {"x": "5"}, "{'x': 5}"),
        ("where", {"x": "a"}, "{'x': 'banana'}"),
        ("where", {"x": True}, "{'x': 'true'}"),
        ("where", {"x": {"y": 1}}, "{'x': {'y': 10}}"),
        ("stops", [{"a": 1}], "[{'a': 21}]"),
        ("tags", "x", "['anything']"),
        ("ratio", 1.5, "2"),
        ("city", "Oslo", "Oslo"),
    ],
)
def test_passes_that_a_comparison_would_not_give(name: str, truth: Json, value: str) -> None:
    """Types are enough for numbers and booleans, pieces for texts."""
    assert _error(value, truth, name) == ""


@pytest.mark.parametrize(
    ("name", "truth", "value", "error"),
    [
        ("city", "Oslo", "'Bergen'", "value_error:string"),
        ("city", "Oslo", "5", "type_error"),
        ("city", "Oslo", "'true'", "type_error"),
        ("city", "Oslo", "None", "type_error"),
        ("n", 5, "'5'", "type_error"),
        ("n", 5, "4.5", "type_error"),
        ("ok", True, "'yes'", "type_error"),
        ("tags", ["a"], "('a',)", "type_error"),
        ("tags", ["a", "b"], "['b', 'a']", "value_error:list/tuple"),
        ("tags", ["a"], "['a', 'a']", "value_error:list/tuple"),
        ("tags", [], "[]", "type_error"),
        ("where", {}, "{}", "type_error"),
        ("where", {"x": 5}, "{'x': 6}", "value_error"),
        ("where", {"x": 5}, "{'y': 5}", "value_error"),
        ("where", {"x": 5}, "{'x': 5, 'y': 1}", "value_error"),
        ("where", {"x": ["a b"]}, "{'x': ['A b']}", "value_error"),
        ("where", {"x": {"y": 1}}, "{'x': 1}", "value_error"),
        ("stops", [{"a": 1}], "[]", "value_error:list_dict_count"),
        ("stops", [{"a": 1}], "['a']", "value_error"),
        ("level", "high", "'high'", ""),
        ("level", "high", "5", "type_error"),
    ],
)
def test_failures_by_the_name_of_the_first_error(name: str, truth: Json, value: str, error: str) -> None:
    """Type before value; the value rule is that of the declared type."""
    assert error == _error(value, truth, name)


@pytest.mark.parametrize(
    ("output", "error"),
    [
        ("[book(city='Oslo')]", ""),
        ("[book(n=5)]", "lack_args"),
        ("[book(city='Oslo', other=1)]", "addition_args"),
        ("[book(city='Oslo', n=1)]", "addition_args"),
        ("[book()]", "wrong_param"),
        ("[Book(city='Oslo')]", "function_mismatch"),
        ("[book(city='Oslo'), book(city='Oslo')]", "wrong functions number"),
        ("[]", "wrong functions number"),
        ("book(city='Oslo')", "wrong_output_format"),
    ],
)
def test_calls_and_arguments_that_are_missing_or_too_many(output: str, error: str) -> None:
    """Required arguments are those of the schema; optional ones of the truth may be left out."""
    task = make_call_task({"book": {"city": "Oslo", "rate": 2}}, _TOOL)
    assert error == judge_text(task, output).compat.why


def test_a_pool_passes_with_any_of_its_truths_and_fails_with_the_first_error() -> None:
    """The error reported is the first candidate's."""
    task = make_call_task([{"book": {"city": "Oslo"}}, {"book": {"city": "Bergen"}}], _TOOL)
    assert judge_text(task, "[book(city='Bergen')]").compat.value == 1.0
    assert judge_text(task, "[book(city='Paris')]").compat.why == "value_error:string"


def test_repeated_calls_are_matched_in_any_order_and_may_share_one() -> None:
    """No call is used up, and the error is that of the last call, whichever it is."""
    truth = {"book_1": {"city": "Oslo"}, "book_2": {"city": "Oslo fjord"}}
    task = make_call_task(truth, _TOOL, make_tool("ask", q="string"))
    assert judge_text(task, "[book(city='Oslo fjord'), book(city='Oslo')]").compat.value == 1.0
    assert judge_text(task, "[book(city='Oslo fjord'), book(city='Rome')]").compat.value == 1.0
    mixed = make_call_task(
        {"book": {"city": "Oslo"}, "ask": {"q": "why"}}, _TOOL, make_tool("ask", q="string")
    )
    wrong = judge_text(mixed, "[book(city='Rome'), ask(q='why')]")
    assert wrong.compat.why == "simple_function_checker:unclear"


def test_a_tool_whose_own_name_ends_in_a_number_cannot_be_called() -> None:
    """The number is taken off the truth's name, never off the output's."""
    task = make_call_task({"book_2": {"city": "Oslo"}}, make_tool("book_2", city="string"))
    assert judge_text(task, "[book_2(city='Oslo')]").compat.why == "function_mismatch"
    assert judge_text(task, "[book(city='Oslo')]").compat.why == "wrong_function_name"
    assert judge_text(task, "[book_2(city='Oslo')]").strict.value == 1.0


def test_an_empty_truth_passes_an_empty_schema_only() -> None:
    """Calls without arguments are compared with the schema, not with the truth."""
    empty = make_tool("go")
    assert judge_text(make_call_task({"go": {}}, empty), "[go(x=1)]").compat.value == 1.0
    assert judge_text(make_call_task({"go": {}}, empty), "[go()]").compat.why == "wrong_param"
    bare = {**empty, "parameters": {}}
    assert judge_text(make_call_task({"go": {}}, bare), "[go()]").compat.value == 1.0


@pytest.mark.parametrize(
    ("tool", "truth", "output", "crash"),
    [
        (
            make_tool("book", x={"type": "array"}),
            {"book": {"x": [None]}},
            "[book(x=[{'a': 1}])]",
            "AttributeError",
        ),
        (make_tool("book", x="uuid"), {"book": {"x": "a"}}, "[book(x='a')]", "KeyError"),
        (make_tool("book", x={"type": ["string"]}), {"book": {"x": "a"}}, "[book(x='a')]", "TypeError"),
        (make_tool("book", x={"type": "array"}), {"book": {"x": 5}}, "[book(x=[5])]", "TypeError"),
        (make_tool("other", x="string"), {"book": {"x": "a"}}, "[book(x='a')]", "TypeError"),
        ({"name": "book"}, {"book": {"x": "a"}}, "[book(x='a')]", "KeyError"),
    ],
)
def test_what_stops_upstream_is_unscored_by_the_name_of_its_exception(
    tool: Json, truth: Json, output: str, crash: str
) -> None:
    """Compat has no score then; strict does."""
    verdict = judge_text(make_call_task(truth, tool), output)
    assert (None, "evaluator-crash", f"CRASH:{crash}") == (
        verdict.compat.value,
        verdict.compat.unscored,
        verdict.compat.why,
    )
    assert verdict.differs == "evaluator-crash"
    assert verdict.strict.value is not None


def test_an_output_that_was_seen_before_has_the_same_verdict() -> None:
    """For this task only, and however many there are."""
    cases = CaseBook()
    tasks = [make_call_task({"book": {"city": city}}, _TOOL) for city in ("Oslo", "Rome")]
    outputs = [f"[book(city='Oslo {number}')]" for number in range(70)]
    for _ in range(2):
        for task, expected in zip(tasks, (1.0, 0.0), strict=True):
            verdicts = [judge(task, {"output": output}, trial=0, cases=cases)[0] for output in outputs]
            assert {expected} == {verdict.compat.value for verdict in verdicts}
