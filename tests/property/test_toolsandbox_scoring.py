"""Laws of ToolSandbox's scoring: the fast search is the official one, assignments are best."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.benchmarks.toolsandbox.scoring.assignment import assign_rows
from replay.benchmarks.toolsandbox.scoring.crashes import DefinitionError, OfficialCrashError
from replay.benchmarks.toolsandbox.scoring.evaluation import evaluate_ending
from replay.benchmarks.toolsandbox.scoring.exhaustive import search_all
from replay.benchmarks.toolsandbox.scoring.graph import build_graph
from replay.benchmarks.toolsandbox.scoring.history import History
from replay.benchmarks.toolsandbox.scoring.matching import Matching, find_best
from replay.benchmarks.toolsandbox.scoring.relations import RelationScorer
from replay.benchmarks.toolsandbox.scoring.rouge import TextScorer
from replay.benchmarks.toolsandbox.scoring.rules import FIXES, OFFICIAL, STRICT, Rules
from replay.benchmarks.toolsandbox.scoring.scores import MilestoneScores
from tests.support.toolsandbox_graphs import MadeScores, best_sum
from tests.support.toolsandbox_rows import make_ending, make_scenario

# Sums of these are exact in any order, so that equal sums are equal to the last bit.
FRACTIONS = st.sampled_from((0.0, 0.0, 0.25, 0.5, 0.75, 1.0, 1.0))


@st.composite
def problems(draw: st.DrawFn) -> tuple[dict[int, frozenset[int]], MadeScores, int]:
    """A graph of up to four milestones over up to four messages, with references to ancestors."""
    size, messages = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    predecessors = {
        number: draw(st.frozensets(st.integers(0, number - 1))) if number else frozenset()
        for number in range(size)
    }
    references = {
        number: draw(st.frozensets(st.sampled_from(sorted(_before(predecessors, number)))))
        if _before(predecessors, number)
        else frozenset()
        for number in range(size)
    }
    table = {number: tuple(draw(FRACTIONS) for _ in range(messages)) for number in range(size)}
    colours = tuple(draw(st.integers(0, 2)) for _ in range(messages))
    return predecessors, MadeScores(table, references, colours), messages - 1


def _before(predecessors: dict[int, frozenset[int]], number: int) -> frozenset[int]:
    direct = predecessors[number]
    return direct.union(*(_before(predecessors, one) for one in direct))


@given(problems())
def test_the_fast_search_finds_the_official_placement(
    problem: tuple[dict[int, frozenset[int]], MadeScores, int],
) -> None:
    """Same places, same scores, same sum as the official search, ties included."""
    predecessors, scores, last = problem
    slow = search_all(predecessors, scores, first=0, last=last, most_visits=10**6)
    assert slow == find_best(predecessors, scores, first=0, last=last)


@given(problems())
def test_no_placement_is_better(problem: tuple[dict[int, frozenset[int]], MadeScores, int]) -> None:
    """No topological order and no choice of messages gives a greater sum."""
    predecessors, scores, last = problem
    assert (
        best_sum(predecessors, scores, last=last) == find_best(predecessors, scores, first=0, last=last).total
    )


# ---- whole conversations -------------------------------------------------------------------------------

TOOLS = ("f", "g")
WORDS = ("done", "all done", "It is 21", "never")
PEOPLE = (
    {"person_id": "1", "name": "Ada"},
    {"person_id": "2", "name": "Bob"},
    {"person_id": "3", "name": "Cy"},
)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """An opening line, then batches of calls with traces, sentences, and contacts that come and go."""
    messages: list[dict[str, Any]] = [{"sender": "USER", "recipient": "AGENT", "content": "q"}]
    changes: list[dict[str, Any]] = [{"at": 0, "database": "CONTACT", "rows": list(PEOPLE[:2])}]
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.booleans()):
            messages.append({"sender": "AGENT", "recipient": "USER", "content": draw(st.sampled_from(WORDS))})
            continue
        calls = draw(st.lists(st.sampled_from(TOOLS), min_size=1, max_size=2))
        messages += [{"sender": "AGENT", "recipient": "EXECUTION_ENVIRONMENT", "content": "c"} for _ in calls]
        if draw(st.booleans()):
            rows = draw(st.permutations(PEOPLE))[: draw(st.integers(0, 3))]
            changes.append({"at": len(messages), "database": "CONTACT", "rows": rows})
        for name in calls:
            trace: dict[str, Any] = {
                "tool_name": name,
                "arguments": {},
                "result": draw(st.sampled_from((1, 21.0, None))),
            }
            reply = {"sender": "EXECUTION_ENVIRONMENT", "recipient": "AGENT", "content": "None"}
            messages.append({**reply, "tool_trace": [trace]})
    return messages, changes


@st.composite
def definitions(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[list[int]] | None]:
    """Up to three milestones of every kind; references go to milestones with a lower number, or anywhere."""
    size = draw(st.integers(1, 3))
    milestones = [
        {"constraints": draw(st.lists(_constraints(number), min_size=1, max_size=2))}
        for number in range(size)
    ]
    edges = [[left, right] for left, right in itertools.combinations(range(size), 2) if draw(st.booleans())]
    return milestones, draw(st.sampled_from((None, edges)))


def _constraints(number: int) -> st.SearchStrategy[dict[str, Any]]:
    reference = st.integers(-1, max(number - 1, -1))
    said = st.sampled_from(WORDS).map(
        lambda text: {
            "database": "SANDBOX",
            "target": [{"sender": "AGENT", "recipient": "USER", "content": text}],
        }
    )
    called = st.sampled_from(TOOLS).map(lambda name: {"database": "SANDBOX", "target": [_traced(name)]})
    changed = st.builds(
        lambda fn, at, who: {"database": "CONTACT", "fn": fn, "reference": at, "target": [{"name": who}]},
        st.sampled_from(("addition_similarity", "removal_similarity", "update_similarity")),
        reference,
        st.sampled_from(("Ada", "Bob", "Cy")),
    )
    told = reference.map(
        lambda at: {
            "database": "SANDBOX",
            "fn": "tool_trace_dependant_similarity",
            "reference": at,
            "target": [{"sender": "AGENT", "recipient": "USER", "content": "It is {temperature}"}],
            "fill_to": "content",
            "extractor": "result_to_temperature_extractor",
        }
    )
    return st.one_of(said, called, changed, told)


def _traced(name: str) -> dict[str, Any]:
    return {"recipient": "AGENT", "tool_trace": {"tool_name": name, "arguments": {}}}


def match(
    definition: tuple[list[dict[str, Any]], list[list[int]] | None],
    conversation: tuple[list[dict[str, Any]], list[dict[str, Any]]],
    rules: Rules,
    *,
    slowly: bool,
) -> Matching | str:
    """Match by one of the two searches; what either refuses or stops at is named."""
    scenario = make_scenario(*definition)
    history = History(make_ending(*conversation).tables)
    try:
        graph = build_graph(scenario.milestones, scenario.milestone_edges, rules)
        scores = MilestoneScores(graph, history, RelationScorer(rules), rules)
        search = search_all if slowly else find_best
        return search(graph.predecessors, scores, first=history.first, last=history.last)
    except (OfficialCrashError, DefinitionError) as stop:
        return str(stop)


@pytest.mark.parametrize("rules", [OFFICIAL, STRICT], ids=["compat", "strict"])
def test_conversations_match_alike_by_both_searches(rules: Rules) -> None:
    """On conversations of every kind the two searches agree, officially and with all defects mended."""

    @given(definitions(), conversations())
    def law(definition: Any, conversation: Any) -> None:
        fast = match(definition, conversation, rules, slowly=False)
        slow = match(definition, conversation, rules, slowly=True)
        if isinstance(fast, str) or isinstance(slow, str):
            return  # where the official search may raise, the evaluator walks its very path
        assert fast.placed == slow.placed
        assert math.isclose(fast.total, slow.total, abs_tol=1e-12)

    law()


@given(definitions(), conversations(), st.sets(st.sampled_from(FIXES)))
def test_every_definition_has_a_named_outcome(definition: Any, conversation: Any, fixes: set[str]) -> None:
    """Whatever defects are mended, a conversation has a fraction, a crash by name, or a refusal by name."""
    found = evaluate_ending(make_scenario(*definition), make_ending(*conversation), frozenset(fixes))
    assert found.crash or found.refused or 0.0 <= found.similarity <= 1.0


# ---- rows and texts ------------------------------------------------------------------------------------

COSTS = st.one_of(st.integers(0, 9).map(float), st.just(math.inf))


@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(st.lists(COSTS, min_size=n, max_size=n), min_size=n, max_size=n)
    )
)
def test_assignment_is_the_best_permutation(costs: list[list[float]]) -> None:
    """Rows get the columns that no permutation undercuts, or none when every permutation is impossible."""
    sums = [
        sum(costs[row][column] for row, column in enumerate(order))
        for order in itertools.permutations(range(len(costs)))
    ]
    chosen = assign_rows(costs)
    assert (None if min(sums) == math.inf else min(sums)) == (
        None if chosen is None else sum(costs[row][column] for row, column in enumerate(chosen))
    )


@given(st.lists(st.sampled_from("abcd"), max_size=8), st.lists(st.sampled_from("abcd"), max_size=8))
def test_rouge_is_the_textbook_subsequence(left: list[str], right: list[str]) -> None:
    """F is 2 L / (m + n) with L from the textbook table."""
    longest = _longest(left, right)
    expected = 2 * longest / (len(left) + len(right)) if longest else 0.0
    found = TextScorer().f_measure(" ".join(left), " ".join(right))
    assert math.isclose(expected, found, abs_tol=1e-12)


def _longest(left: list[str], right: list[str]) -> int:
    row = [0] * (len(right) + 1)
    for one in left:
        above = row
        row = [0]
        for place, other in enumerate(right):
            row.append(above[place] + 1 if one == other else max(above[place + 1], row[-1]))
    return row[-1]


@given(
    st.text(st.characters(max_codepoint=126), max_size=40),
    st.text(st.characters(max_codepoint=126), max_size=40),
)
def test_wide_words_change_nothing_in_ascii(left: str, right: str) -> None:
    """For ASCII texts the mended words are the official ones."""
    assert TextScorer().f_measure(left, right) == TextScorer(wide=True).f_measure(left, right)


@given(conversations())
def test_a_record_scores_as_the_conversation_itself(conversation: Any) -> None:
    """A conversation written as JSON and read back scores alike."""
    scenario = make_scenario([{"constraints": [{"database": "SANDBOX", "target": [{"content": "done"}]}]}])
    ending = make_ending(*conversation)
    stored = type(ending.tables).from_json(json.loads(json.dumps(ending.tables.to_json())))
    again = evaluate_ending(scenario, type(ending)(tables=stored), OFFICIAL)
    assert evaluate_ending(scenario, ending, OFFICIAL) == again
