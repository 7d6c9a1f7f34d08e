"""One outcome -> verdicts: strict accuracy, average partial score, retrieval recall.

Both evaluators judge every outcome; where they disagree, the correction that decides is named. Each scored
verdict carries its scope (tier, mode, registry, suites, kind of results), so that no figure pools two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from replay.benchmarks.codexomics.differences import SEVERAL, difference_id
from replay.benchmarks.codexomics.records import ObservedCall, Tier
from replay.benchmarks.codexomics.scoring.assessment import Assessment
from replay.benchmarks.codexomics.scoring.baselines import judge_baselines
from replay.benchmarks.codexomics.scoring.evaluator import Registry, assess
from replay.benchmarks.codexomics.scoring.evidence import Evidence, read_evidence
from replay.benchmarks.codexomics.scoring.report_form import evaluation_json
from replay.benchmarks.codexomics.scoring.rules import CORRECTED, OFFICIAL, OFFICIAL_SCORER, Rules
from replay.benchmarks.codexomics.tasks import TaskData, read_task
from replay.core.errors import InputError
from replay.core.types import Json, Score, Task, Verdict
from replay.evaluate.states import Unscored, has_same_result, make_verdict, scored, unscored

__all__ = ["METRICS", "judge_outcome", "judge_record", "unscored_verdicts"]

METRICS: Final = ("strict-accuracy", "average-score", "retrieval-recall")
ACCURACY, AVERAGE, RECALL = METRICS


def judge_outcome(task: Task, outcome: Json, tier: Tier, *, trial: int) -> tuple[Verdict, ...]:
    """Score one outcome under a tier; None means that nothing was produced."""
    data = read_task(task)
    if outcome is None:
        return (
            *unscored_verdicts(task, trial, Unscored.MISSING_OUTPUT)[:2],
            _recall_verdict(task, data, trial, data.retrieval.selected, {}),
        )
    record, reported = _parts(task, outcome)
    evidence = read_evidence(record)
    scope = {"tier": tier.value, **_scope(data, reported)}
    registry = data.make_registry(trusts_record=_other_registry(data, outcome))
    official = assess(data.test, evidence.calls, tier, registry)
    corrected = assess(data.test, evidence.calls, tier, registry, rules=CORRECTED)
    detail = {"scope": scope, **_detail(data, record, evidence, official, reported)}
    strict_detail = {
        "scope": scope,
        "evaluation": evaluation_json(corrected, evidence.calls),
        "baselines": _baselines(data.test, tier, CORRECTED),
    }
    verdicts = []
    for metric in (ACCURACY, AVERAGE):
        compat = _score(official, metric, detail if metric == ACCURACY else _scoped(detail))
        strict = _score(corrected, metric, strict_detail if metric == ACCURACY else _scoped(strict_detail))
        cause = ""
        if not has_same_result(compat, strict):
            cause = _cause(data.test, evidence.calls, tier, registry, metric)
        verdicts.append(make_verdict(task, trial, metric=metric, compat=compat, strict=strict, cause=cause))
    chosen = record.get("selected_tools")
    selected = chosen if isinstance(chosen, list) else data.retrieval.selected
    return (*verdicts, _recall_verdict(task, data, trial, selected, scope))


def judge_record(task: Task, outcome: Json, tier: Tier) -> Json:
    """The official `evaluation` of one outcome, for a report."""
    data = read_task(task)
    record, _ = _parts(task, outcome)
    calls = read_evidence(record).calls
    registry = data.make_registry(trusts_record=_other_registry(data, outcome))
    return evaluation_json(assess(data.test, calls, tier, registry), calls, _retrieval_json(data))


def unscored_verdicts(task: Task, trial: int, reason: str) -> tuple[Verdict, ...]:
    """Verdicts of an episode that could not be scored.

    Compat: upstream's record of a test that ended in an error still counts, with nothing; here the reason
    stays on both sides, so that a missing answer is never a wrong one in silence.
    """
    nothing = unscored(reason)
    return tuple(
        make_verdict(task, trial, metric=metric, compat=nothing, strict=nothing) for metric in METRICS
    )


def _parts(task: Task, outcome: Json) -> tuple[Mapping[str, Json], Mapping[str, Json]]:
    record = outcome.get("record") if isinstance(outcome, dict) else None
    scope = outcome.get("scope") if isinstance(outcome, dict) else None
    if not isinstance(record, dict):
        raise InputError("an outcome without a record", where=f"task {task.id}", expected="a record")
    return record, scope if isinstance(scope, dict) else {}


def _scope(data: TaskData, scope: Mapping[str, Json]) -> dict[str, Json]:
    """Scope of a verdict; what a foreign record does not state is said to be unstated."""
    return {
        "mode": scope.get("mode", "unstated"),
        "registry": scope.get("registry", data.registry),
        "suites": scope.get("suites", data.suites),
        "results": scope.get("results", "unstated"),
        "expected_tools": scope.get("expected_tools", "unstated"),
    }


def _other_registry(data: TaskData, outcome: Mapping[str, Json]) -> bool:
    """Tell whether a record was made under a registry whose schemas we do not have."""
    scope = outcome.get("scope") or {}
    return "scorer" in scope and scope.get("registry") != data.registry


def _score(found: Assessment, metric: str, detail: Json) -> Score:
    why = found.errors[0] if found.errors else ""
    if metric == ACCURACY:
        return scored(1.0 if found.success else 0.0, why=why, detail=detail)
    return scored(found.ratio, why=f"{found.score} of {found.max_score}", detail=detail)


def _scoped(detail: Mapping[str, Json]) -> dict[str, Json]:
    return {"scope": detail["scope"], "baselines": detail["baselines"]}


def _detail(
    data: TaskData,
    record: Mapping[str, Json],
    evidence: Evidence,
    official: Assessment,
    reported: Mapping[str, Json],
) -> dict[str, Json]:
    detail: dict[str, Json] = {
        "evaluation": evaluation_json(official, evidence.calls, _retrieval_json(data)),
        "evidence": evidence.source,
        "baselines": _baselines(data.test, official.asked_tier, OFFICIAL),
    }
    if evidence.contradictions:
        detail["contradictory_evidence"] = list(evidence.contradictions)
    broken = [call.tool for call in evidence.calls if call.broken_arguments]
    if broken:
        detail["broken_arguments"] = broken
    unknown = sorted({call.key for call in evidence.calls if call.key not in data.schemas})
    if unknown:
        detail["unknown_tools"] = unknown
    if record.get("api_error"):
        detail["api_error"] = record["api_error"]
    if official.score == 0 and any(call.executed for call in evidence.calls):
        detail["review"] = "0 points although tools ran"
    stored = _stored(record, official, reported.get("scorer"))
    return detail | ({"stored": stored} if stored else {})


def _stored(record: Mapping[str, Json], official: Assessment, scorer: Json) -> dict[str, Json]:
    """What a stored verdict says, and whether ours is the same: only one scorer and tier compare."""
    evaluation = record.get("evaluation")
    if not isinstance(evaluation, dict) or not isinstance(evaluation.get("success"), bool):
        return {}
    details = evaluation.get("details")
    details = details if isinstance(details, dict) else {}
    scorer, tier = details.get("scoringMode", scorer), details.get("assessmentTier")
    stored: dict[str, Json] = {name: evaluation.get(name) for name in ("success", "score", "maxScore")}
    stored |= {"scorer": scorer, "tier": tier}
    if scorer not in (None, OFFICIAL_SCORER):
        stored["outcome"] = "another-scorer"
    elif tier not in (None, official.tier.value):
        stored["outcome"] = "another-tier"
    else:
        same = (evaluation["success"], evaluation.get("score")) == (official.success, official.score)
        stored["outcome"] = "same" if same else "differs"
    return stored


def _retrieval_json(data: TaskData) -> dict[str, Json]:
    found = data.retrieval
    return {
        "selectedToolCount": len(found.selected),
        "expectedToolCount": found.expected,
        "expectedToolsCovered": found.covered,
        "recall": found.covered / found.expected if found.expected else 1.0,
    }


def _recall_verdict(
    task: Task, data: TaskData, trial: int, selected: Sequence[Any], scope: Mapping[str, Json]
) -> Verdict:
    """Recall of the candidates that were frozen with the test: a stage of its own, the same for everyone."""
    found = data.retrieval
    detail = {"selected": len(selected), "expected": found.expected, "covered": found.covered}
    if scope:
        detail["scope"] = dict(scope)  # type: ignore[assignment]
    value = found.covered / found.expected if found.expected else 1.0
    score = scored(value, why=f"{found.covered} of {found.expected} expected entries", detail=detail)
    return make_verdict(task, trial, metric=RECALL, compat=score, strict=score)


def _baselines(test: Mapping[str, Json], tier: Tier, rules: Rules) -> dict[str, list[float]]:
    found = judge_baselines(test, tier, rules=rules)
    return {name: [float(passed), ratio] for name, (passed, ratio, _) in found.items()}


def _cause(
    test: Mapping[str, Json], calls: Sequence[ObservedCall], tier: Tier, registry: Registry, metric: str
) -> str:
    """Name the correction that decides: the one that alone gives the corrected result, or without which."""

    def result(rules: Rules) -> float:
        found = assess(test, calls, tier, registry, rules=rules)
        return float(found.success) if metric == ACCURACY else found.ratio

    wanted, before = result(CORRECTED), result(OFFICIAL)
    for name in Rules.__struct_fields__:
        if result(replace(OFFICIAL, **{name: True})) == wanted:
            return difference_id(name)
    for name in Rules.__struct_fields__:
        if result(replace(CORRECTED, **{name: False})) == before:
            return difference_id(name)
    return SEVERAL
