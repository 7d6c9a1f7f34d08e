"""What a user may choose for an ACEBench run: rules, protocol and options, with defaults and ranges.

Owns the closed list of option names; their values are checked by the play. Filled-in settings are what the
run root hashes, so a default written out and one left out give the same run.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from replay.benchmarks.acebench.playing.options import PLAY_DEFAULTS, check_play_settings, parse_protocol
from replay.core.errors import InputError
from replay.core.protocols import Settings
from replay.core.types import Json

__all__ = ["check_settings"]

_RULES: Final = ("compat", "strict")
_MAX_JUDGE_RUNS: Final = 100


def check_settings(settings: Settings) -> Settings:
    """Fill in defaults and refuse what is unknown or out of range.

    Errors:  InputError naming the setting, its value and what is allowed.
    """
    if settings.rules not in _RULES:
        raise _bad("rules", settings.rules, " or ".join(_RULES))
    if settings.reference:
        raise _bad("reference", settings.reference, "none: no metric of ACEBench compares two candidates")
    if type(settings.judge_runs) is not int or not 1 <= settings.judge_runs <= _MAX_JUDGE_RUNS:
        raise _bad("judge_runs", settings.judge_runs, f"a whole number from 1 to {_MAX_JUDGE_RUNS}")
    given = {} if settings.options is None else settings.options
    if not isinstance(given, dict):
        raise _bad("options", given, "values by option name")
    _refuse_unknown(given)
    return replace(
        settings, protocol=parse_protocol(settings.protocol), options=check_play_settings(settings)
    )


def _refuse_unknown(given: Mapping[str, Json]) -> None:
    unknown = sorted(name for name in given if name not in PLAY_DEFAULTS)
    if not unknown:
        return
    near = difflib.get_close_matches(unknown[0], PLAY_DEFAULTS, n=1)
    raise InputError(
        f"unknown option {', '.join(repr(name) for name in unknown)}",
        where="settings.options",
        expected=f"some of {', '.join(sorted(PLAY_DEFAULTS))}",
        next_step=f"did you mean {near[0]}?" if near else "",
    )


def _bad(name: str, value: Json, expected: str) -> InputError:
    return InputError(f"unusable {name} = {value!r}", where=f"settings.{name}", expected=expected)
