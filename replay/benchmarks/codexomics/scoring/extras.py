"""Calls beyond the expected ones: which the completion tiers tolerate (spec 6.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from replay.benchmarks.codexomics.naming import camel_key
from replay.benchmarks.codexomics.records import ExpectedCall, ObservedCall
from replay.benchmarks.codexomics.scoring.arguments import fold_keys
from replay.benchmarks.codexomics.scoring.pairing import accepts_tool
from replay.benchmarks.codexomics.scoring.rules import Rules
from replay.benchmarks.codexomics.scoring.tables import EDITS, is_read_only
from replay.benchmarks.codexomics.scoring.values import ValueRules, scalar_matches
from replay.core.types import Json

__all__ = ["is_tolerated"]


def is_tolerated(
    extra: ObservedCall, steps: Sequence[ExpectedCall], calls: Sequence[ObservedCall], rules: ValueRules
) -> bool:
    """Tell whether a completion tier lets an extra call pass."""
    corrections: Rules = rules.rules
    tool = extra.key
    if is_read_only(tool, with_writers=not corrections.writing_extras):
        return True
    if any(accepts_tool(step, tool, completion=True) for step in steps):
        return not corrections.destructive_extras
    if tool == "execute_actions":
        expected = {name for step in steps for name in step.tools}
        return bool(expected & EDITS) and any(call.key in EDITS for call in calls)
    if tool == "export_genbank_format":
        return _exports_result(extra, steps, calls, rules)
    return tool == "highlight_region" and _labels_selection(extra, steps, any_case=corrections.label_case)


def _exports_result(
    extra: ObservedCall, steps: Sequence[ExpectedCall], calls: Sequence[ObservedCall], rules: ValueRules
) -> bool:
    """An export of the file that executing the edits has just saved says nothing new."""
    if not any("execute_actions" in step.tools for step in steps):
        return False
    wanted = _filename(fold_keys(extra.parameters))
    for call in calls:
        given = fold_keys(call.parameters)
        saved = _filename(given)
        if call.key == "execute_actions" and given.get("autoSave") is True and saved is not None:
            return wanted is None or scalar_matches(saved, wanted, rules)
    return False


def _filename(parameters: Mapping[str, Json]) -> str | None:
    names = ("filename", "fileName", "filePath", "outputPath", "path")
    values = (parameters.get(name) for name in names)
    return next((value for value in values if isinstance(value, str) and value.strip()), None)


def _labels_selection(extra: ObservedCall, steps: Sequence[ExpectedCall], *, any_case: bool) -> bool:
    label = extra.parameters.get("label")
    for step in steps:
        if "select_gene" not in step.tools or not isinstance(label, str):
            continue
        genes = [value for name, value in step.parameters.items() if camel_key(name) == "geneName"]
        for gene in genes:
            same = isinstance(gene, str) and any_case and gene.strip().lower() == label.strip().lower()
            if same or gene == label:
                return True
    return False
