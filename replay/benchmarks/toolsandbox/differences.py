"""How this benchmark as played and scored here differs from upstream's program: the whole table.

The scoring side owns its own entries; what a conversation does differently is here.
"""

from __future__ import annotations

from typing import Final

from replay.benchmarks.toolsandbox.scoring.differences import SCORE_DIFFERENCES
from replay.core.protocols import KnownDifference

__all__ = ["DIFFERENCES", "PLAY_DIFFERENCES"]

_AT: Final = "at 165848b"


def _entry(name: str, what: str, why: str, source: str) -> KnownDifference:
    return KnownDifference(id=f"play-{name}", what=what, why=why, source=f"{source} {_AT}")


PLAY_DIFFERENCES: Final = (
    _entry(
        "clock",
        "tools, starting rows and targets read the machine's clock and zone at different moments",
        "one frozen clock and UTC for all of them: a run across midnight would disagree with its own targets",
        "tools/utilities.py, scenarios/",
    ),
    _entry(
        "identifiers",
        "new rows get random identifiers",
        "identifiers are made from task and message, so that a replay gives the same bits",
        "tools/contact.py, messaging.py, reminder.py",
    ),
    _entry(
        "external-apis",
        "five tools call live APIs with a key, once for every order of a batch; a failing API is an "
        "exception that the agent reads as an answer",
        "recorded JSON answers them, one answer a question whatever the order; a question never recorded "
        "ends the episode as a named miss, unscored",
        "tools/rapid_api_search_tools.py",
    ),
    _entry(
        "no-interpreter",
        "calls are run as Python text: an id that is no identifier and NaN are syntax and name errors",
        "the text is read as data and never run; the same calls fail, with one fixed text for what would not "
        "compile, where Python's text differs by version",
        "roles/execution_environment.py",
    ),
    _entry(
        "failure-by-exception",
        "any line on standard error, a warning too, counts as a failed call and may end the scenario",
        "a call has failed when its tool raised",
        "roles/execution_environment.py",
    ),
    _entry(
        "orders",
        "all k! orders of a batch are run",
        "orders that cannot differ are left out; a batch with over 6,000 calls to try is refused by name",
        "roles/execution_environment.py",
    ),
    _entry(
        "memory-address",
        "the text of a failed removal holds a memory address",
        "it is 0x0, as everything hashed must be the same in every process",
        "common/execution_context.py",
    ),
    _entry(
        "agent-fault",
        "a call of an unknown tool and arguments that are no JSON end the scenario",
        "strict rules send such a call all the same: the environment's error is the reply, and the agent may "
        "go on; compat ends the episode and names the exception",
        "roles/openai_api_agent.py",
    ),
    _entry(
        "call-ids",
        "the provider's call id becomes a Python name as it stands, so that one with a dash fails every call",
        "strict rules write an identifier made from it",
        "common/message_conversion.py",
    ),
    _entry(
        "greedy",
        "agent and user simulator run at the provider's default temperature",
        "both are greedy unless asked otherwise",
        "roles/openai_api_agent.py, openai_api_user.py",
    ),
    _entry(
        "own-words",
        "prompts, demonstrations and tool descriptions",
        "our own words stand in their places unless the imported dump carries upstream's",
        "roles/, scenarios/user_simulator_few_shot_examples.py, tools/",
    ),
    _entry(
        "user-fault",
        "a user simulator that says nothing is asked again up to three times, then the scenario is lost",
        "such an episode ends as user-failed and is unscored: it is not the agent's fault",
        "roles/openai_api_user.py",
    ),
    _entry(
        "currency-codes",
        "codes are those of the installed version of a library",
        "a frozen list: which codes exist changes with time",
        "common/validators.py",
    ),
)
"""What a conversation does differently."""

DIFFERENCES: Final = (*PLAY_DIFFERENCES, *SCORE_DIFFERENCES)
