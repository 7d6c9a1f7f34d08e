"""Tool call -> the call as it is looked up and stored: declared exclusions, declared defaults, redaction.

This is the one place where anything is left out of a key, by name and with a reason. What a key is made of
otherwise is core/keys.py: the complete request. The same `apply` runs before a lookup and before a write, and
applying it twice changes nothing, so what was stored is what is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from replay.core.types import CallRequest, Json, Record, ToolSpec
from replay.tools.redaction import API_KEYS, CREDENTIALS, PASSWORDS, Redaction, scrub

__all__ = ["Exclusion", "KeyRecipe", "defaults_of", "recipe_for"]


class Exclusion(Record, frozen=True, kw_only=True):
    """One argument that is not a part of the key, because."""

    path: tuple[str, ...]
    """Names from the top of the arguments down."""
    reason: str
    tools: frozenset[str] = frozenset()
    """Tool identities it holds for; empty for every tool of the benchmark."""


class KeyRecipe(Record, frozen=True, kw_only=True):
    """How the calls of one benchmark become keys. Data only, so that `explain` can print it."""

    benchmark: str
    exclusions: tuple[Exclusion, ...] = ()
    redactions: tuple[Redaction, ...] = (CREDENTIALS, API_KEYS, PASSWORDS)
    defaults: dict[str, dict[str, Json]] = msgspec.field(default_factory=dict)
    """Tool identity -> argument -> value that an absent argument stands for. Empty: absent is not default."""

    def apply(self, request: CallRequest) -> CallRequest:
        """Return the request as it is looked up and stored; applying it again changes nothing.

        Aliases are kept: they are an upstream cache's own text and are only ever hashed.

        Errors:  CanonicalError with the JSON path when the arguments are nested too deeply.
        """
        arguments = request.arguments
        if isinstance(arguments, dict):
            for exclusion in self.exclusions:
                if not exclusion.tools or request.tool in exclusion.tools:
                    arguments = _without(arguments, exclusion.path)
            declared = self.defaults.get(request.tool)
            if declared:
                arguments = {**declared, **arguments}
        arguments = scrub(arguments, self.redactions)
        return msgspec.structs.replace(request, arguments=arguments)


def recipe_for(benchmark: str) -> KeyRecipe:
    """Return the declared recipe of a benchmark, or the general one under its name."""
    return _RECIPES.get(benchmark) or KeyRecipe(benchmark=benchmark)


def defaults_of(specs: Iterable[ToolSpec]) -> dict[str, dict[str, Json]]:
    """Collect the defaults that tool schemas declare, for recipes where absent means default.

    A default that is null is no default: JSON Schema writers use it for "none given".
    """
    found: dict[str, dict[str, Json]] = {}
    for spec in specs:
        schema = spec.parameters if isinstance(spec.parameters, Mapping) else {}
        properties = schema.get("properties")
        if not isinstance(properties, Mapping):
            continue
        declared = {
            name: shape["default"]
            for name, shape in properties.items()
            if isinstance(shape, Mapping) and shape.get("default") is not None
        }
        if declared:
            found[spec.identity or spec.name] = declared
    return found


def _without(arguments: dict[str, Json], path: tuple[str, ...]) -> dict[str, Json]:
    name, *rest = path
    if name not in arguments:
        return arguments
    if not rest:
        return {key: value for key, value in arguments.items() if key != name}
    inner = arguments[name]
    return {**arguments, name: _without(inner, tuple(rest))} if isinstance(inner, dict) else arguments


_RECIPES: Final[Mapping[str, KeyRecipe]] = {
    "stabletoolbench": KeyRecipe(
        benchmark="stabletoolbench",
        exclusions=(
            Exclusion(
                path=("toolbench_key",),
                reason="the caller's account key; upstream sends it beside the arguments, outside its key",
            ),
        ),
        # Passwords stay: password checkers are among the tools, and there the password is the question.
        # Defaults stay out: upstream keys on the arguments as sent, and so does its published cache.
        redactions=(CREDENTIALS, API_KEYS),
    ),
}
