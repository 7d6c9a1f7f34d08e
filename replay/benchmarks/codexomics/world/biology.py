"""Molecular biology that is a pure function of a sequence, on tables of our own.

Owns reverse complement (ambiguity codes included), translation, composition, molecular weight, melting
temperature and restriction sites, all for the shipped tables only, so that a session gives the same answers
on every machine. `biopython.py` is the second implementation of the seam, with larger tables, as an option.
Source: IUPAC codes; NCBI genetic codes 1, 2, 11; SantaLucia 1998 nearest-neighbour parameters; REBASE sites.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final, Protocol

from replay.core.types import Record

__all__ = [
    "CODES",
    "Biology",
    "Enzyme",
    "OwnBiology",
    "SequenceFault",
    "clean_dna",
    "entropy",
    "gc_fraction",
    "site_pattern",
]

CODES: Final[Mapping[str, int]] = {
    "standard": 1,
    "vertebrate_mitochondrial": 2,
    "bacterial": 11,
    "archaeal": 11,
}
"""Names of genetic codes to NCBI's numbers."""

_BASES: Final = "TCAG"
_STANDARD: Final = "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG"
_MITOCHONDRIAL: Final = "FFLLSSSSYY**CCWWLLLLPPPPHHQQRRRRIIMMTTTTNNKKSS**VVVVAAAADDEEGGGG"
_COMPLEMENT: Final = str.maketrans("ACGTURYSWKMBDHVNacgturyswkmbdhvn", "TGCAAYRSWMKVHDBNtgcaayrswmkvhdbn")
IUPAC: Final[Mapping[str, str]] = {
    "A": "A", "C": "C", "G": "G", "T": "T", "R": "AG", "Y": "CT", "S": "CG", "W": "AT", "K": "GT",
    "M": "AC", "B": "CGT", "D": "AGT", "H": "ACT", "V": "ACG", "N": "ACGT",
}  # fmt: skip
_RESIDUES: Final[Mapping[str, float]] = {
    "A": 89.0932, "C": 121.1582, "D": 133.1027, "E": 147.1293, "F": 165.1891, "G": 75.0666, "H": 155.1546,
    "I": 131.1729, "K": 146.1876, "L": 131.1729, "M": 149.2113, "N": 132.1179, "P": 115.1305, "Q": 146.1445,
    "R": 174.201, "S": 105.0926, "T": 119.1192, "V": 117.1463, "W": 204.2252, "Y": 181.1885,
}  # fmt: skip
"""Units: g/mol of the free amino acid."""
_NUCLEOTIDES: Final[Mapping[str, float]] = {"A": 331.2218, "C": 307.1971, "G": 347.2212, "T": 322.2085}
_WATER: Final = 18.0153
_STACK: Final[Mapping[str, tuple[float, float]]] = {
    "AA": (-7.9, -22.2), "AT": (-7.2, -20.4), "TA": (-7.2, -21.3), "CA": (-8.5, -22.7), "GT": (-8.4, -22.4),
    "CT": (-7.8, -21.0), "GA": (-8.2, -22.2), "CG": (-10.6, -27.2), "GC": (-9.8, -24.4), "GG": (-8.0, -19.9),
}  # fmt: skip
"""Units: kcal/mol and cal/(mol K), SantaLucia and Hicks 2004 form of the 1998 set."""
_SALT_MOLAR: Final = 0.05
_PRIMER_MOLAR: Final = 25e-9
_GAS: Final = 1.987


class SequenceFault(ValueError):  # noqa: N818  a fault of a call's argument, not of the program
    """A sequence, code or enzyme that cannot be used; becomes the tool's error answer."""


class Enzyme(Record, frozen=True, kw_only=True):
    """One restriction enzyme."""

    name: str
    site: str
    cut: int
    """Bases before the cut on the given strand."""
    overhang: str
    """5'_overhang, 3'_overhang or blunt."""
    suppliers: int = 1


class Biology(Protocol):
    """What a session computes with."""

    name: str

    def reverse_complement(self, sequence: str) -> str:
        """Reverse complement, ambiguity codes included."""
        ...

    def translate(self, sequence: str, code: int) -> str:
        """Translate whole codons from the first base; `*` is a stop, X what cannot be told."""
        ...

    def molecular_weight(self, sequence: str, kind: str) -> float:
        """Weight in g/mol of single-stranded `dna` or of a `protein`."""
        ...

    def melting_temperature(self, primer: str) -> float:
        """Nearest-neighbour melting temperature in degrees Celsius."""
        ...

    def enzymes(self) -> tuple[Enzyme, ...]:
        """Every known enzyme, sorted by name."""
        ...


