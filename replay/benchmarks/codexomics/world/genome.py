"""The genome a session works on: one chromosome with its features, shipped as data.

Owns reading and checking. Coordinates are 1-based and inclusive, as everywhere in this benchmark.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from replay.core.canonical import digest
from replay.core.errors import InputError
from replay.core.types import Json, Record

__all__ = ["GENOMES", "Feature", "Genome", "load_genome"]

GENOMES: Final = ("demo-genome-1",)
"""Genomes that ship with the product."""


class Feature(Record, frozen=True, kw_only=True):
    """One annotated place."""

    type: str
    name: str
    locus_tag: str = ""
    start: int
    end: int
    strand: int = 1
    product: str = ""
    operon: str = ""


class Genome(Record, frozen=True, kw_only=True):
    """One chromosome."""

    name: str
    chromosome: str
    organism: str
    note: str = ""
    features: tuple[Feature, ...]
    sequence: str

    @property
    def digest(self) -> str:
        """Identity of sequence and features."""
        return digest("genome", msgspec.to_builtins(self))

    def facts(self) -> Mapping[str, Json]:
        """What placeholders of an oracle stand for."""
        return {"current_chromosome": self.chromosome}


@cache
def load_genome(name: str) -> Genome:
    """Load a shipped genome. Raises InputError listing those there are."""
    if name not in GENOMES:
        raise InputError(
            f"no genome {name!r}", where="the suite's fixture", expected=f"one of {', '.join(GENOMES)}"
        )
    data = Path(__file__).with_name(f"{name}.json").read_bytes()
    return msgspec.json.decode(data, type=Genome)
