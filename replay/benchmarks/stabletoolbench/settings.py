"""What a user may choose for a StableToolBench run: rules, judge runs and options, with defaults and ranges.

Owns the closed list of option names and those of the judge's side; the options of an episode are owned by
`play`. Filled-in settings are what the run root hashes, so a default written out and one left out give the
same run.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from replay.benchmarks.stabletoolbench.playing.play import PLAY_DEFAULTS, check_play_settings, parse_protocol
from replay.core.errors import InputError
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
        raise _bad("rules", settings.rules, " or ".join(_RULES))
    if type(settings.judge_runs) is not int or not 1 <= settings.judge_runs <= _MAX_JUDGE_RUNS:
        raise _bad("judge_runs", settings.judge_runs, f"a whole number from 1 to {_MAX_JUDGE_RUNS}")
    given = {} if settings.options is None else settings.options
    if not isinstance(given, dict):
        raise _bad("options", given, "values by option name")
    _refuse_unknown(given)
    judge = {name: given.get(name, default) for name, default in JUDGE_DEFAULTS.items()}
    for name, allowed in _ALLOWED.items():
        if not any(type(judge[name]) is type(value) and judge[name] == value for value in allowed):
            raise _bad(f"options.{name}", judge[name], " or ".join(str(value) for value in allowed))
    judge["metrics"] = _check_metrics(judge["metrics"])
    options = {**check_play_settings(settings), **judge}
    return replace(settings, protocol=parse_protocol(settings.protocol).name, options=options)


def _refuse_unknown(given: Mapping[str, Json]) -> None:
    names = sorted({*PLAY_DEFAULTS, *JUDGE_DEFAULTS})
    unknown = sorted(name for name in given if name not in names)
    if not unknown:
        return
    near = difflib.get_close_matches(unknown[0], names, n=1)
    raise InputError(
        f"unknown option {', '.join(repr(name) for name in unknown)}",
        where="settings.options",
        expected=f"some of {', '.join(names)}",
        next_step=f"did you mean {near[0]}?" if near else "",
    )


def _check_metrics(metrics: Json) -> list[str] | None:
    if metrics is None:
        return None
    if not isinstance(metrics, list) or not metrics or any(name not in METRICS for name in metrics):
        raise _bad("options.metrics", metrics, f"a list of some of {', '.join(METRICS)}")
    return [name for name in METRICS if name in metrics]


def _bad(name: str, value: Json, expected: str) -> InputError:
    return InputError(f"unusable {name} = {value!r}", where=f"settings.{name}", expected=expected)
