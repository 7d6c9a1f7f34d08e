"""Where episodes differ from upstream's program, and why: one entry a reason.

Sources are files of ACEBench at commit 56dd66c.
"""

from __future__ import annotations

from typing import Final

from replay.core.protocols import KnownDifference

__all__ = ["PLAY_DIFFERENCES"]

_AGENTS: Final = "model_inference/multi_turn, model_inference/multi_step"
_SANDBOX: Final = "model_inference/multi_turn/scenarios*, model_inference/multi_step/scenarios*"


def _entry(name: str, what: str, why: str, source: str) -> KnownDifference:
    return KnownDifference(id=name, what=what, why=why, source=source)


PLAY_DIFFERENCES: Final = (
    _entry(
        "agent-text-run",
        "An agent's calls are written again as Python text and run, so a call inside an argument runs too.",
        "Nothing is run on either side: tools are called by name with literals, a call inside an argument is"
        " the undefined name that it mostly is upstream. A built-in named there would have run.",
        _AGENTS,
    ),
    _entry(
        "agent-text-length",
        "A message of any length is parsed.",
        "A message over 65,536 characters that is not made of plain literals is no call.",
        _AGENTS,
    ),
    _entry(
        "state-across-episodes",
        "Sandbox objects live as long as the process: a second run of a task goes on from the first one's"
        " end state.",
        "Every episode starts from the task's own start state.",
        _AGENTS,
    ),
    _entry(
        "trailing-blank",
        "A blank or line break after the closing bracket makes a call no call: it goes to the user, or earns"
        " a nudge.",
        "Strict rules run the call.",
        _AGENTS,
    ),
    _entry(
        "errors-in-letters",
        "In multi-turn tasks an error ends the message with a constant text that the agent sees as a list of"
        " 32 letters; in multi-step tasks it is Python's own text.",
        "Strict rules show one readable error a call and carry out the calls after it.",
        _AGENTS,
    ),
    _entry(
        "result-repeated",
        "An unknown tool after a known one repeats the known one's result.",
        "Strict rules name the unknown tool.",
        _AGENTS,
    ),
    _entry(
        "own-words-unseen",
        "The multi-step agent never sees what it said itself, and its end phrase counts from its second"
        " message on.",
        "Strict rules show it its own messages and take the end phrase when it comes.",
        _AGENTS,
    ),
    _entry(
        "state-unless-executed",
        "Nothing is saved when no message was carried out whole, even if a call before an error changed"
        " something.",
        "Strict rules always look at the end state.",
        _AGENTS,
    ),
    _entry(
        "sandbox-crashes",
        "A message that was sent has no time, so that asking for the newest or oldest one fails; a wrong"
        " password, an unknown flight or cabin fail in Python; Chinese order and reminder searches fail.",
        "Strict rules leave messages without a time out of the question and answer the others in words.",
        _SANDBOX,
    ),
    _entry(
        "open-helpers",
        "Public helper methods of the travel desk can be called by the agent, balances included.",
        "Under strict rules they are no tools.",
        _SANDBOX,
    ),
    _entry(
        "chinese-step-prompt",
        "Models behind an API are shown the Chinese multi-step system prompt for English tasks.",
        "Both rules show the task's own language; option step_language=zh shows what upstream shows.",
        "model_inference/apimodel_inference.py",
    ),
    _entry(
        "user-as-system",
        "The simulated user finds its own replies under the role system.",
        "Compat has it so; strict has the role assistant. Option user_reply_role chooses.",
        "model_inference/multi_turn/APIModel_user.py",
    ),
)
"""Differences of episodes; those of scores are kept by the benchmark."""
