"""The arguments of one call against those of one expected step (spec 6.4).

Owns key lookup with aliases, missing keys, default markers, alternatives, nesting, and the diagnostics of
a comparison. Keys are compared in camelCase on both sides; keys the oracle does not name are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from replay.benchmarks.codexomics.naming import camel_key, is_marker_text
from replay.benchmarks.codexomics.records import ANY_OF, DEFAULT, ExpectedCall, ObservedCall
from replay.benchmarks.codexomics.scoring.missing import accepts_missing
from replay.benchmarks.codexomics.scoring.tables import KEY_ALIASES
from replay.benchmarks.codexomics.scoring.values import (
    ValueRules,
    marker_accepts,
    scalar_matches,
    track_matches,
    visibility_of,
)
from replay.core.types import Json, Record

__all__ = ["ArgumentMatch", "Mismatch", "fold_keys", "match_arguments"]

_MAX_DEPTH: Final = 60
MISSING: Final = msgspec.UNSET
"""Stands for a key that is not there, which null is not."""


class Mismatch(Record, frozen=True, kw_only=True):
    """One parameter that does not match."""

    parameter: str
    expected: Json
    received: Json
    is_missing: bool = False


class ArgumentMatch(Record, frozen=True, kw_only=True):
    """What comparing one call's arguments came to."""

    match: bool
    checked: int
    matched: int
    mismatches: tuple[Mismatch, ...] = ()
    alias_matches: tuple[str, ...] = ()
    default_omissions: tuple[str, ...] = ()
    context_matches: tuple[str, ...] = ()


def match_arguments(
    step: ExpectedCall,
    call: ObservedCall,
    rules: ValueRules,
    *,
    schema_valid: bool,
    defaults: Mapping[str, Json] | None = None,
) -> ArgumentMatch:
    """Compare all expected arguments of a step with a call.

    defaults: defaults of the called tool's schema by folded key; given where further keys are judged.
    """
    comparison = _Comparison(
        rules, tools=frozenset((*step.tools, call.key)), called=call.key, schema_valid=schema_valid
    )
    received = fold_keys(call.parameters)
    comparison.compare(step.parameters, received)
    if defaults is not None:
        comparison.refuse_further(step.parameters, received, defaults)
    return comparison.result()


def fold_keys(parameters: Mapping[str, Json]) -> dict[str, Json]:
    """Fold the keys of one object to camelCase; of two that fold to one the later holds."""
    return {camel_key(name): value for name, value in parameters.items()}


