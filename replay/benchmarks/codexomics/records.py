"""What one test expects and what was observed, as the evaluators read them.

Owns the decoding of a test's oracle (spec section 2) and the four assessment tiers by name (spec section 7).
A test without an expected tool decodes to no steps; it can never pass.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Mapping
from typing import Final

from replay.benchmarks.codexomics.naming import tool_key
from replay.core.types import Json, Record

__all__ = [
    "ANY_OF",
    "BENCHMARK",
    "DEFAULT",
    "ExpectedCall",
    "ObservedCall",
    "Oracle",
    "Tier",
    "prompt_hash",
    "read_oracle",
    "task_id",
]

BENCHMARK: Final = "codexomics"
DEFAULT: Final = "benchmarkDefaultValue"
ANY_OF: Final = "benchmarkAnyOf"
_MAX_CALLS: Final = 1_000
"""Steps of one test; a larger repeat count is cut here, and such a test cannot pass by accident."""


class Tier(enum.StrEnum):
    """The assessment tiers under their reported names."""

    CONTRACT = "native-function-contract"
    EXECUTION = "real-tool-execution"
    COMPLETION = "task-completion-contract"
    COMPLETION_EXECUTED = "task-completion-execution"

    @property
    def is_completion(self) -> bool:
        """True when steps may come in any order and extras may be tolerated."""
        return self in (Tier.COMPLETION, Tier.COMPLETION_EXECUTED)

    @property
    def needs_execution(self) -> bool:
        """True when a call must be seen to have run and succeeded."""
        return self in (Tier.EXECUTION, Tier.COMPLETION_EXECUTED)


class ExpectedCall(Record, frozen=True, kw_only=True):
    """One step of the oracle."""

    tools: tuple[str, ...]
    """Acceptable tools, folded."""
    parameters: dict[str, Json]
    is_order_free: bool = False

    @property
    def name(self) -> str:
        """The tools as one text."""
        return " or ".join(self.tools)


class ObservedCall(Record, frozen=True, kw_only=True):
    """One call of this request, with what is known of its execution."""

    tool: str
    """Name as it was called."""
    parameters: dict[str, Json]
    executed: bool = False
    success: bool | None = None
    """None: unknown, which is not success."""
    result: Json = None
    """What the call answered, where it is known; only the corrected evaluator reads it."""
    has_result: bool = False
    schema_valid: bool | None = None
    """What the record itself says; None: to be validated."""
    is_contradicted: bool = False
    """Its evidence fields say opposite things of its execution."""
    broken_arguments: bool = False
    """The arguments were text that is no JSON object; upstream takes them for {}."""

    @property
    def key(self) -> str:
        """Folded tool name."""
        return tool_key(self.tool)


class Oracle(Record, frozen=True, kw_only=True):
    """Everything a verdict needs of a test."""

    steps: tuple[ExpectedCall, ...]
    max_score: int
    call_only: bool = False


def read_oracle(test: Mapping[str, Json], *, keep_repeated_parameters: bool = False) -> Oracle:
    """Read the oracle of a test.

    Source:  spec 2 and defect 11: a repeat count over 1 drops the expected parameters upstream.
             Differs: `keep_repeated_parameters` keeps them.
    """
    expected = test.get("expectedResult")
    expected = expected if isinstance(expected, dict) else {}
    free = {tool_key(name) for name in _list(expected.get("orderInsensitiveTools")) if isinstance(name, str)}
    sequence = expected.get("tool_sequence")
    if isinstance(sequence, list) and sequence:
        given = expected.get("parameters")
        listed = given if isinstance(given, list) else [given]
        entries = [(entry, listed[i] if i < len(listed) else {}) for i, entry in enumerate(sequence)]
    else:
        entries = _repeated(expected, keep_parameters=keep_repeated_parameters)
    steps = [_step(entry, parameters, free) for entry, parameters in entries]
    return Oracle(
        steps=tuple(step for step in steps if step.tools),
        max_score=_max_score(test),
        call_only=test.get("assertCallOnly") is True,
    )


def prompt_hash(instruction: str) -> str:
    """SHA-256 of an instruction as records carry it."""
    return hashlib.sha256(instruction.encode("utf-8", "surrogatepass")).hexdigest()


def task_id(suite: str, test: str) -> str:
    """Key of a test: ids alone occur in both suites."""
    return f"{suite}/{test}"


def _repeated(expected: Mapping[str, Json], *, keep_parameters: bool) -> list[tuple[Json, Json]]:
    name = expected.get("tool_name")
    if not name:
        return []
    counts = (expected.get("expectedCallCount"), expected.get("expectedTabsIncrease"))
    count = next((n for n in counts if isinstance(n, int) and not isinstance(n, bool) and n > 0), 1)
    given = expected.get("parameters")
    parameters = given if count == 1 or keep_parameters else {}
    return [(name, parameters)] * min(count, _MAX_CALLS)


def _step(entry: Json, parameters: Json, free: set[str]) -> ExpectedCall:
    names = entry if isinstance(entry, list) else [entry]
    tools = tuple(tool_key(name) for name in names if isinstance(name, str) and name.strip())
    return ExpectedCall(
        tools=tools,
        parameters=parameters if isinstance(parameters, dict) else {},
        is_order_free=any(tool in free for tool in tools),
    )


def _max_score(test: Mapping[str, Json]) -> int:
    given = test.get("maxScore")
    if isinstance(given, int) and not isinstance(given, bool) and given > 0:
        return given
    return 10 if test.get("complexity") == "complex" else 5


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
