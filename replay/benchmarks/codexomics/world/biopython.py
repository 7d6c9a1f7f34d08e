"""The seam on Biopython's tables: every genetic code, every enzyme of REBASE. The extra `genome`.

Asked for by name (`biology=biopython`), because its tables change from version to version: the version is a
part of the name, and so of everything a session answers. Without the package the product works on its own
tables; only this option names what to install.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from replay.benchmarks.codexomics.world.biology import Biology, Enzyme, OwnBiology, SequenceFault
from replay.core.errors import InputError, MissingExtraError

__all__ = ["open_biology", "open_biopython"]


def open_biology(name: str) -> Biology:
    """Make an implementation by its option. Raises InputError for another name or a missing package."""
    if name == "own":
        return OwnBiology()
    if name == "biopython":
        return open_biopython()
    raise InputError(f"unknown biology {name!r}", where="settings.options", expected="own or biopython")


def open_biopython() -> Biology:
    """Make the seam. Raises MissingExtraError naming the command when the package is not here."""
    try:
        version = import_module("Bio").__version__
    except ImportError:
        raise MissingExtraError(
            "Biopython is not installed",
            where="option biology=biopython",
            expected="the extra `genome`",
            next_step="pip install 'replay-bench[genome]', or leave the option out for our own tables",
        ) from None
    return _Biopython(version)


class _Biopython:
    def __init__(self, version: str) -> None:
        self.name = f"biopython-{version}"
        self._seq: Any = import_module("Bio.Seq")
        self._utils: Any = import_module("Bio.SeqUtils")
        self._melting: Any = import_module("Bio.SeqUtils.MeltingTemp")

    def reverse_complement(self, sequence: str) -> str:
        return str(self._seq.reverse_complement(sequence))

    def translate(self, sequence: str, code: int) -> str:
        whole = sequence[: len(sequence) // 3 * 3]
        try:
            return str(self._seq.translate(whole, table=code))
        except (KeyError, ValueError) as error:
            raise SequenceFault(f"cannot be translated: {error}") from None

    def molecular_weight(self, sequence: str, kind: str) -> float:
        kinds = {"dna": "DNA", "protein": "protein"}
        try:
            return float(self._utils.molecular_weight(sequence.upper().rstrip("*"), kinds[kind]))
        except ValueError as error:
            raise SequenceFault(f"no weight: {error}") from None

    def melting_temperature(self, primer: str) -> float:
        try:
            return round(float(self._melting.Tm_NN(primer, nn_table=self._melting.DNA_NN4)), 2)
        except (KeyError, ValueError, IndexError) as error:
            raise SequenceFault(f"no melting temperature: {error}") from None

    def enzymes(self) -> tuple[Enzyme, ...]:
        restriction: Any = import_module("Bio.Restriction")
        found = []
        for enzyme in restriction.CommOnly:
            if not enzyme.is_defined() or enzyme.cut_once() is False:
                continue
            kind = "blunt" if enzyme.is_blunt() else "5'_overhang" if enzyme.is_5overhang() else "3'_overhang"
            found.append(
                Enzyme(
                    name=str(enzyme),
                    site=enzyme.site,
                    cut=enzyme.fst5,
                    overhang=kind,
                    suppliers=len(enzyme.supplier_list()),
                )
            )
        return tuple(sorted(found, key=lambda item: item.name))
