"""From the parts of a row back to plain bytes, each proved against its digest."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import zstandard

from replay.core.errors import DamagedError
from replay.store.dictionaries import Dictionary
from replay.store.entries import BODY, DICTIONARY, ELSEWHERE, KINDS, PLAIN, Part
from replay.store.records import FRAME_MAGIC, ObjectDecoder, decompress

__all__ = ["PartReader"]

_PART_NAMES: Final = ("body", "head")
_UNDICTIONARIED: Final = -1
"""Slot of the decompressor without dictionary; the others are kind * 2 + part."""


class PartReader:
    """Reads parts inside one transaction. Belongs to one thread at a time."""

    def __init__(self, transaction: Any, handles: Mapping[str, Any], where: str) -> None:
        """Read objects and dictionaries of a store; `where` names it in errors."""
        self._transaction = transaction
        self._objects = handles["objects"]
        self._rows = handles["dictionaries"]
        self._where = where
        self._dictionaries: dict[tuple[int, int], Dictionary] | None = None
        self._decoder: ObjectDecoder | None = None
        self._decompressors: dict[int, zstandard.ZstdDecompressor] = {}

    def part(self, part: Part, kind: int, which: int) -> bytes:
        """Plain bytes of a body or head, proved. Errors: DamagedError, LimitError."""
        if part.codec == ELSEWHERE:
            return self.object(part.check)
        return self._prove(part.codec, part.check, part.data, kind << 1 | which)

    def object(self, digest: bytes) -> bytes:
        """Plain bytes of an object, proved. Errors: DamagedError when it is missing or differs."""
        value = self._transaction.get(digest, db=self._objects)
        where = f"{self._where}, object {digest.hex()}"
        if value is None:
            raise DamagedError("object is missing", where=where, next_step="thaw the archive again")
        plain = self.decode(value)
        if value[4:36] != digest:
            raise DamagedError("object lies under another's name", where=where)
        return plain

    def decode(self, envelope: bytes) -> bytes:
        """Plain bytes of an envelope, proved."""
        if self._decoder is None:
            self._decoder = ObjectDecoder({one.id: one for one in self.dictionaries().values()})
        return self._decoder.decode(envelope)

    def dictionaries(self) -> dict[tuple[int, int], Dictionary]:
        """Dictionaries by (kind, part). Errors: DamagedError when one differs from its digest."""
        if self._dictionaries is None:
            found: dict[tuple[int, int], Dictionary] = {}
            for name, value in self._transaction.cursor(db=self._rows):
                dictionary = Dictionary(value[32:])
                if dictionary.digest != value[:32] or len(name) != 2:
                    raise DamagedError("dictionary differs from its digest", where=self._where)
                found[name[0], name[1]] = dictionary
            self._dictionaries = found
        return self._dictionaries

    def body_of(self, value: bytes, kind: int) -> bytes:
        """Read the body out of a packed row without unpacking the rest; `entries` has the layout."""
        codec = value[0] & 3
        if codec == ELSEWHERE:
            return self.object(value[7:39])
        if len(value) < 25:
            raise DamagedError(f"index entry of {len(value)} bytes", where=self._where, next_step="run fsck")
        end = 25 + (value[23] | value[24] << 8)
        return self._prove(codec, value[7:23], value[25:end], kind << 1 | BODY)

    def _prove(self, codec: int, check: bytes, data: bytes, place: int) -> bytes:
        if codec == PLAIN:
            plain = data
        else:
            slot = place if codec == DICTIONARY else _UNDICTIONARIED
            decompressor = self._decompressors.get(slot) or self._make_decompressor(slot)
            plain = decompress(FRAME_MAGIC + data, decompressor, where=self._where)
        if hashlib.sha256(plain).digest()[:16] != check:
            raise DamagedError(
                "answer differs from its digest",
                where=self._where,
                expected=f"bytes whose SHA-256 starts with {check.hex()}",
                next_step="delete the store and thaw its archive again",
            )
        return plain

    def _make_decompressor(self, slot: int) -> zstandard.ZstdDecompressor:
        if slot == _UNDICTIONARIED:
            made = zstandard.ZstdDecompressor()
        else:
            kind, which = slot >> 1, slot & 1
            dictionary = self.dictionaries().get((kind, which))
            if dictionary is None:
                raise DamagedError(f"no dictionary for {KINDS[kind]} {_PART_NAMES[which]}", where=self._where)
            made = dictionary.decompressor()
        self._decompressors[slot] = made
        return made
