"""What a user may choose for a StableToolBench run: rules, judge runs and options, with defaults and ranges.

Owns the closed list of option names and those of the judge's side; the options of an episode are owned by
`play`. Filled-in settings are what the run root hashes, so a default written out and one left out give the
same run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from replay.benchmarks.choices import refuse_unknown, unusable
from replay.benchmarks.stabletoolbench.playing.play import PLAY_DEFAULTS, check_play_settings, parse_protocol
from replay.core.protocols import Settings
from replay.core.types import Json

__all__ = ["JUDGE_DEFAULTS", "METRICS", "check_settings"]

METRICS: Final = ("SoPR", "SoWR", "FAC")

JUDGE_DEFAULTS: Final[Mapping[str, Json]] = {
    # Upstream asks for the verdict before its reason; a reason that comes first can still change the verdict.
    "judge_order": "reason-first",
    # Upstream asks whether the task can be solved at all and never uses the answer.
    "ask_solvable": False,
    # None: every metric that the outputs (and a reference, for SoWR) allow.
    "metrics": None,
}
"""Options of the judge's side by name."""

_ALLOWED: Final[Mapping[str, tuple[Json, ...]]] = {
    "judge_order": ("reason-first", "verdict-first"),
    "ask_solvable": (False, True),
}
_RULES: Final = ("compat", "strict")
_MAX_JUDGE_RUNS: Final = 100


def check_settings(settings: Settings) -> Settings:
    """Fill in defaults and refuse what is unknown or out of range.

    Errors:  InputError naming the setting, its value and what is allowed.
    """
    if settings.rules not in _RULES:
        raise unusable("rules", settings.rules, " or ".join(_RULES))
    if type(settings.judge_runs) is not int or not 1 <= settings.judge_runs <= _MAX_JUDGE_RUNS:
        raise unusable("judge_runs", settings.judge_runs, f"a whole number from 1 to {_MAX_JUDGE_RUNS}")
    given = {} if settings.options is None else settings.options
    if not isinstance(given, dict):
        raise unusable("options", given, "values by option name")
    refuse_unknown(given, sorted({*PLAY_DEFAULTS, *JUDGE_DEFAULTS}))
    judge = {name: given.get(name, default) for name, default in JUDGE_DEFAULTS.items()}
    for name, allowed in _ALLOWED.items():
        if not any(type(judge[name]) is type(value) and judge[name] == value for value in allowed):
            raise unusable(f"options.{name}", judge[name], " or ".join(str(value) for value in allowed))
    judge["metrics"] = _check_metrics(judge["metrics"])
    options = {**check_play_settings(settings), **judge}
    return replace(settings, protocol=parse_protocol(settings.protocol).name, options=options)


def _check_metrics(metrics: Json) -> list[str] | None:
    if metrics is None:
        return None
    if not isinstance(metrics, list) or not metrics or any(name not in METRICS for name in metrics):
        raise unusable("options.metrics", metrics, f"a list of some of {', '.join(METRICS)}")
    return [name for name in METRICS if name in metrics]
