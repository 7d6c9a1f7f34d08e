"""Graphs, guardrails, matching and minefields: the official numbers, and each defect mended alone."""

from __future__ import annotations

from typing import Any

import pytest

from replay.benchmarks.toolsandbox.records import Failure
from replay.benchmarks.toolsandbox.scoring.evaluation import Evaluation, evaluate_ending
from replay.benchmarks.toolsandbox.scoring.rules import OFFICIAL, STRICT, Rules
from tests.support.toolsandbox_rows import make_ending, make_scenario

ADA = {"person_id": "1", "name": "Ada"}
BOB = {"person_id": "2", "name": "Bob"}
BOTH_AT_START = {"at": 0, "database": "CONTACT", "rows": [ADA, BOB]}

ASKED = {"sender": "USER", "recipient": "AGENT", "content": "q"}
CALLED = {"sender": "AGENT", "recipient": "EXECUTION_ENVIRONMENT", "content": "call"}


def said(text: str | None) -> dict[str, Any]:
    """The agent speaks to the user."""
    return {"sender": "AGENT", "recipient": "USER", "content": text}


def replied(*names: str) -> dict[str, Any]:
    """The environment replies to the agent, with a trace a name."""
    traces: list[dict[str, Any]] = [{"tool_name": name, "arguments": {}, "result": None} for name in names]
    message = {"sender": "EXECUTION_ENVIRONMENT", "recipient": "AGENT", "content": "None"}
    return {**message, "tool_trace": traces or None}


def wants_text(text: str) -> dict[str, Any]:
    """A milestone: the agent says a text."""
    return {"constraints": [{"database": "SANDBOX", "target": [said(text)]}]}


def wants_call(name: str) -> dict[str, Any]:
    """A milestone: a call is traced."""
    golden = {"tool_name": name, "arguments": {}}
    target = {"sender": "EXECUTION_ENVIRONMENT", "recipient": "AGENT", "tool_trace": golden}
    return {"constraints": [{"database": "SANDBOX", "target": [target]}]}


def evaluate(
    messages: list[dict[str, Any]],
    milestones: list[dict[str, Any]],
    edges: list[list[int]] | None = None,
    *,
    rules: Rules = OFFICIAL,
    minefields: tuple[dict[str, Any], ...] = (),
    changes: tuple[dict[str, Any], ...] = (),
) -> Evaluation:
    """Score a made-up conversation."""
    scenario = make_scenario(milestones, edges, minefields)
    return evaluate_ending(scenario, make_ending(messages, changes), rules)


def both(*given: Any, **more: Any) -> tuple[float, float]:
    """Similarity officially and strictly."""
    return (
        evaluate(*given, **more).similarity,
        evaluate(*given, rules=STRICT, **more).similarity,
    )


def test_a_claim_without_a_call() -> None:
    """An unmet predecessor costs its own share officially, and all that comes right after it strictly."""
    assert (0.5, 0.0) == both([ASKED, said("done")], [wants_call("f"), wants_text("done")])


def test_one_reply_for_two_milestones() -> None:
    """One message satisfies two ordered milestones officially, one of them strictly."""
    milestones = [wants_call("f"), wants_call("g")]
    assert (1.0, 0.5) == both([ASKED, CALLED, replied("f", "g")], milestones)


def test_a_batch_in_another_order() -> None:
    """Replies of one batch may come in any order strictly."""
    messages = [ASKED, CALLED, CALLED, replied("f"), replied("g"), said("ok")]
    found = both(messages, [wants_call("g"), wants_call("f"), wants_text("ok")])
    assert [2 / 3, 1.0] == pytest.approx(found)


def test_two_batches_stay_ordered() -> None:
    """Replies of two batches keep their order strictly as well."""
    messages = [ASKED, CALLED, replied("f"), CALLED, replied("g")]
    assert (0.5, 0.5) == both(messages, [wants_call("g"), wants_call("f")])


@pytest.mark.parametrize("at", [2, 5])
def test_damage_before_the_first_and_after_the_last_milestone(at: int) -> None:
    """A contact lost outside of the milestones is not seen officially; strictly it costs the nearest."""
    messages = [ASKED, CALLED, replied("x"), CALLED, replied("f"), CALLED, replied("x"), said("bye")]
    lost = {"at": at + 1, "database": "CONTACT", "rows": [ADA]}
    found = both(messages, [wants_call("f")], changes=(BOTH_AT_START, lost))
    assert (1.0, 0.0) == found


def test_a_table_is_guarded_after_its_own_milestone() -> None:
    """After the right removal a wrong one is not seen officially, for the predecessor exempts the table."""
    removal = {
        "constraints": [
            {"database": "CONTACT", "fn": "removal_similarity", "reference": -1, "target": [{"name": "Bob"}]}
        ]
    }
    messages = [ASKED, CALLED, replied("rm"), CALLED, replied("rm"), said("done")]
    changes = (
        BOTH_AT_START,
        {"at": 2, "database": "CONTACT", "rows": [ADA]},
        {"at": 4, "database": "CONTACT", "rows": []},
    )
    assert (1.0, 0.5) == both(messages, [removal, wants_text("done")], changes=changes)


def test_reference_minus_one_exempts_the_last_milestones_tables() -> None:
    """Reading milestone -1 as the last one is upstream's slip; strictly it exempts nothing."""
    traced = {**wants_call("f")["constraints"][0], "reference": -1}
    removal = {"database": "CONTACT", "fn": "removal_similarity", "reference": 0, "target": [{"name": "Bob"}]}
    milestones = [{"constraints": [traced]}, {"constraints": [removal]}]
    messages = [ASKED, CALLED, replied("f"), CALLED, replied("rm")]
    official, strict = (
        {table for table, _ in evaluate(messages, milestones, rules=rules).guardrails[0]}
        for rules in (OFFICIAL, STRICT)
    )
    assert {"CONTACT"} == strict - official


