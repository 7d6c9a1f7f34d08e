"""What a user may choose for a ToolSandbox run: rules and options, with defaults and bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from replay.benchmarks.choices import refuse_unknown, unusable
from replay.core.protocols import Settings
from replay.core.types import Json

__all__ = ["DEFAULTS", "PROTOCOL", "check_settings"]

PROTOCOL: Final = "dialogue"

DEFAULTS: Final[Mapping[str, Json]] = {
    # Greedy, where upstream leaves the provider's default (1.0).
    "temperature": 0.0,
    "max_tokens": 1024,
    "user_temperature": 0.0,
    "user_max_tokens": 256,
    # None: the scenario's own bound, 30 in all of upstream's.
    "max_messages": None,
}
"""Options by name."""

_RULES: Final = ("compat", "strict")
_MAX_TOKENS: Final = 100_000
_MAX_TEMPERATURE: Final = 2.0


def check_settings(settings: Settings) -> Settings:
    """Fill in defaults and refuse what is unknown or out of bounds.

    Errors:  InputError naming the setting, its value and what is allowed.
    """
    if settings.rules not in _RULES:
        raise unusable("rules", settings.rules, " or ".join(_RULES))
    if settings.protocol not in ("", PROTOCOL):
        raise unusable("protocol", settings.protocol, PROTOCOL)
    given = {} if settings.options is None else settings.options
    if not isinstance(given, dict):
        raise unusable("options", given, "values by option name")
    refuse_unknown(given, tuple(DEFAULTS))
    options: dict[str, Json] = {name: given.get(name, default) for name, default in DEFAULTS.items()}
    for name, value in options.items():
        if name.endswith("temperature"):
            if type(value) not in (int, float) or not 0 <= value <= _MAX_TEMPERATURE:
                raise unusable(f"options.{name}", value, f"a number from 0 to {_MAX_TEMPERATURE}")
            options[name] = float(value)
        elif name == "max_messages" and value is None:
            continue
        elif type(value) is not int or not 1 <= value <= _MAX_TOKENS:
            raise unusable(f"options.{name}", value, f"a whole number from 1 to {_MAX_TOKENS}")
    return replace(settings, protocol=PROTOCOL, options=options)
