"""What a user may choose for a MetaTool run, with defaults and allowed values.

Owns the closed list of options. Filled-in settings are what the run root hashes, so a default written out and
one left out give the same run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from replay.benchmarks.choices import refuse_unknown, unusable
from replay.core.protocols import Settings
from replay.core.types import Json

__all__ = ["DEFAULTS", "FIVE_SHOT", "PROTOCOLS", "ZERO_SHOT", "check_settings"]

ZERO_SHOT: Final = "zero-shot"
FIVE_SHOT: Final = "five-shot"
PROTOCOLS: Final = (ZERO_SHOT, FIVE_SHOT)

DEFAULTS: Final[Mapping[str, Json]] = {
    # Upstream's order gives the truth away; `shuffled` draws one order a task, from the run's seed.
    "order": "original",
    # The paper's table 4 has both: at most two tools, or exactly two as in the published file.
    "multi": "at-most-two",
    # Upstream shows most descriptions as the Python text of a list, by mistake.
    "descriptions": "plain",
    # `judge` puts answers that the strict reading leaves open to the judge of the run.
    "open_answers": "undetermined",
    # Of upstream's run script.
    "max_tokens": 512,
    "temperature": 0.0,
}
"""Options by name; the first allowed value is the default where there is a list."""

_ALLOWED: Final[Mapping[str, tuple[str, ...]]] = {
    "order": ("original", "shuffled"),
    "multi": ("at-most-two", "exactly-two"),
    "descriptions": ("plain", "list"),
    "open_answers": ("undetermined", "judge"),
}
_RULES: Final = ("compat", "strict")
_MAX_TOKENS: Final = 1 << 16
_MAX_JUDGE_RUNS: Final = 100


def check_settings(settings: Settings) -> Settings:
    """Fill in defaults and refuse what is unknown or out of range.

    Errors:  InputError naming the setting, its value and what is allowed.
    """
    protocol = settings.protocol or ZERO_SHOT
    if protocol not in PROTOCOLS:
        raise unusable("protocol", protocol, " or ".join(PROTOCOLS))
    if settings.rules not in _RULES:
        raise unusable("rules", settings.rules, " or ".join(_RULES))
    if settings.reference:
        raise unusable("reference", settings.reference, "none: no metric of MetaTool compares two candidates")
    if type(settings.judge_runs) is not int or not 1 <= settings.judge_runs <= _MAX_JUDGE_RUNS:
        raise unusable("judge_runs", settings.judge_runs, f"a whole number from 1 to {_MAX_JUDGE_RUNS}")
    given = {} if settings.options is None else settings.options
    if not isinstance(given, dict):
        raise unusable("options", given, "values by option name")
    refuse_unknown(given, sorted(DEFAULTS))
    options = {name: given.get(name, default) for name, default in DEFAULTS.items()}
    for name, allowed in _ALLOWED.items():
        if options[name] not in allowed:
            raise unusable(f"options.{name}", options[name], " or ".join(allowed))
    _check_numbers(options)
    return replace(settings, protocol=protocol, options=options)


def _check_numbers(options: dict[str, Json]) -> None:
    tokens: Json = options["max_tokens"]
    temperature: Json = options["temperature"]
    if type(tokens) is not int or not 1 <= tokens <= _MAX_TOKENS:
        raise unusable("options.max_tokens", tokens, f"a whole number from 1 to {_MAX_TOKENS}")
    if isinstance(temperature, bool) or not isinstance(temperature, int | float) or not 0 <= temperature <= 2:
        raise unusable("options.temperature", temperature, "a number from 0 to 2")
    options["temperature"] = float(temperature)