def test_ties_go_to_the_earlier_message() -> None:
    """Of two equal places the earlier one is taken, as upstream's heap does."""
    found = evaluate([ASKED, said("done"), said("done")], [wants_text("done")])
    assert {0: (1, 1.0)} == found.milestones


# ---- definitions that are not right --------------------------------------------------------------------

TALK = [ASKED, CALLED, replied("f"), said("ok")]
THREE = [wants_call("f"), wants_text("ok"), wants_text("never")]


def test_no_edges_at_all() -> None:
    """Two milestones with an empty edge list count as none officially; strictly both are wanted."""
    assert (1.0, 0.5) == both(TALK, [wants_call("f"), wants_text("never")], [])


def test_a_milestone_that_no_edge_names() -> None:
    """It is never placed, yet the mean divides by it; strictly it is placed."""
    milestones = [wants_call("f"), wants_text("ok"), wants_call("f")]
    assert [2 / 3, 1.0] == pytest.approx(both(TALK, milestones, [[0, 1]]))


def test_edges_in_a_circle() -> None:
    """The official number is -1/n; strictly the definition is refused by name."""
    edges = [[0, 1], [1, 0]]
    official = evaluate(TALK, THREE[:2], edges)
    strict = evaluate(TALK, THREE[:2], edges, rules=STRICT)
    assert (-0.5, "the edges run in a circle") == (official.similarity, strict.refused)


def test_an_edge_to_nowhere() -> None:
    """Upstream cannot build the graph."""
    assert evaluate(TALK, THREE, [[0, 7]]).crash.startswith("IndexError: an edge names milestone 7 of 3")


def test_a_reference_forward() -> None:
    """Officially a KeyError ends the scenario: 0, 30 turns; strictly the definition is refused by name."""
    removal = {"database": "CONTACT", "fn": "removal_similarity", "reference": 1, "target": [{"name": "Bob"}]}
    milestones = [{"constraints": [removal]}, wants_text("ok")]
    official = evaluate(TALK, milestones)
    assert ("KeyError: 1", 0.0, 30) == (official.crash, official.similarity, official.turn_count)
    assert "need not come before" in evaluate(TALK, milestones, rules=STRICT).refused


def test_a_milestone_of_nothing() -> None:
    """Officially it divides by zero; strictly it is reached where its guardrails hold."""
    official = evaluate(TALK, [{"constraints": []}, wants_text("ok")])
    assert official.crash == "ZeroDivisionError: division by zero"
    assert evaluate(TALK, [{"constraints": []}, wants_text("ok")], rules=STRICT).similarity == 1.0


def test_a_null_text_kills_the_official_worker() -> None:
    """A null sentence under ROUGE is a panic that upstream's runner does not catch; strictly it scores 0."""
    messages = [ASKED, said(None), said("ok")]
    official = evaluate(messages, [wants_text("ok")])
    assert ("PanicException", True) == (official.crash.split(":")[0], official.kills_worker)
    assert evaluate(messages, [wants_text("ok")], rules=STRICT).similarity == 1.0


def test_a_conversation_without_the_user() -> None:
    """Officially matching starts at -1; strictly there is nothing to score."""
    official = evaluate([said("ok")], [wants_text("ok")])
    strict = evaluate([said("ok")], [wants_text("ok")], rules=STRICT)
    assert (1.0, "no message of the user") == (official.similarity, strict.refused)


def test_too_many_milestones_are_refused() -> None:
    """A definition of hundreds of milestones is refused by name, not searched."""
    assert "at most 64" in evaluate(TALK, [wants_text("ok")] * 65).refused


def test_an_episode_that_upstream_does_not_survive() -> None:
    """An unknown tool name ends upstream's scenario with 0 and 30 turns; strictly what was reached counts."""
    scenario = make_scenario([wants_call("f")])
    ending = make_ending([ASKED, CALLED, replied("f")])
    broken = type(ending)(tables=ending.tables, exception=Failure(type="KeyError", text="'fly'"))
    official, strict = (evaluate_ending(scenario, broken, rules) for rules in (OFFICIAL, STRICT))
    assert (0.0, 30, "KeyError: 'fly'") == (official.similarity, official.turn_count, official.crash)
    assert (1.0, 3) == (strict.similarity, strict.turns.strict)


# ---- minefields ----------------------------------------------------------------------------------------


def test_a_minefield_makes_nothing_of_all() -> None:
    """A minefield that is matched makes the score 0, on both sides."""
    assert (0.0, 0.0) == both(TALK, [], minefields=(wants_call("f"),))


def test_a_minefield_in_part() -> None:
    """One word in common makes nothing of all officially; strictly it is no hit."""
    assert (0.0, 1.0) == both(TALK, [wants_text("ok")], minefields=(wants_text("ok it is hot"),))


def test_the_first_of_two_chained_minefields() -> None:
    """Half a chain makes nothing of all officially; strictly the whole chain is wanted."""
    mines = (wants_call("f"), wants_call("g"))
    assert (0.0, 1.0) == both(TALK, [], minefields=mines)


def test_turns_of_an_empty_conversation() -> None:
    """Nothing said, nothing counted."""
    found = evaluate([], [])
    assert (0, 0, 0) == (found.turns.compat, found.turns.strict, found.turns.readme)
