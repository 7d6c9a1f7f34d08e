"""What a user may choose for an ACEBench run: rules, protocol and options, with defaults and ranges.

Owns the closed list of option names; their values are checked by the play. Filled-in settings are what the
run root hashes, so a default written out and one left out give the same run.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from replay.benchmarks.acebench.playing.options import PLAY_DEFAULTS, check_play_settings, parse_protocol
from replay.benchmarks.choices import refuse_unknown, unusable
from replay.core.protocols import Settings

__all__ = ["check_settings"]

_RULES: Final = ("compat", "strict")
_MAX_JUDGE_RUNS: Final = 100


def check_settings(settings: Settings) -> Settings:
    """Fill in defaults and refuse what is unknown or out of range.

    Errors:  InputError naming the setting, its value and what is allowed.
    """
    if settings.rules not in _RULES:
        raise unusable("rules", settings.rules, " or ".join(_RULES))
    if settings.reference:
        raise unusable("reference", settings.reference, "none: no metric of ACEBench compares two candidates")
    if type(settings.judge_runs) is not int or not 1 <= settings.judge_runs <= _MAX_JUDGE_RUNS:
        raise unusable("judge_runs", settings.judge_runs, f"a whole number from 1 to {_MAX_JUDGE_RUNS}")
    given = {} if settings.options is None else settings.options
    if not isinstance(given, dict):
        raise unusable("options", given, "values by option name")
    refuse_unknown(given, sorted(PLAY_DEFAULTS))
    return replace(
        settings, protocol=parse_protocol(settings.protocol), options=check_play_settings(settings)
    )
