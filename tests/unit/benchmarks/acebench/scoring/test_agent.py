"""End states and processes of agents, officially by halves and strictly whole."""

from __future__ import annotations

import pytest

from replay.benchmarks.acebench.scoring.cases import CaseBook
from replay.benchmarks.acebench.scoring.strict_agent import correct_class
from replay.benchmarks.acebench.scoring.verdicts import judge
from replay.core.types import Json, Verdict
from tests.support.ace_agents import make_record, make_task

_BASE: Json = {"BaseApi": {"wifi": True, "logged_in": True}}
_INBOX: Json = {"MessageApi": {"inbox": {"1": {"message": "hi"}}}}
_STONES = ["[turn_on_wifi()]", "[send(to='A', text='x y')]", "[read(id=1)]"]


def _judge(
    result: Json, process: Json = (), *, truth: Json = None, stones: Json = None
) -> tuple[Verdict, Verdict]:
    record = make_record(
        ground_truth=[_BASE, _INBOX] if truth is None else truth,
        mile_stone=_STONES if stones is None else stones,
    )
    outcome = {"result": result, "process": list(process)}
    accuracy, share = judge(make_task(record), outcome, trial=0, cases=CaseBook())
    return accuracy, share


def _state(**inbox: Json) -> Json:
    return [_BASE, {"MessageApi": {"inbox": {"1": {"message": "hi"}, **inbox}}}]


@pytest.mark.parametrize(
    ("result", "official", "strict"),
    [
        (_state(), "", ""),
        (list(reversed(_state())), "", ""),
        (_state(**{"2": {"message": "spam"}}), "", "class attributes wrong"),
        ([{"BaseApi": {"wifi": True}}, _INBOX], "", "class attributes wrong"),
        ([_BASE, {"MessageApi": {}}], "", "class attributes wrong"),
        ([_BASE, {"Other": {"inbox": {}}}], "", "wrong number of class"),
        ([_BASE], "wrong number of class", "wrong number of class"),
        ([], "wrong number of class", "wrong number of class"),
        ([_BASE, {"MessageApi": {"inbox": {}}}], "class attributes wrong", "class attributes wrong"),
        (
            [_BASE, {"MessageApi": {**_INBOX["MessageApi"], "x": 1}}],
            "class attributes wrong",
            "class attributes wrong",
        ),
        (
            [{"BaseApi": {"wifi": False, "logged_in": True}}, _INBOX],
            "class attributes wrong",
            "class attributes wrong",
        ),
    ],
)
def test_end_states(result: Json, official: str, strict: str) -> None:
    """Officially extra messages, missing attributes and unmatched classes go unseen."""
    accuracy, _ = _judge(result)
    assert (official, strict) == (accuracy.compat.why, accuracy.strict.why)
    assert accuracy.differs == ("state-half-compared" if official != strict else "")


def test_a_mistyped_class_of_the_truth_is_compared_strictly() -> None:
    """Officially it finds no partner; strictly it is the involved class it looks like."""
    truth = [_BASE, {"MesageAPI": {"inbox": {}}}]
    accuracy, _ = _judge(_state(), truth=truth)
    assert ("", "class attributes wrong") == (accuracy.compat.why, accuracy.strict.why)
    assert [("ReminderApi"), "BaseApi", "Finance"] == [
        correct_class(name, ["BaseApi", "ReminderApi"]) for name in ("Reminderpi", "BaseAPI", "Finance")
    ]


@pytest.mark.parametrize("result", [None, 5, ["ab", "cd"]])
def test_results_that_stop_upstream(result: Json) -> None:
    """Both metrics are unscored in compat, scored in strict."""
    accuracy, process = _judge(result)
    assert ("evaluator-crash", "evaluator-crash") == (accuracy.compat.unscored, process.compat.unscored)
    assert accuracy.strict.value == 0.0


@pytest.mark.parametrize(
    ("process", "official", "strict"),
    [
        (_STONES, 1.0, 1.0),
        ([_STONES[0], "noise", f" {_STONES[1]} "], 2 / 3, 2 / 3),
        (_STONES[1:], 0.0, 2 / 3),
        (list(reversed(_STONES)), 1 / 3, 1.0),
        (["[turn_on_wifi()]", '[send(text="x y",to="A")]', "[read(id=1)]"], 1 / 3, 1.0),
        (["[turn_on_wifi(), send(to='A', text='x y'), read(id=1)]"], 0.0, 1.0),
        (["[turn_on_wifi()]", "[turn_on_wifi()]"], 1 / 3, 1 / 3),
        ([], 0.0, 0.0),
    ],
)
def test_process_of_a_wrong_end_state(process: list[str], official: float, strict: float) -> None:
    """Officially the prefix of milestones that is found in order, as text; strictly calls in any order."""
    _, share = _judge([], process)
    assert pytest.approx(official) == share.compat.value
    assert pytest.approx(strict) == share.strict.value


def test_a_right_end_state_makes_the_official_process_whole() -> None:
    """Whatever was done; strictly nothing was."""
    _, share = _judge(_state(), [])
    assert (1.0, 0.0) == (share.compat.value, share.strict.value)
    assert share.differs == "process-prefix"


def test_the_best_alternative_counts() -> None:
    """Officially in three digits."""
    stones = [["[a()]", "[b()]", "[c()]"], ["[c()]", "[b()]"]]
    _, share = _judge([], ["[a()]"], stones=stones)
    assert share.compat.value == 0.333
    assert pytest.approx(1 / 3) == share.strict.value


@pytest.mark.parametrize("stones", [[], ["[send(text=')]"], [["[a()]"], ["not a call"]]])
def test_milestones_that_are_no_calls_are_a_data_error(stones: Json) -> None:
    """Never a perfect score, never zero in silence."""
    _, share = _judge([], ["[a()]"], stones=stones)
    assert share.strict.unscored == "data-error"
    assert share.compat.value != 1.0 or stones
    assert share.compat.unscored == ("evaluator-crash" if not stones else "")


def test_unescaped_apostrophes_in_milestones_are_repaired_strictly() -> None:
    """Officially only the same invalid text would match."""
    _, share = _judge([], ['[note(title="Today\'s")]'], stones=["[note(title='Today's')]"])
    assert (0.0, 1.0) == (share.compat.value, share.strict.value)


@pytest.mark.parametrize("outcome", ["text", {"result": []}, {"result": [], "process": [1]}])
def test_an_outcome_that_is_none_of_an_agent_is_unusable(outcome: Json) -> None:
    """Named, not scored as wrong."""
    record = make_record(ground_truth=[_BASE], mile_stone=_STONES)
    verdicts = judge(make_task(record), outcome, trial=0, cases=CaseBook())
    assert {"unusable-output"} == {verdict.strict.unscored for verdict in verdicts}