class OwnBiology:
    """The seam on our own tables."""

    name = "own-1"

    def reverse_complement(self, sequence: str) -> str:
        """Reverse complement, ambiguity codes included; ARYN gives NRYT."""
        return sequence.translate(_COMPLEMENT)[::-1]

    def translate(self, sequence: str, code: int) -> str:
        """Translate whole codons. Raises SequenceFault for a code that is not in the table."""
        if code not in (1, 2, 11):
            raise SequenceFault(f"genetic code {code} is not one of 1, 2, 11")
        table = _MITOCHONDRIAL if code == 2 else _STANDARD
        dna = sequence.upper().replace("U", "T")
        return "".join(_residue(dna[i : i + 3], table) for i in range(0, len(dna) - 2, 3))

    def molecular_weight(self, sequence: str, kind: str) -> float:
        """Sum the parts and take the water of each bond away."""
        table = _RESIDUES if kind == "protein" else _NUCLEOTIDES
        letters = sequence.upper().rstrip("*") if kind == "protein" else sequence.upper()
        unknown = sorted(set(letters) - table.keys())
        if unknown or not letters:
            raise SequenceFault(f"no weight for {', '.join(unknown) or 'an empty sequence'}")
        return math.fsum(table[letter] for letter in letters) - _WATER * (len(letters) - 1)

    def melting_temperature(self, primer: str) -> float:
        """Add the stacks, the ends and the salt; 25 nM strands, 50 mM sodium."""
        dna = clean_dna(primer)
        if not set(dna) <= set("ACGT") or len(dna) < 2:
            raise SequenceFault("a primer has at least two of A, C, G and T and nothing else")
        enthalpy, entropy_sum = 0.2, -5.7
        for end in (dna[0], dna[-1]):
            if end in "AT":
                enthalpy, entropy_sum = enthalpy + 2.2, entropy_sum + 6.9
        for i in range(len(dna) - 1):
            pair = dna[i : i + 2]
            stack = _STACK.get(pair) or _STACK[self.reverse_complement(pair)]
            enthalpy, entropy_sum = enthalpy + stack[0], entropy_sum + stack[1]
        entropy_sum += 0.368 * (len(dna) - 1) * math.log(_SALT_MOLAR)
        kelvin = 1000 * enthalpy / (entropy_sum + _GAS * math.log(_PRIMER_MOLAR / 2))
        return round(kelvin - 273.15, 2)

    def enzymes(self) -> tuple[Enzyme, ...]:
        """Forty common enzymes."""
        return _ENZYMES


def clean_dna(sequence: str) -> str:
    """Upper case without blanks; U is T. Raises SequenceFault for anything that is no nucleotide code."""
    dna = re.sub(r"\s+", "", sequence).upper().replace("U", "T")
    unknown = sorted(set(dna) - IUPAC.keys())
    if unknown or not dna:
        raise SequenceFault(f"not DNA: {', '.join(unknown) if unknown else 'empty'}")
    return dna


def gc_fraction(dna: str) -> float:
    """Share of G and C among the bases that are told; 0 when none is."""
    told = sum(dna.count(base) for base in "ACGTSW")
    strong = sum(dna.count(base) for base in "GCS")
    return strong / told if told else 0.0


def entropy(sequence: str) -> float:
    """Shannon entropy of the letters in bits."""
    total = len(sequence)
    shares = [sequence.count(letter) / total for letter in sorted(set(sequence))]
    return -math.fsum(share * math.log2(share) for share in shares) + 0.0


def site_pattern(site: str) -> re.Pattern[str]:
    """Pattern of a recognition site or motif with ambiguity codes; overlapping hits are found."""
    return re.compile("(?=(" + "".join(f"[{IUPAC[base]}]" for base in clean_dna(site)) + "))")


def _residue(codon: str, table: str) -> str:
    """One amino acid; an ambiguous codon is told where all it may be agree."""
    if all(base in _BASES for base in codon):
        return table[16 * _BASES.index(codon[0]) + 4 * _BASES.index(codon[1]) + _BASES.index(codon[2])]
    first, second, third = (IUPAC.get(base, "") for base in codon)
    found = {_residue(a + b + c, table) for a in first for b in second for c in third}
    return found.pop() if len(found) == 1 else "X"


def _enzyme(line: str) -> Enzyme:
    name, site = line.split()
    bare = site.replace("^", "")
    cut, size = site.index("^"), len(bare)
    kind = "blunt" if 2 * cut == size else "5'_overhang" if 2 * cut < size else "3'_overhang"
    return Enzyme(name=name, site=bare, cut=cut, overhang=kind)


_ENZYMES: Final = tuple(
    _enzyme(line)
    for line in [
        "AatII GACGT^C",
        "AgeI A^CCGGT",
        "AluI AG^CT",
        "ApaI GGGCC^C",
        "AscI GG^CGCGCC",
        "AvrII C^CTAGG",
        "BamHI G^GATCC",
        "BglII A^GATCT",
        "BspEI T^CCGGA",
        "BssHII G^CGCGC",
        "ClaI AT^CGAT",
        "DpnI GA^TC",
        "DraI TTT^AAA",
        "EagI C^GGCCG",
        "EcoRI G^AATTC",
        "EcoRV GAT^ATC",
        "FseI GGCCGG^CC",
        "HaeIII GG^CC",
        "HindIII A^AGCTT",
        "HinfI G^ANTC",
        "HpaI GTT^AAC",
        "HpaII C^CGG",
        "KpnI GGTAC^C",
        "MfeI C^AATTG",
        "MluI A^CGCGT",
        "MscI TGG^CCA",
        "NcoI C^CATGG",
        "NdeI CA^TATG",
        "NheI G^CTAGC",
        "NotI GC^GGCCGC",
        "NsiI ATGCA^T",
        "PacI TTAAT^TAA",
        "PstI CTGCA^G",
        "PvuI CGAT^CG",
        "PvuII CAG^CTG",
        "SacI GAGCT^C",
        "SacII CCGC^GG",
        "SalI G^TCGAC",
        "ScaI AGT^ACT",
        "SmaI CCC^GGG",
        "SpeI A^CTAGT",
        "SphI GCATG^C",
        "StuI AGG^CCT",
        "XbaI T^CTAGA",
        "XhoI C^TCGAG",
        "XmaI C^CCGGG",
    ]
)
