"""Three candidates without a model, published beside every score (spec section 10.6).

oracle-echo submits exactly the oracle's values, empty-arguments the right tools with nothing else, and
last-step-missing all steps but the last. Their calls count as schema-valid, so that they measure the
evaluator and not the age of a registry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from replay.benchmarks.codexomics.naming import is_marker_text, placeholder_name
from replay.benchmarks.codexomics.records import (
    ANY_OF,
    DEFAULT,
    ExpectedCall,
    ObservedCall,
    Tier,
    read_oracle,
)
from replay.benchmarks.codexomics.scoring.evaluator import Registry, assess
from replay.benchmarks.codexomics.scoring.rules import OFFICIAL, Rules
from replay.core.types import Json, Record

__all__ = [
    "BASELINES",
    "Baseline",
    "baseline_calls",
    "echo_parameters",
    "judge_baselines",
    "measure_baselines",
]

_CONCRETE: Final[Mapping[str, Json]] = {
    "created_annotation_id": "user_1700000000000_a1b2c3",
    "created_protein_database": "genome_protein",
    "current_chromosome": "U00096",
}
"""Values that placeholders with rules of their own accept."""
_ANY_VALUE: Final = "value"
_BY_TYPE: Final[Mapping[str, Json]] = {
    "array": [{"size": 1000}],
    "boolean": True,
    "integer": 1,
    "number": 1,
    "object": {},
}
"""Values that stand for another one where a schema wants no text."""
_UNJUDGED: Final = Registry(schemas={}, knows_all=False)


class Baseline(Record, frozen=True, kw_only=True):
    """What one baseline comes to over a set of tests."""

    tests: int
    passed: int
    average_score_ratio: float
    weighted_ratio: float


def echo_parameters(wanted: Mapping[str, Json], schema: Json = None) -> dict[str, Json]:
    """Write out an oracle's parameters: defaults as their values, the first group with keys of its own.

    schema: of the tool; what stands for another value gets one of the type that its schema names.
    """
    properties = schema.get("properties") if isinstance(schema, dict) else None
    properties = properties if isinstance(properties, dict) else {}
    made: dict[str, Json] = {}
    for name, value in wanted.items():
        if name == ANY_OF:
            groups = [group for group in value if isinstance(group, dict)] if isinstance(value, list) else []
            own = [group for group in groups if any(key != ANY_OF for key in group)]
            made |= echo_parameters(own[0], schema) if own else {}
        else:
            made[name] = _typed(value, properties[name]) if name in properties else _echo(value)
    return made


def baseline_calls(name: str, test: Mapping[str, Json]) -> tuple[ObservedCall, ...]:
    """Make the calls that a baseline submits for a test; each ran and succeeded."""
    return BASELINES[name](read_oracle(test, keep_repeated_parameters=True).steps)


def judge_baselines(
    test: Mapping[str, Json], tier: Tier, *, rules: Rules = OFFICIAL
) -> dict[str, tuple[bool, float, float]]:
    """Judge each baseline on one test: passed, score ratio, weighted ratio."""
    found = {}
    for name in BASELINES:
        calls = baseline_calls(name, test)
        if not tier.needs_execution:
            calls = tuple(ObservedCall(tool=call.tool, parameters=call.parameters) for call in calls)
        assessment = assess(test, calls, tier, _UNJUDGED, rules=rules)
        found[name] = (assessment.success, assessment.ratio, assessment.weighted_ratio)
    return found


def measure_baselines(
    tests: Iterable[Mapping[str, Json]], tier: Tier, *, rules: Rules = OFFICIAL
) -> dict[str, Baseline]:
    """Measure each baseline over tests."""
    rows = [judge_baselines(test, tier, rules=rules) for test in tests]
    return {
        name: Baseline(
            tests=len(rows),
            passed=sum(row[name][0] for row in rows),
            average_score_ratio=_mean([row[name][1] for row in rows]),
            weighted_ratio=_mean([row[name][2] for row in rows]),
        )
        for name in BASELINES
    }


def _call(step: ExpectedCall, parameters: dict[str, Json]) -> ObservedCall:
    return ObservedCall(tool=step.tools[0], parameters=parameters, executed=True, success=True)


def _all_values(steps: Sequence[ExpectedCall]) -> tuple[ObservedCall, ...]:
    return tuple(_call(step, echo_parameters(step.parameters)) for step in steps)


def _no_values(steps: Sequence[ExpectedCall]) -> tuple[ObservedCall, ...]:
    return tuple(_call(step, {}) for step in steps)


def _all_but_last(steps: Sequence[ExpectedCall]) -> tuple[ObservedCall, ...]:
    return _all_values(steps)[:-1]


BASELINES: Final[Mapping[str, Callable[[Sequence[ExpectedCall]], tuple[ObservedCall, ...]]]] = {
    "oracle-echo": _all_values,
    "empty-arguments": _no_values,
    "last-step-missing": _all_but_last,
}
"""How each baseline makes its calls."""


def _echo(value: Json) -> Json:
    if isinstance(value, dict):
        return _echo(value[DEFAULT]) if DEFAULT in value else echo_parameters(value)
    if isinstance(value, list):
        return [_echo(item) for item in value]
    if is_marker_text(value):
        return _CONCRETE.get(placeholder_name(value) or "", _ANY_VALUE)
    return value


def _typed(value: Json, schema: Json) -> Json:
    kind = schema.get("type") if isinstance(schema, dict) and is_marker_text(value) else None
    if isinstance(kind, str) and kind in _BY_TYPE:
        return _BY_TYPE[kind]
    return _echo(value)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
