"""Two agents that do nothing, as conversations: what a score is worth shows beside theirs.

do-nothing declines in one sentence. last-sentence says what the scenario's last text milestone expects,
without a call: a liar where something was to be done, and right where there is nothing to do. Source:
section 11 of the specification, measured with upstream's evaluator.
"""

from __future__ import annotations

from typing import Final

from replay.benchmarks.toolsandbox.records import Ending, Scenario
from replay.benchmarks.toolsandbox.world.schema import AGENT, SANDBOX, USER
from replay.benchmarks.toolsandbox.world.tables import Tables

__all__ = ["BASELINES", "make_baseline"]

DO_NOTHING: Final = "do-nothing"
LAST_SENTENCE: Final = "last-sentence"
BASELINES: Final = (DO_NOTHING, LAST_SENTENCE)

_REFUSAL: Final = "I regret that I cannot do anything about this."


def make_baseline(name: str, scenario: Scenario) -> Ending:
    """Lay out the conversation of a baseline agent from the scenario's start."""
    sentence = _last_sentence(scenario) if name == LAST_SENTENCE else _REFUSAL
    tables = Tables.start({table: rows for table, rows in scenario.tables.items() if table != SANDBOX})
    tables.add(SANDBOX, scenario.messages)
    said = {"sender": AGENT, "recipient": USER, "content": sentence, "visible_to": [AGENT, USER]}
    tables.add(SANDBOX, [said])
    return Ending(tables=tables)


def _last_sentence(scenario: Scenario) -> str:
    """What the last constraint on the agent's words expects, be it a fragment; else the refusal."""
    for milestone in reversed(scenario.milestones):
        for constraint in reversed(milestone.constraints):
            for row in constraint.target:
                spoken = row.get("content")
                if row.get("sender") == AGENT and row.get("recipient") == USER and isinstance(spoken, str):
                    return spoken
    return _REFUSAL
