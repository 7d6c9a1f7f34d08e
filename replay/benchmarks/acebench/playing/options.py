"""What a user may choose for the candidate's side of a run: names, defaults, bounds.

Owns the play options and the only protocol name. Filled-in options are what the run root hashes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from replay.core.errors import InputError
from replay.core.protocols import Settings
from replay.core.types import Json, Record, Sampling

__all__ = [
    "DEFAULT_PROTOCOL",
    "PLAY_DEFAULTS",
    "PlayOptions",
    "check_play_settings",
    "parse_protocol",
    "play_options",
]

DEFAULT_PROTOCOL: Final = "prompt"
"""Tools are shown in the prompt and calls are written as text: upstream's only protocol that works."""

_MAX_TEMPERATURE: Final = 2.0


class PlayOptions(Record, frozen=True, kw_only=True):
    """Options of an episode by name."""

    max_messages: int = 40
    """Messages of an agent's dialogue, all roles counted, after the first; upstream's number."""
    max_tokens: int = 1200
    agent_max_tokens: int = 1000
    user_max_tokens: int = 1000
    temperature: float = 0.0
    """Upstream: 0.7 for single requests, 0.001 for agents."""
    tool_format: str = "python"
    """`python` (upstream's: the text of a Python list) or `json`."""
    user_reply_role: str = ""
    """Role under which the simulated user finds its own replies: `system` as upstream has it, or
    `assistant`. Empty: as the rules have it (compat: system, strict: assistant)."""
    step_language: str = ""
    """Language of the multi-step system prompt: empty for the task's own; `zh` is what upstream shows to
    models behind an API even for English tasks."""
    wording: str = "own"
    """`own`, or `upstream` where the archive carries the texts of the user's checkout."""
    after_think: bool = False
    """Keep only what stands after the last closing think tag, as upstream does for one model."""

    def sampling(self, max_tokens: int) -> Sampling:
        """Parameters of one completion."""
        return Sampling(temperature=self.temperature, max_tokens=max_tokens)


PLAY_DEFAULTS: Final[Mapping[str, Json]] = msgspec.to_builtins(PlayOptions())

_BOUNDS: Final = {
    "max_messages": (1, 200),
    "max_tokens": (1, 100_000),
    "agent_max_tokens": (1, 100_000),
    "user_max_tokens": (1, 100_000),
}
_CHOICES: Final[Mapping[str, tuple[Json, ...]]] = {
    "tool_format": ("python", "json"),
    "user_reply_role": ("", "system", "assistant"),
    "step_language": ("", "en", "zh"),
    "wording": ("own", "upstream"),
    "after_think": (False, True),
}


def parse_protocol(name: str) -> str:
    """Read a protocol name; empty is the default. Raises InputError listing the allowed names."""
    if name in ("", DEFAULT_PROTOCOL):
        return DEFAULT_PROTOCOL
    raise InputError(f"unknown protocol {name!r}", where="settings.protocol", expected=DEFAULT_PROTOCOL)


def check_play_settings(settings: Settings) -> dict[str, Json]:
    """Fill the play options with their defaults and refuse what is out of bounds; leave other options alone.

    Errors:  InputError naming the option, its value and what is allowed.
    """
    parse_protocol(settings.protocol)
    given = settings.options if isinstance(settings.options, dict) else {}
    options = {name: given.get(name, default) for name, default in PLAY_DEFAULTS.items()}
    for name, (low, high) in _BOUNDS.items():
        number = options[name]
        if not isinstance(number, int) or isinstance(number, bool) or not low <= number <= high:
            raise _bad(name, number, f"a whole number from {low} to {high}")
    for name, choices in _CHOICES.items():
        if not any(type(options[name]) is type(choice) and options[name] == choice for choice in choices):
            raise _bad(name, options[name], " or ".join(repr(choice) for choice in choices))
    heat = options["temperature"]
    if not isinstance(heat, (int, float)) or isinstance(heat, bool) or not 0 <= heat <= _MAX_TEMPERATURE:
        raise _bad("temperature", heat, f"a number from 0 to {_MAX_TEMPERATURE}")
    if not options["user_reply_role"]:
        options["user_reply_role"] = "assistant" if settings.rules == "strict" else "system"
    return options


def play_options(settings: Settings) -> PlayOptions:
    """Take the options of an episode out of checked or unchecked settings."""
    return msgspec.convert(check_play_settings(settings), PlayOptions)


def _bad(name: str, value: Json, expected: str) -> InputError:
    return InputError(f"unusable {name} = {value!r}", where=f"settings.options.{name}", expected=expected)
