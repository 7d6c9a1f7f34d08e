"""One figure, one scope: verdicts of different tier, mode, registry, suites or results are never pooled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from replay.core.errors import InputError
from replay.core.types import Json, Verdict

__all__ = ["SCOPE", "Pooling", "check_one_scope", "find_scope"]

SCOPE: Final = ("tier", "mode", "registry", "suites", "results", "expected_tools")
_LABELS: Final = {
    "tier": "assessment tiers",
    "mode": "harness modes",
    "registry": "tool registries",
    "suites": "suite fingerprints",
    "results": "kinds of tool results",
    "expected_tools": "rules for which tools are shown",
}
_OPTIONS: Final = ("tier", "mode", "results", "expected_tools")
"""What a run may choose; registry and suites are those of its archive."""


class Pooling:
    """What this benchmark asks of figures that are put side by side or together."""

    def check(self, verdicts: Iterable[Verdict]) -> None:
        """Refuse verdicts of more than one scope."""
        check_one_scope([find_scope(verdict) for verdict in verdicts])


def find_scope(verdict: Verdict) -> Mapping[str, Json]:
    """Scope of a verdict; empty where nothing was scored."""
    detail = verdict.compat.detail
    scope = detail.get("scope") if isinstance(detail, dict) else None
    return scope if isinstance(scope, dict) else {}


def check_one_scope(scopes: Iterable[Mapping[str, Json]]) -> Mapping[str, Json]:
    """Return the one scope there is, or an empty one.

    Errors:  InputError naming what differs and its values.
    """
    first: Mapping[str, Json] = {}
    for scope in scopes:
        if not scope:
            continue
        first = first or scope
        for name in SCOPE:
            left, right = first.get(name), scope.get(name)
            if left is not None and right is not None and left != right:
                raise InputError(
                    f"figures of different {_LABELS[name]}: {left} and {right}",
                    where=f"scope, {name}",
                    expected="one tier, harness mode, registry and suite fingerprint in one figure",
                    next_step=_next_step(name, right),
                )
    return first


def _next_step(name: str, value: Json) -> str:
    if name in _OPTIONS:
        return f"play or score both with the same choice, for example --option {name}={value}"
    return "score and report each of them by itself"
