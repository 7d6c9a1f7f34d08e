"""Molecular biology of our own: published values, ambiguity codes, and agreement with a second opinion."""

from __future__ import annotations

import sys

import pytest

from replay.benchmarks.codexomics.world.biology import OwnBiology, SequenceFault, entropy, gc_fraction
from replay.benchmarks.codexomics.world.biopython import open_biology
from replay.benchmarks.codexomics.world.genome import load_genome
from replay.core.errors import InputError, MissingExtraError

OWN = OwnBiology()


@pytest.mark.parametrize(
    ("given", "turned"),
    [("ARYN", "NRYT"), ("GATTACA", "TGTAATC"), ("acgt", "acgt"), ("KMBDHVSW", "WSBDHVKM")],
)
def test_reverse_complement(given: str, turned: str) -> None:
    """Ambiguity codes have complements of their own."""
    assert turned == OWN.reverse_complement(given)


@pytest.mark.parametrize(
    ("dna", "code", "protein"),
    [
        ("ATGAAATAA", 1, "MK*"),
        ("ATGTGA", 2, "MW"),
        ("AGA", 2, "*"),
        ("ATGAA", 1, "M"),
        ("GCN", 1, "A"),
        ("NNN", 1, "X"),
        ("", 1, ""),
    ],
)
def test_translation(dna: str, code: int, protein: str) -> None:
    """Whole codons only; an ambiguous codon is told where all it may be agree."""
    assert protein == OWN.translate(dna, code)


def test_an_unknown_code_is_a_fault() -> None:
    """The shipped tables are the standard, the vertebrate mitochondrial and the bacterial one."""
    with pytest.raises(SequenceFault, match="genetic code 9"):
        OWN.translate("ATG", 9)


def test_composition() -> None:
    """GC counts strong bases among told ones; entropy is in bits."""
    assert (0.5, 2.0, 0.0) == (gc_fraction("ACGTNN"), entropy("ACGT"), entropy("AAAA"))


def test_an_unknown_biology_is_refused() -> None:
    """There are two implementations."""
    with pytest.raises(InputError, match="own or biopython"):
        open_biology("other")


def test_without_the_package_the_option_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only who asks for the larger tables needs the extra, and is told how to get it."""
    monkeypatch.setitem(sys.modules, "Bio", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'replay-bench\[genome\]'"):
        open_biology("biopython")


def test_both_implementations_agree() -> None:
    """Where Biopython is installed, it says the same of our genome, weights and shared enzymes."""
    pytest.importorskip("Bio", reason="the extra `genome` is not installed")
    other = open_biology("biopython")
    bases = load_genome("demo-genome-1").sequence
    assert other.reverse_complement("ARYNKM") == OWN.reverse_complement("ARYNKM")
    for code in (1, 2, 11):
        assert other.translate(bases, code) == OWN.translate(bases, code)
    assert pytest.approx(other.molecular_weight("MKTAYIAK", "protein")) == OWN.molecular_weight(
        "MKTAYIAK", "protein"
    )
    assert pytest.approx(other.molecular_weight("ACGTTGCA", "dna")) == OWN.molecular_weight("ACGTTGCA", "dna")
    assert pytest.approx(
        other.melting_temperature("ATGACCATGATTACGGATTC"), abs=0.1
    ) == OWN.melting_temperature("ATGACCATGATTACGGATTC")
    theirs = {enzyme.name: enzyme for enzyme in other.enzymes()}
    shared = [enzyme for enzyme in OWN.enzymes() if enzyme.name in theirs]
    assert len(shared) > 35
    for ours in shared:
        enzyme = theirs[ours.name]
        assert (ours.site, ours.cut, ours.overhang) == (enzyme.site, enzyme.cut, enzyme.overhang)
