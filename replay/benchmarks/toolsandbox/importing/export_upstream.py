"""Write upstream's scenarios in the form that the importer reads; run where `tool_sandbox` is installed.

    python export_upstream.py OUT_FOLDER

Stands alone: it needs upstream's package and the standard library, nothing of ours, so that this one file can
be copied to where the package is. It reads live objects and writes what they hold, original texts included:
prompts, demonstrations, descriptions of tools. Upstream's licence covers what it writes. Nothing is played.

The clock of the dump is the moment of the export: starting rows and targets were computed when upstream's
modules were imported just before, and the tools of a replay tell that time.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["export", "main"]

_TABLES = ("SETTING", "CONTACT", "MESSAGING", "REMINDER")
_SETTINGS = ("cellular", "wifi", "location_service", "low_battery_mode", "latitude", "longitude")
_LISTS = (
    "NO_DISTRACTION_TOOLS",
    "THREE_DISTRACTION_TOOLS",
    "TEN_DISTRACTION_TOOLS",
    "ALL_TOOLS_AVAILABLE",
)
_SEED = 42
"""What upstream's command line seeds the shuffling of tools with."""
_KINDS = {"SYSTEM>EXECUTION_ENVIRONMENT": "console_bootstrap", "SYSTEM>AGENT": "agent_system"}


def main(words: list[str]) -> int:
    """Export to the folder that is named."""
    if len(words) != 1:
        sys.stderr.write("usage: python export_upstream.py OUT_FOLDER\n")
        return 2
    try:
        scenarios = import_module("tool_sandbox.scenarios")
        discovery = import_module("tool_sandbox.common.tool_discovery")
    except ImportError as error:
        sys.stderr.write(f"export: {error}; run this where upstream's package tool_sandbox is installed\n")
        return 3
    import_module("random").seed(_SEED)
    backend = discovery.ToolBackend.DEFAULT
    named = scenarios.named_scenarios(preferred_tool_backend=backend)
    export(named, discovery.get_all_tools(backend), Path(words[0]))
    return 0


def export(named: dict[str, Any], tools: dict[str, Any], folder: Path) -> None:
    """Write the three files of a dump: scenarios, variants and the shared world, and the tools' texts."""
    conversion = import_module("tool_sandbox.common.tool_conversion")
    bases = {name: it for name, it in named.items() if "NO_DISTRACTION_TOOLS" in _categories(it)}
    variants = [_variant(name, it, bases) for name, it in named.items() if name not in bases]
    shown = [conversion.convert_to_openai_tool(tool)["function"] for tool in tools.values()]
    described = [
        {
            "name": one["name"],
            "description": one["description"],
            "parameters": one["parameters"]["properties"],
        }
        for one in shown
    ]
    now = max(_newest(it) for it in bases.values())
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "scenarios_base.json", {"scenarios": [_base(n, it) for n, it in bases.items()]})
    _write(folder / "scenario_variants.json", {"variants": variants})
    _write(folder / "tools.json", {"tools": described})
    world = {"frozen_now": now, "timezone": "UTC", "base_world_state": {name: [] for name in _TABLES}}
    _write(folder / "world_state.json", world)


def _base(name: str, scenario: Any) -> dict[str, Any]:
    context = scenario.starting_context
    tables = {table: _rows(context, table) for table in _TABLES}
    setting = tables["SETTING"][0]
    evaluation = scenario.evaluation
    return {
        "name": name,
        "categories": _categories(scenario),
        "max_messages": scenario.max_messages,
        "settings": {column: setting[column] for column in _SETTINGS},
        "tables": tables,
        "necessary_tools": sorted(context.tool_allow_list),
        "tool_order_seed42": list(context.tool_allow_list),
        "messages": _messages(context),
        "milestones": _milestones(evaluation.milestone_matcher),
        "milestone_edges": _edges(evaluation.milestone_matcher),
        "minefields": _milestones(evaluation.minefield_matcher),
        "minefield_edges": _edges(evaluation.minefield_matcher),
    }


def _variant(name: str, scenario: Any, bases: dict[str, Any]) -> dict[str, Any]:
    context = scenario.starting_context
    return {
        "name": name,
        "base": max((base for base in bases if name.startswith(f"{base}_")), key=len),
        "categories": _categories(scenario),
        "tools": list(context.tool_allow_list),
        "augmentations": [str(one) for one in context.tool_augmentation_list],
    }


