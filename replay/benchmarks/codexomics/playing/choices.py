"""What a user may choose for a CodeXomics run, with defaults and allowed values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from replay.benchmarks.choices import refuse_unknown, unusable
from replay.benchmarks.codexomics.playing.modes import DEFAULT_MODE, MODES, HarnessMode, find_mode
from replay.benchmarks.codexomics.records import Tier
from replay.benchmarks.codexomics.retrieval.choice import LIMIT
from replay.core.errors import InputError
from replay.core.protocols import Settings
from replay.core.types import Json, Record

__all__ = ["PROTOCOL", "Choices", "check_settings", "read_choices"]

PROTOCOL: Final = "rounds"

_DEFAULTS: Final[Mapping[str, Json]] = {
    "mode": DEFAULT_MODE,
    "tier": Tier.COMPLETION.value,
    # The world where the suite's fixture names a genome of ours, else synthetic contract results.
    "results": "fixture",
    "expected_tools": "as-retrieved",
    "candidates": LIMIT,
    # What upstream's requests used; its reports said 512.
    "max_tokens": 4_096,
    "biology": "own",
}
_ALLOWED: Final[Mapping[str, tuple[str, ...]]] = {
    "mode": tuple(mode.name for mode in MODES),
    "tier": tuple(tier.value for tier in Tier),
    "results": ("fixture", "world", "world-then-synthetic", "synthetic", "recorded"),
    "expected_tools": ("as-retrieved", "always-present"),
    "biology": ("own", "biopython"),
}
_BOUNDS: Final = {"candidates": (1, LIMIT), "max_tokens": (1, 100_000)}
_RULES: Final = ("compat", "strict")


class Choices(Record, frozen=True, kw_only=True):
    """The options of a run, read."""

    mode: HarnessMode
    tier: Tier
    results: str
    always_present: bool
    candidates: int
    max_tokens: int
    biology: str
    strict_arguments: bool
    """Strict rules reject arguments that are no JSON object; compat takes them for {}, as upstream."""

    def results_for(self, genome: str) -> str:
        """Who answers calls in a session whose fixture names this genome, or none."""
        if self.results != "fixture":
            return self.results
        return "world" if genome else "synthetic"


def check_settings(settings: Settings) -> Settings:
    """Fill in defaults and refuse what is unknown or cannot hold together.

    Errors:  InputError naming the option and what is allowed.
    """
    if settings.protocol not in ("", PROTOCOL):
        raise InputError(
            f"unknown protocol {settings.protocol!r}", where="settings.protocol", expected=PROTOCOL
        )
    if settings.rules not in _RULES:
        raise unusable("rules", settings.rules, " or ".join(_RULES))
    given = {} if settings.options is None else settings.options
    if not isinstance(given, dict):
        raise unusable("options", given, "values by option name")
    refuse_unknown(given, sorted(_DEFAULTS))
    options = {**_DEFAULTS, **given}
    for name, allowed in _ALLOWED.items():
        if options[name] not in allowed:
            raise unusable(f"options.{name}", options[name], f"one of {', '.join(allowed)}")
    for name, (low, high) in _BOUNDS.items():
        value = options[name]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise unusable(f"options.{name}", value, f"a whole number from {low} to {high}")
    if Tier(options["tier"]).needs_execution and options["results"] in ("synthetic", "world-then-synthetic"):
        raise InputError(
            f"tier {options['tier']} over synthetic results",
            where="settings.options",
            expected="results=world or results=recorded, where calls are executed",
            next_step=f"or score the contract: --option tier={Tier.COMPLETION.value}",
        )
    return replace(settings, protocol=PROTOCOL, options=options)


def read_choices(settings: Settings) -> Choices:
    """Read settings as a run uses them."""
    options = check_settings(settings).options
    return Choices(
        mode=find_mode(options["mode"]),
        tier=Tier(options["tier"]),
        results=options["results"],
        always_present=options["expected_tools"] == "always-present",
        candidates=options["candidates"],
        max_tokens=options["max_tokens"],
        biology=options["biology"],
        strict_arguments=settings.rules == "strict",
    )
