"""The strict evaluator: structured calls of one request against one test's oracle, under one tier.

With all corrections off this is `strict-automatic-v2`, bug for bug; with all on, the corrected evaluator.
Source: spec sections 6 and 7 (StrictBenchmarkEvaluator at 17a3951). Differs where `rules.Rules` says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from replay.benchmarks.codexomics.naming import camel_key, tool_key
from replay.benchmarks.codexomics.records import ObservedCall, Oracle, Tier, read_oracle
from replay.benchmarks.codexomics.schemas import schema_errors
from replay.benchmarks.codexomics.scoring.arguments import ArgumentMatch, match_arguments
from replay.benchmarks.codexomics.scoring.assessment import (
    Assessment,
    Counts,
    StepMatch,
    partial_score,
    weighted_ratio,
)
from replay.benchmarks.codexomics.scoring.extras import is_tolerated
from replay.benchmarks.codexomics.scoring.flow import NO_FLOW, flow_before
from replay.benchmarks.codexomics.scoring.messages import Findings, describe
from replay.benchmarks.codexomics.scoring.pairing import is_exact_sequence, pair_calls
from replay.benchmarks.codexomics.scoring.repairs import repair_call
from replay.benchmarks.codexomics.scoring.rules import (
    CORRECTED_SCORER,
    OFFICIAL,
    OFFICIAL_SCORER,
    Rules,
)
from replay.benchmarks.codexomics.scoring.values import ValueRules
from replay.core.types import Json, Record

__all__ = ["Registry", "assess"]


class Registry(Record, frozen=True, kw_only=True):
    """The schemas calls are validated with."""

    schemas: dict[str, Json]
    """Folded tool name to schema."""
    knows_all: bool = True
    """True: a tool that is not there is unknown, and a call of it invalid. False: it is not judged."""
    trusts_record: bool = False
    """True: a record of another registry says itself which of its calls were valid."""
    facts: dict[str, Json] = msgspec.field(default_factory=dict)
    """What the fixture fixes, such as current_chromosome; only the corrected evaluator looks."""


def assess(
    test: Mapping[str, Json],
    calls: Sequence[ObservedCall],
    tier: Tier,
    registry: Registry,
    *,
    rules: Rules = OFFICIAL,
) -> Assessment:
    """Judge the observed calls of one case under a tier."""
    oracle = read_oracle(test, keep_repeated_parameters=rules.repeated_parameters)
    return _Case(oracle, tuple(calls), tier, registry, rules).judge()


class _Case:
    """One case at work."""

    def __init__(
        self, oracle: Oracle, calls: tuple[ObservedCall, ...], tier: Tier, registry: Registry, rules: Rules
    ) -> None:
        self._oracle = oracle
        self._steps = oracle.steps
        self._tier = tier
        self._registry = registry
        self._rules = rules
        repaired = tuple(map(repair_call, calls)) if tier.is_completion else calls
        faults = [self._schema_faults(call) for call in repaired]
        kept = _keep_unrecovered(repaired, faults) if rules.recovery else list(range(len(repaired)))
        self._recovered = len(repaired) - len(kept)
        self._calls = tuple(repaired[i] for i in kept)
        self._faults = [faults[i] for i in kept]
        self._compared: dict[tuple[int, int], ArgumentMatch] = {}

    def judge(self) -> Assessment:
        """Pair, compare, count and decide."""
        steps, calls = self._steps, self._calls
        pairs = pair_calls(
            steps,
            calls,
            lambda i, j: self._compare(i, j).match,
            completion=self._tier.is_completion,
            best=self._rules.best_pairing,
        )
        matches = tuple(
            StepMatch(
                expected_index=i,
                expected_tool=step.name,
                actual_index=pairs[i],
                arguments=None if (j := pairs[i]) is None else self._compare(i, j),
            )
            for i, step in enumerate(steps)
        )
        found = [j for j in pairs if j is not None]
        unexpected = [
            j
            for j in range(len(calls))
            if j not in found and not (self._tier.is_completion and self._tolerates(j))
        ]
        return self._decide(matches, [calls[j] for j in found], unexpected)

    def _decide(
        self, matches: tuple[StepMatch, ...], found: list[ObservedCall], unexpected: list[int]
    ) -> Assessment:
        counts = self._count(matches, found)
        tier = self._verdict_tier()
        success = self._passes(counts, unexpected)
        ratio = weighted_ratio(counts.shares(), with_execution=self._weighs_execution(tier))
        findings = Findings(
            matches=matches,
            calls=self._calls,
            schema_faults=tuple(self._faults),
            unexpected=tuple(unexpected),
            sequence_ok=counts.sequence_ok,
            order_free=self._tier.is_completion,
            needs_execution=self._needs_execution(),
        )
        return Assessment(
            success=success,
            score=partial_score(ratio, self._oracle.max_score, success=success),
            max_score=self._oracle.max_score,
            weighted_ratio=ratio,
            tier=tier,
            asked_tier=self._tier,
            scorer=OFFICIAL_SCORER if self._rules == OFFICIAL else CORRECTED_SCORER,
            counts=counts,
            expected_tools=tuple(step.name for step in self._steps),
            actual_tools=tuple(call.key for call in self._calls),
            unexpected_calls=tuple(self._calls[j].key for j in unexpected),
            matches=matches,
            schema_flags=tuple(not faults for faults in self._faults),
            errors=() if success else describe(findings),
            warnings=_warnings(self._calls),
            recovered=self._recovered,
        )

    def _count(self, matches: tuple[StepMatch, ...], found: list[ObservedCall]) -> Counts:
        steps, calls = self._steps, self._calls
        in_order = is_exact_sequence(steps, calls)
        return Counts(
            expected=len(steps),
            observed=len(calls),
            tool_matches=len(found),
            parameter_matches=sum(1 for match in matches if match.arguments and match.arguments.match),
            schema_valid=sum(1 for faults in self._faults if not faults),
            executed=sum(1 for call in found if call.executed),
            succeeded=sum(1 for call in found if self._succeeded(call)),
            failed=sum(1 for call in found if call.executed and call.success is False),
            sequence_ok=len(found) == len(steps) > 0 if self._tier.is_completion else in_order,
        )

    def _succeeded(self, call: ObservedCall) -> bool:
        doubted = self._rules.honest_evidence and call.is_contradicted
        return call.executed and call.success is True and not doubted

    def _passes(self, counts: Counts, unexpected: list[int]) -> bool:
        """The tier's pass conditions; extra calls fail a strict tier by its sequence already."""
        satisfied = counts.sequence_ok and counts.arguments_ok and counts.schemas_ok
        if self._needs_execution() and not counts.execution_ok:
            return False
        judges_extras = self._rules.call_only_extras or not self._oracle.call_only
        if self._tier.is_completion and judges_extras and unexpected:
            return False
        return satisfied

    def _verdict_tier(self) -> Tier:
        """Call-only tests are judged as contracts whatever was asked (defect 2)."""
        switches = self._oracle.call_only and not self._rules.call_only_extras
        return Tier.CONTRACT if switches else self._tier

    def _needs_execution(self) -> bool:
        return self._tier.needs_execution and not self._oracle.call_only

    def _weighs_execution(self, verdict_tier: Tier) -> bool:
        if verdict_tier is Tier.CONTRACT:
            return False
        return self._needs_execution() if self._rules.offline_ratio else True

    def _tolerates(self, index: int) -> bool:
        call = self._calls[index]
        if self._rules.destructive_extras and _repeats_nothing_new(call, index, self._calls):
            return True
        values = ValueRules(completion=True, rules=self._rules, flow=NO_FLOW)
        return is_tolerated(call, self._steps, self._calls, values)

    def _compare(self, step: int, call: int) -> ArgumentMatch:
        known = self._compared.get((step, call))
        if known is None:
            needs_flow = self._rules != OFFICIAL
            flow = flow_before(self._calls, call, self._registry.facts) if needs_flow else NO_FLOW
            observed = self._calls[call]
            is_strict_tier = not self._tier.is_completion
            known = match_arguments(
                self._steps[step],
                observed,
                ValueRules(completion=self._tier.is_completion, rules=self._rules, flow=flow),
                schema_valid=not self._faults[call],
                defaults=self._defaults(observed) if self._rules.exact_keys and is_strict_tier else None,
            )
            self._compared[step, call] = known
        return known

    def _defaults(self, call: ObservedCall) -> dict[str, Json]:
        schema = self._registry.schemas.get(call.key)
        properties = schema.get("properties") if isinstance(schema, dict) else None
        listed = properties.items() if isinstance(properties, dict) else ()
        return {camel_key(n): p["default"] for n, p in listed if isinstance(p, dict) and "default" in p}

    def _schema_faults(self, call: ObservedCall) -> tuple[str, ...]:
        schema = self._registry.schemas.get(call.key)
        if self._registry.trusts_record and call.schema_valid is not None:
            # What a completion tier puts right may be valid where the call as it was made is not.
            repaired = self._tier.is_completion and schema is not None
            is_valid = call.schema_valid or (repaired and not schema_errors(schema, call.parameters))
            return () if is_valid else ("its record says so",)
        if schema is None:
            known = not self._registry.knows_all
            return () if known else (f"no tool {tool_key(call.tool)!r} in the registry",)
        return schema_errors(schema, call.parameters)


def _keep_unrecovered(calls: Sequence[ObservedCall], faults: Sequence[tuple[str, ...]]) -> list[int]:
    """Leave out calls that changed nothing and were put right: rejected or failed, then one that was not."""
    sound = [not faults[i] and not (call.executed and call.success is False) for i, call in enumerate(calls)]
    return [
        i
        for i, call in enumerate(calls)
        if sound[i] or not any(sound[j] and calls[j].key == call.key for j in range(i + 1, len(calls)))
    ]


def _repeats_nothing_new(call: ObservedCall, index: int, calls: Sequence[ObservedCall]) -> bool:
    """Tell whether an extra call was refused as a repeat: it ran nothing, so it changed nothing."""
    return not call.executed and any(
        other.key == call.key and other.parameters == call.parameters
        for place, other in enumerate(calls)
        if place < index
    )


def _warnings(calls: Sequence[ObservedCall]) -> tuple[str, ...]:
    return tuple(
        f"call {index} ({call.key}): arguments are no JSON object, taken for none"
        for index, call in enumerate(calls, start=1)
        if call.broken_arguments
    )