def _categories(scenario: Any) -> list[str]:
    return [str(one) for one in scenario.categories]


def _rows(context: Any, table: str) -> list[dict[str, Any]]:
    return list(context.get_database(table).to_dicts())


def _newest(scenario: Any) -> str:
    """Upstream's rows are offsets from the moment of import: the newest reminder was made an hour before."""
    moment = import_module("datetime")
    rows = _rows(scenario.starting_context, "REMINDER")
    seconds = max(row["creation_timestamp"] for row in rows) + 3600.0
    text = moment.datetime.fromtimestamp(seconds, tz=moment.timezone.utc).isoformat()
    return str(text).replace("+00:00", "Z")


def _messages(context: Any) -> list[dict[str, Any]]:
    rows = context.get_database(
        "SANDBOX", get_all_history_snapshots=True, drop_sandbox_message_index=False
    ).to_dicts()
    made = []
    for row in rows:
        kind = _KINDS.get(f"{row['sender']}>{row['recipient']}")
        if (row["sender"], row["recipient"]) == ("SYSTEM", "USER") and row["visible_to"] is None:
            kind = "user_goal"
        made.append(
            {
                "index": row["sandbox_message_index"],
                "sender": row["sender"],
                "recipient": row["recipient"],
                "kind": kind,
                "content": row["content"],
                "visible_to": row["visible_to"],
            }
        )
    return made


def _milestones(matcher: Any) -> list[dict[str, Any]]:
    return [
        {
            "constraints": [_constraint(one) for one in milestone.snapshot_constraints],
            "guardrail_databases": [str(one) for one in milestone.guardrail_database_list or ()],
        }
        for milestone in matcher.milestones
    ]


def _edges(matcher: Any) -> list[list[int]]:
    return [list(edge) for edge in matcher.edge_list or ()]


def _constraint(constraint: Any) -> dict[str, Any]:
    rule = constraint.snapshot_constraint
    made: dict[str, Any] = {"database": str(constraint.database_namespace), "constraint": _function(rule)}
    if constraint.reference_milestone_node_index is not None:
        made["reference"] = constraint.reference_milestone_node_index
    if constraint.target_dataframe is not None:
        made["target"] = [_target(row) for row in constraint.target_dataframe.to_dicts()]
    overrides = _overrides(constraint)
    if overrides:
        made["column_similarity_overrides"] = overrides
    made["auto"] = made["constraint"]["fn"] == "guardrail_similarity"
    return made


def _target(row: dict[str, Any]) -> dict[str, Any]:
    trace = row.get("tool_trace")
    return {**row, "tool_trace": json.loads(trace)} if isinstance(trace, str) else row


def _function(rule: Any) -> dict[str, Any]:
    """Name a function, and the arguments that it was given beforehand."""
    keywords = dict(getattr(rule, "keywords", {}))
    function: Any = getattr(rule, "func", rule)
    made = {"fn": function.__name__}
    if "fill_to" in keywords:
        made["fill_to"] = str(keywords["fill_to"])
    if "extractor" in keywords:
        extractor: Any = getattr(keywords["extractor"], "func", keywords["extractor"])
        made["extractor"] = extractor.__name__
    return made


def _overrides(constraint: Any) -> dict[str, Any]:
    """Measures that are not the table's own; upstream fills in all others."""
    defaults = import_module("tool_sandbox.common.evaluation")._default_dbs_column_similarities  # noqa: SLF001
    usual = defaults[constraint.database_namespace]
    measures = (constraint.column_similarity_measure or {}).items()
    found = {column: _override(measure) for column, measure in measures}
    return {column: one for column, one in found.items() if one != _override(usual[column])}


def _override(measure: Any) -> dict[str, Any]:
    function: Any = getattr(measure, "func", measure)
    made: dict[str, Any] = {"fn": function.__name__}
    tolerances = dict(getattr(measure, "keywords", {})).get("atol_dict")
    if tolerances:
        made["atol_dict"] = {
            name: "Infinity" if value == float("inf") else value for name, value in tolerances.items()
        }
    return made


def _write(path: Path, data: Any) -> None:
    text = json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False)
    path.write_text(f"{text}\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
