"""Imported API answers -> snapshots, with every collision reported.

The order in which answers are given does not matter: they are sorted by where they were read, so two imports
of the same files give the same snapshots and the same report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from replay.core.errors import CanonicalError, InputError
from replay.core.keys import alias_key
from replay.core.protocols import ImportedAnswer
from replay.core.types import CallAlias, Json, Key, Origin, Provenance, Record, Snapshot, SnapshotStatus
from replay.store.answers import ApiAnswer, make_alias_snapshot, make_api_snapshot
from replay.tools.keys import KeyRecipe

__all__ = ["Collision", "answers_to_snapshots"]

_DIGITS: Final = re.compile(r"([0-9]+)")


class Collision(Record, frozen=True, kw_only=True):
    """Two imported answers with different content that want one key."""

    key: Key
    alias: str = ""
    """Label of the alias when it is an alias that both want; empty for the canonical key."""
    kept: str
    """Source of the answer that the key leads to."""
    kept_body: str
    lost: str
    """Source of the other one."""
    lost_body: str
    reachable: bool
    """True when another key still leads to the other one."""


def answers_to_snapshots(
    answers: Iterable[ImportedAnswer], recipe: KeyRecipe
) -> tuple[tuple[Snapshot, ...], tuple[Collision, ...]]:
    """Key imported answers; report every pair that wants one key with different content.

    The first answer of a key, in source order, keeps it; a later different one stays reachable by its aliases
    alone. Equal answers of one key are one snapshot with the aliases of both. An answer without a request is
    keyed by its first alias.

    Errors:  InputError naming the source when an answer has neither request nor alias, or cannot be hashed.
    """
    keyring = _Keyring(recipe)
    for answer in sorted(answers, key=_source_order):
        keyring.add(answer)
    return keyring.snapshots(), tuple(keyring.collisions)


class _Keyring:
    """Who holds which key so far."""

    def __init__(self, recipe: KeyRecipe) -> None:
        self._recipe = recipe
        self._held: dict[Key, Snapshot] = {}
        self._owners: dict[Key, Key] = {}
        self._sources: dict[Key, str] = {}
        self.collisions: list[Collision] = []

    def snapshots(self) -> tuple[Snapshot, ...]:
        return tuple(self._held[key] for key in sorted(self._held))

    def add(self, answer: ImportedAnswer) -> None:
        snapshot = self._make(answer)
        owner = self._owners.get(snapshot.key)
        if owner is None:
            self._hold(snapshot, answer)
        elif _same_answer(self._held[owner], snapshot):
            self._lend_aliases(owner, answer)
        else:
            fallback = self._free_aliases(answer)
            self._report(snapshot.key, "", snapshot, answer, reachable=bool(fallback))
            if fallback:
                by_alias = msgspec.structs.replace(answer, request=None, aliases=fallback)
                self._hold(self._make(by_alias), by_alias)

    def _hold(self, snapshot: Snapshot, answer: ImportedAnswer) -> None:
        key = snapshot.key
        self._owners[key] = key
        self._sources[key] = answer.source
        self._held[key] = msgspec.structs.replace(snapshot, aliases=())
        self._lend_aliases(key, answer)

    def _lend_aliases(self, owner: Key, answer: ImportedAnswer) -> None:
        """Lead the answer's aliases to its holder; one that leads to another answer is reported and stays."""
        snapshot = self._held[owner]
        gained = set(snapshot.aliases)
        for alias in answer.aliases:
            key = alias_key(self._recipe.benchmark, alias)
            holder = self._owners.setdefault(key, owner)
            if holder == owner and key != owner:
                gained.add(key)
            elif holder != owner and not _same_answer(self._held[holder], snapshot):
                self._report(key, alias.label, snapshot, answer, reachable=True)
        self._held[owner] = msgspec.structs.replace(snapshot, aliases=tuple(sorted(gained)))

    def _free_aliases(self, answer: ImportedAnswer) -> tuple[CallAlias, ...]:
        if answer.request is None:
            return ()
        benchmark = self._recipe.benchmark
        return tuple(alias for alias in answer.aliases if alias_key(benchmark, alias) not in self._owners)

    def _report(
        self, key: Key, alias: str, lost: Snapshot, answer: ImportedAnswer, *, reachable: bool
    ) -> None:
        owner = self._owners[key]
        self.collisions.append(
            Collision(
                key=key,
                alias=alias,
                kept=self._sources[owner],
                kept_body=self._held[owner].body,
                lost=answer.source,
                lost_body=lost.body,
                reachable=reachable,
            )
        )

    def _make(self, answer: ImportedAnswer) -> Snapshot:
        try:
            said = ApiAnswer(
                body=answer.body,
                media=answer.media,
                status=SnapshotStatus(answer.status),
                provenance=Provenance.IMPORTED,
                origin=Origin(answer.origin),
                meta=_meta(answer),
            )
            if answer.request is not None:
                return make_api_snapshot(self._recipe.apply(answer.request), said)
            if answer.aliases:
                return make_alias_snapshot(self._recipe.benchmark, answer.aliases[:1], said)
        except CanonicalError as error:
            what = f"{error.what} at {error.where}"
            raise InputError(f"recorded answer cannot be keyed: {what}", where=answer.source) from None
        except ValueError as error:
            raise InputError(f"recorded answer cannot be kept: {error}", where=answer.source) from None
        raise InputError("recorded answer has neither a request nor an alias", where=answer.source)


def _meta(answer: ImportedAnswer) -> Json:
    return {**(answer.meta if isinstance(answer.meta, dict) else {}), "source": answer.source}


def _same_answer(left: Snapshot, right: Snapshot) -> bool:
    return (left.body, left.media, left.status) == (right.body, right.media, right.status)


def _source_order(answer: ImportedAnswer) -> tuple[tuple[tuple[int, str], ...], str, str]:
    # Record 10 comes after record 2: the order of an upstream file is the order in which it was written.
    parts = tuple(
        (len(part), part) if part.isdigit() else (-1, part) for part in _DIGITS.split(answer.source)
    )
    texts = "\x00".join(alias.text for alias in answer.aliases)
    return parts, texts, answer.body