class _Comparison:
    """One comparison at work; collects its diagnostics."""

    def __init__(self, rules: ValueRules, *, tools: frozenset[str], called: str, schema_valid: bool) -> None:
        self._rules = rules
        self._tools = tools
        self._called = called
        self._schema_valid = schema_valid
        self._checked = self._matched = 0
        self._mismatches: list[Mismatch] = []
        self._aliases: list[str] = []
        self._omissions: list[str] = []
        self._context: list[str] = []

    def result(self) -> ArgumentMatch:
        return ArgumentMatch(
            match=not self._mismatches,
            checked=self._checked,
            matched=self._matched,
            mismatches=tuple(self._mismatches),
            alias_matches=tuple(self._aliases),
            default_omissions=tuple(self._omissions),
            context_matches=tuple(self._context),
        )

    def compare(self, expected: Mapping[str, Json], received: Mapping[str, Json]) -> None:
        for name, wanted in expected.items():
            self._checked += 1
            if name == ANY_OF:
                if self._any_group(wanted, received, 0):
                    self._matched += 1
                else:
                    self._mismatches.append(
                        Mismatch(parameter=name, expected=wanted, received=dict(received))
                    )
                continue
            found = self._find(camel_key(name), received, note=True)
            if self._key_matches(camel_key(name), wanted, found, received, 0):
                self._matched += 1
            else:
                self._mismatches.append(
                    Mismatch(
                        parameter=name,
                        expected=wanted,
                        received=None if found is MISSING else found,
                        is_missing=found is MISSING,
                    )
                )

    def refuse_further(
        self, expected: Mapping[str, Json], received: Mapping[str, Json], defaults: Mapping[str, Json]
    ) -> None:
        """Note every received key that the oracle does not know and that is not its schema's default."""
        known = set(_named_keys(expected))
        for name, value in received.items():
            covered = name in known or known.intersection(KEY_ALIASES.get(name, ()))
            if covered or _is_track_state(name, known) or (name in defaults and defaults[name] == value):
                continue
            self._mismatches.append(Mismatch(parameter=name, expected="no such key", received=value))

    def _find(self, key: str, received: Mapping[str, Json], *, note: bool = False) -> Json:
        if key in received:
            return received[key]
        for alias in KEY_ALIASES.get(key, ()):
            if alias in received:
                if note:
                    self._aliases.append(f"{key} <- {alias}")
                return received[alias]
        for alias, value in self._tool_aliases(key, received):
            if note:
                self._aliases.append(f"{key} <- {alias}")
            return value
        return MISSING

    def _tool_aliases(self, key: str, received: Mapping[str, Json]) -> Iterable[tuple[str, Json]]:
        """Aliases that belong to one tool; the value is put as the expected key would have it."""
        if "toggle_track" in self._tools:
            other = {"visible": "action", "action": "visible"}.get(key, "")
            if other in received:
                yield other, received[other]
        if "export_fasta_sequence" in self._tools:
            if key == "currentViewOnly" and "sequenceType" in received:
                yield "sequenceType", received["sequenceType"] == "current_view"
            if key == "sequenceType" and received.get("currentViewOnly") is True:
                yield "currentViewOnly", "current_view"

    def _key_matches(
        self, key: str, wanted: Json, found: Json, received: Mapping[str, Json], depth: int
    ) -> bool:
        is_default = isinstance(wanted, dict) and DEFAULT in wanted
        if found is MISSING:
            if is_default:
                if depth == 0:
                    self._omissions.append(key)
                return True
            return self._missing(key, wanted, received)
        return self._value_matches(key, wanted[DEFAULT] if is_default else wanted, found, depth)

    def _missing(self, key: str, wanted: Json, received: Mapping[str, Json]) -> bool:
        if not self._rules.completion:
            return False
        if is_marker_text(wanted) and self._schema_valid:
            self._context.append(f"{key} left to the session")
            return True
        by = accepts_missing(self._called, key, wanted, received, self._rules)
        if by:
            self._context.append(f"{key} <- {by}")
        return bool(by)

    def _value_matches(self, key: str, wanted: Json, value: Json, depth: int) -> bool:  # noqa: PLR0911
        if depth > _MAX_DEPTH:
            return False
        if is_marker_text(wanted):
            return marker_accepts(wanted, value, self._rules)
        if "toggle_track" in self._tools and key in ("trackName", "visible", "action"):
            return self._toggle_matches(key, wanted, value)
        if self._completes_domains(key, wanted, value):
            return True
        if self._rules.completion and isinstance(wanted, list) != isinstance(value, list):
            wanted, value = _unwrap(wanted), _unwrap(value)
        if isinstance(wanted, list):
            return self._lists_match(key, wanted, value, depth)
        if isinstance(wanted, dict):
            return self._objects_match(wanted, value, depth)
        return scalar_matches(wanted, value, self._rules, key)

    def _toggle_matches(self, key: str, wanted: Json, value: Json) -> bool:
        if key == "trackName":
            return track_matches(wanted, value)
        state = visibility_of(wanted)
        if state is None:
            return scalar_matches(wanted, value, self._rules, key)
        if self._rules.completion and isinstance(value, str) and value.strip().lower() == "toggle":
            return not self._rules.rules.known_toggle or self._rules.flow.toggled is state
        return visibility_of(value) is state

    def _completes_domains(self, key: str, wanted: Json, value: Json) -> bool:
        """A complete analysis includes the domains."""
        return (
            self._rules.completion
            and "analyze_interpro_domains" in self._tools
            and (key, wanted) == ("analysisType", "domains")
            and isinstance(value, str)
            and value.strip().lower() == "complete"
        )

    def _lists_match(self, key: str, wanted: list[Json], value: Json, depth: int) -> bool:
        if not isinstance(value, list) or len(value) != len(wanted):
            return False
        pairs = zip(wanted, value, strict=True)
        return all(self._value_matches(key, want, item, depth + 1) for want, item in pairs)

    def _objects_match(self, wanted: Mapping[str, Json], value: Json, depth: int) -> bool:
        if DEFAULT in wanted:
            return self._value_matches("", wanted[DEFAULT], value, depth + 1)
        if not isinstance(value, dict):
            return False
        received = fold_keys(value)
        for name, want in wanted.items():
            if name == ANY_OF:
                if not self._any_group(want, received, depth + 1):
                    return False
            elif not self._key_matches(
                camel_key(name), want, self._find(camel_key(name), received), received, depth + 1
            ):
                return False
        return True

    def _any_group(self, groups: Json, received: Mapping[str, Json], depth: int) -> bool:
        listed = groups if isinstance(groups, list) else [groups]
        return depth <= _MAX_DEPTH and any(self._group_matches(group, received, depth) for group in listed)

    def _group_matches(self, group: Json, received: Mapping[str, Json], depth: int) -> bool:
        """A group counts when its own keys are supplied and it matches; one without keys never does."""
        if not isinstance(group, dict):
            return False
        own = [name for name in group if name != ANY_OF]
        if not own or not all(self._is_supplied(name, group[name], received) for name in own):
            return False
        return self._objects_match(group, dict(received), depth + 1)

    def _is_supplied(self, name: str, wanted: Json, received: Mapping[str, Json]) -> bool:
        exempt = (isinstance(wanted, dict) and DEFAULT in wanted) or is_marker_text(wanted)
        return exempt or self._find(camel_key(name), received) is not MISSING


def _unwrap(value: Json) -> Json:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _is_track_state(name: str, known: set[str]) -> bool:
    return name in ("visible", "action") and bool(known & {"visible", "action"})


def _named_keys(expected: Mapping[str, Json]) -> Iterable[str]:
    for name, wanted in expected.items():
        if name == ANY_OF:
            for group in wanted if isinstance(wanted, list) else []:
                if isinstance(group, dict):
                    yield from _named_keys(group)
        else:
            yield camel_key(name)
