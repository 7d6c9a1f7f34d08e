"""Assessments in upstream's report form: `evaluation`, records, summary (spec section 9)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from replay.benchmarks.codexomics.records import ObservedCall, Tier
from replay.benchmarks.codexomics.scoring.assessment import Assessment, Counts, StepMatch, share
from replay.core.types import Json

__all__ = ["evaluation_json", "summary_json"]

SCHEMA_VERSION: Final = "1.0"
_MODES: Final = {
    Tier.CONTRACT: "contract",
    Tier.EXECUTION: "execution",
    Tier.COMPLETION: "completion",
    Tier.COMPLETION_EXECUTED: "completion",
}


def evaluation_json(found: Assessment, calls: Sequence[ObservedCall], retrieval: Json = None) -> Json:
    """Lay an assessment out as the `evaluation` of a record."""
    details: dict[str, Json] = {
        "scoringMode": found.scorer,
        "assessmentMode": _MODES[found.asked_tier],
        "assessmentTier": found.tier.value,
        "executionRequired": found.tier.needs_execution,
        "expectedTools": list(found.expected_tools),
        "actualTools": list(found.actual_tools),
        "unexpectedCalls": list(found.unexpected_calls),
        **_counts_json(found.counts),
        "weightedRatio": round(found.weighted_ratio, 9),
        "matches": [_match_json(match) for match in found.matches],
        "calls": [
            {"toolName": call.tool, "executed": call.executed, "success": call.success} for call in calls
        ],
        "recovered": found.recovered,
    }
    if retrieval is not None:
        details["retrieval"] = retrieval
    return {
        "success": found.success,
        "score": found.score,
        "maxScore": found.max_score,
        "errors": list(found.errors),
        "warnings": list(found.warnings),
        "details": details,
    }


def _counts_json(counts: Counts) -> dict[str, Json]:
    contract = counts.sequence_ok and counts.arguments_ok and counts.schemas_ok
    names = ("call_observed", "arguments", "schema_valid", "execution_observed", "execution_success")
    return {
        "matchedCount": counts.tool_matches,
        "parameterMatches": counts.parameter_matches,
        "schemaValidCount": counts.schema_valid,
        "executionMatches": counts.succeeded,
        "executionObservedCount": counts.executed,
        "executionSuccessCount": counts.succeeded,
        "executionFailureCount": counts.failed,
        "executionUnknownCount": counts.executed - counts.succeeded - counts.failed,
        "exactSequence": counts.sequence_ok,
        "argumentsExact": counts.arguments_ok,
        "schemasExact": counts.schemas_ok,
        "executionExact": counts.execution_ok,
        "contractSatisfied": contract,
        "executionSatisfied": contract and counts.execution_ok,
        "metrics": dict(zip(names, counts.shares(), strict=True)),
    }


def summary_json(
    records: Sequence[Mapping[str, Json]], scope: Mapping[str, Json], tier: str, scorer: str
) -> Json:
    """Make a report's `summary` of its records; accuracy and average partial score are two columns."""
    first = records[0] if records else {}
    return {
        "schema_version": SCHEMA_VERSION,
        "scorer": scorer,
        "assessment_tier": tier,
        "provider": "replay",
        "model": "candidate",
        "started_at": None,
        "completed_at": None,
        "deterministic_options": first.get("request_settings"),
        "tool_result_mode": first.get("tool_result_mode", scope.get("results")),
        "harness_mode": scope.get("mode"),
        "harness_assistance": first.get("harness_assistance"),
        "registry_hash": scope.get("registry"),
        "suite_fingerprint": scope.get("suites"),
        "expected_tools": scope.get("expected_tools"),
        "benchmark_scope": {
            "simple": sum(1 for record in records if not _is_complex(record)),
            "complex": sum(1 for record in records if _is_complex(record)),
            "manual": 0,
        },
        "overall": _level(records),
        "automatic_simple": _level([record for record in records if not _is_complex(record)]),
        "automatic_complex": _level([record for record in records if _is_complex(record)]),
    }


def _is_complex(record: Mapping[str, Json]) -> bool:
    return str(record.get("suite_id", "")).endswith("complex")


def _level(records: Iterable[Mapping[str, Json]]) -> Json:
    kept = list(records)
    evaluations = [record["evaluation"] for record in kept]
    passed = sum(1 for evaluation in evaluations if evaluation["success"])
    ratios = [evaluation["score"] / evaluation["maxScore"] for evaluation in evaluations]
    return {
        "tests": len(kept),
        "passed": passed,
        "failed": len(kept) - passed,
        "accuracy": share(passed, len(kept)),
        "average_score_ratio": math.fsum(ratios) / len(ratios) if ratios else 0.0,
        "prompt_tokens": sum(_count(record.get("prompt_tokens")) for record in kept),
        "completion_tokens": sum(_count(record.get("completion_tokens")) for record in kept),
    }


def _match_json(match: StepMatch) -> Json:
    arguments = match.arguments
    diagnostics = None
    if arguments is not None:
        diagnostics = {
            "match": arguments.match,
            "checked": arguments.checked,
            "matched": arguments.matched,
            "mismatches": [msgspec.to_builtins(item) for item in arguments.mismatches],
            "aliasMatches": list(arguments.alias_matches),
            "defaultOmissions": list(arguments.default_omissions),
            "contextMatches": list(arguments.context_matches),
        }
    return {
        "expectedIndex": match.expected_index,
        "expectedTool": match.expected_tool,
        "actualIndex": match.actual_index,
        "callObserved": match.actual_index is not None,
        "parametersMatch": arguments is not None and arguments.match,
        "argumentDiagnostics": diagnostics,
    }


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
