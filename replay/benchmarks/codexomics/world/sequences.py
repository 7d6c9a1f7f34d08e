"""Sequences of the session and what is computed of them: translation, composition, ORFs, motifs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from replay.benchmarks.codexomics.world.biology import (
    CODES,
    clean_dna,
    entropy,
    gc_fraction,
    site_pattern,
)
from replay.benchmarks.codexomics.world.session import Arguments, Handler, Session, SessionFaultError
from replay.core.types import Json

__all__ = ["HANDLERS", "coding_sequence"]

_MAX_HITS: Final = 1_000
_MAX_REGEX: Final = 200
_SAFE_REGEX: Final = re.compile(r"[A-Za-z\[\]|.?{}0-9,^$\\-]*")
"""Letters, classes, counts: no groups, stars or plus signs, so that no pattern can run for ever."""
_MINUS_10, _MINUS_35 = "TATAAT", "TTGACA"


def coding_sequence(session: Session, gene: Mapping[str, Any]) -> str:
    """Bases of a gene in reading direction."""
    bases = session.bases(gene["start"], gene["end"])
    return bases if gene["strand"] == 1 else session.biology.reverse_complement(bases)


def _get_sequence(session: Session, arguments: Arguments) -> dict[str, Json]:
    start, end = session.region(arguments)
    strand = arguments.text("strand", default="+")
    bases = session.bases(start, end)
    answer: dict[str, Json] = {"chromosome": session.genome.chromosome, "start": start, "end": end}
    if strand in ("-", "both"):
        answer["reverseComplement"] = session.biology.reverse_complement(bases)
    answer["sequence"] = answer["reverseComplement"] if strand == "-" else bases
    return {**answer, "strand": strand, "length": len(bases)}


def _get_coding(session: Session, arguments: Arguments) -> dict[str, Json]:
    gene = session.find_gene(arguments.text("geneName"))
    if gene["type"] == "tRNA":
        raise SessionFaultError(f"{gene['name']} does not code for a protein")
    bases = coding_sequence(session, gene)
    protein = session.biology.translate(bases, 11).rstrip("*")
    return {
        "geneName": gene["name"],
        "start": gene["start"],
        "end": gene["end"],
        "strand": gene["strand"],
        "codingSequence": bases,
        "proteinSequence": protein,
        "length": len(bases),
    }


def _translate(session: Session, arguments: Arguments) -> dict[str, Json]:
    dna = clean_dna(arguments.text("dna", "sequence"))
    frame = arguments.whole("readingFrame", default=1)
    if frame not in (1, 2, 3):
        raise SessionFaultError("reading frame must be 1, 2 or 3")
    code = arguments.text("geneticCode", default="standard")
    if code not in CODES:
        raise SessionFaultError(f"genetic code must be one of {', '.join(CODES)}")
    protein = session.biology.translate(dna[frame - 1 :], CODES[code])
    answer: dict[str, Json] = {"protein": protein, "readingFrame": frame, "length": len(protein)}
    if arguments.flag("findOrfs", default=False):
        answer["orfs"] = _orfs(session, dna, arguments.whole("minOrfLength", default=50))
    return answer


def _reverse_complement(session: Session, arguments: Arguments) -> dict[str, Json]:
    given = "".join(arguments.text("sequence", "dna").split())
    clean_dna(given)
    keeps_case = arguments.flag("preserveCase", default=False)
    sequence = given if keeps_case else given.upper()
    return {"sequence": sequence, "reverseComplement": session.biology.reverse_complement(sequence)}


def _composition(bases: str) -> dict[str, Json]:
    counts = Counter(bases)
    return {
        "gcContent": round(100 * gc_fraction(bases), 2),
        "length": len(bases),
        "counts": {base: counts.get(base, 0) for base in "ACGTN"},
    }


def _compute_gc(_: Session, arguments: Arguments) -> dict[str, Json]:
    return _composition(clean_dna(arguments.text("sequence")))


def _region_gc(session: Session, arguments: Arguments) -> dict[str, Json]:
    start, end = session.region(arguments, default_view=True)
    return {"start": start, "end": end, **_composition(session.bases(start, end))}


def _entropy(_: Session, arguments: Arguments) -> dict[str, Json]:
    bases = clean_dna(arguments.text("sequence"))
    return {"entropy": round(entropy(bases), 6), "length": len(bases)}


def _weight(session: Session, arguments: Arguments) -> dict[str, Json]:
    sequence = "".join(arguments.text("sequence", "protein", "dna").split()).upper()
    kind = arguments.text("type", default="auto")
    if kind == "auto":
        told = "protein" in arguments or not set(sequence) <= set("ACGTN")
        kind = "protein" if told and "dna" not in arguments else "dna"
    weight = session.biology.molecular_weight(sequence, kind)
    return {"molecularWeight": round(weight, 2), "type": kind, "length": len(sequence)}


def _codon_usage(session: Session, _: Arguments) -> dict[str, Json]:
    counts: Counter[str] = Counter()
    genes = [item for item in session.data["features"] if item["type"] == "CDS"]
    for gene in genes:
        bases = coding_sequence(session, gene)
        counts.update(bases[i : i + 3] for i in range(0, len(bases) - 2, 3))
    total = sum(counts.values())
    usage = {
        codon: {"count": count, "aminoAcid": session.biology.translate(codon, 11)}
        for codon, count in sorted(counts.items())
    }
    return {"genes": len(genes), "totalCodons": total, "codons": usage}


def _orfs(session: Session, dna: str, minimum: int) -> list[Json]:
    """Open reading frames ATG..stop on both strands, longest first; places on the strand that was given."""
    found = []
    for strand, bases in ((1, dna), (-1, session.biology.reverse_complement(dna))):
        for frame in range(3):
            protein = session.biology.translate(bases[frame:], 11)
            for hit in re.finditer(r"M[^*]*\*", protein):
                first, size = frame + 3 * hit.start(), 3 * len(hit.group())
                start = first + 1 if strand == 1 else len(bases) - first - size + 1
                if size >= minimum:
                    found.append(
                        {"strand": strand, "frame": frame + 1, "start": start, "end": start + size - 1}
                    )
    found.sort(key=lambda orf: (orf["start"] - orf["end"], orf["start"], -orf["strand"]))
    return list(found[:_MAX_HITS])


def _find_orfs(session: Session, arguments: Arguments) -> dict[str, Json]:
    if "dna" in arguments or "sequence" in arguments:
        dna = clean_dna(arguments.text("dna", "sequence"))
    else:
        dna = session.bases(*session.region(arguments, default_view=True))
    orfs = _orfs(session, dna, arguments.whole("minLength", "minOrfLength", default=90))
    return {"orfs": orfs, "count": len(orfs)}


def _hits(session: Session, site: str, start: int, end: int, strand: str) -> list[Json]:
    bases = session.bases(start, end)
    found = []
    for sign, wanted in (("+", site), ("-", session.biology.reverse_complement(site))):
        # A palindrome is one hit, not two.
        if strand not in (sign, "both") or (sign == "-" and strand == "both" and wanted == site):
            continue
        for hit in site_pattern(wanted).finditer(bases):
            place = start + hit.start()
            found.append(
                {"start": place, "end": place + len(site) - 1, "strand": sign, "match": hit.group(1)}
            )
    return sorted(found, key=lambda hit: (hit["start"], hit["strand"]))


def _motif(session: Session, arguments: Arguments) -> dict[str, Json]:
    motif = clean_dna(arguments.text("motif"))
    start, end = session.region(arguments, default_view=True)
    if arguments.whole("maxMismatches", default=0):
        raise SessionFaultError("this session finds motifs without mismatches only")
    found = _hits(session, motif, start, end, arguments.text("strand", default="both"))
    return {"motif": motif, "matches": found[:_MAX_HITS], "count": len(found), "start": start, "end": end}


def _pattern(session: Session, arguments: Arguments) -> dict[str, Json]:
    text = arguments.text("regex")
    if len(text) > _MAX_REGEX or _SAFE_REGEX.fullmatch(text) is None:
        raise SessionFaultError("a pattern has letters, classes and counts only, at most 200 characters")
    try:
        pattern = re.compile(text, re.IGNORECASE)
    except re.error as error:
        raise SessionFaultError(f"pattern cannot be read: {error}") from None
    start, end = session.region(arguments, default_view=True)
    bases = session.bases(start, end)
    found = [
        {"start": start + hit.start(), "end": start + hit.end() - 1, "match": hit.group()}
        for hit in pattern.finditer(bases)
        if hit.group()
    ]
    return {"matches": found[:_MAX_HITS], "count": len(found), "start": start, "end": end}


def _promoter(_: Session, arguments: Arguments) -> dict[str, Json]:
    """Two hexamers 15 to 19 bases apart; the score is the share of consensus bases."""
    dna = clean_dna(arguments.text("sequence"))
    threshold = arguments.number("threshold", default=0.5)
    found = []
    for first in range(len(dna) - 5):
        for gap in range(15, 20):
            second = first + 6 + gap
            if second + 6 <= len(dna):
                score = (_alike(dna[first:], _MINUS_35) + _alike(dna[second:], _MINUS_10)) / 12
                if score >= max(threshold, 0.5):
                    found.append(
                        {"minus35": first + 1, "minus10": second + 1, "spacer": gap, "score": round(score, 4)}
                    )
    found.sort(key=lambda item: (-item["score"], item["minus35"], item["spacer"]))
    return {"promoters": found[:20], "count": len(found)}


def _alike(bases: str, consensus: str) -> int:
    return sum(1 for ours, theirs in zip(bases, consensus, strict=False) if ours == theirs)


def _genome_info(session: Session, _: Arguments) -> dict[str, Json]:
    types = Counter(item["type"] for item in session.data["features"])
    return {
        "name": session.genome.name,
        "organism": session.genome.organism,
        "chromosomes": [{"name": session.genome.chromosome, "length": len(session.sequence)}],
        "gcContent": round(100 * gc_fraction(session.sequence), 2),
        "features": dict(sorted(types.items())),
    }


def _chromosomes(session: Session, _: Arguments) -> dict[str, Json]:
    return {"chromosomes": [{"name": session.genome.chromosome, "length": len(session.sequence)}]}


def _detect(_: Session, arguments: Arguments) -> dict[str, Json]:
    letters = "".join(arguments.text("sequence").split()).upper()
    share = sum(letters.count(base) for base in "ACGTUN") / len(letters)
    kind = "nucleotide" if share >= 0.9 else "protein"
    return {"type": kind, "nucleotideShare": round(share, 4), "length": len(letters)}


HANDLERS: Final[Mapping[str, Handler]] = {
    "get_sequence": _get_sequence,
    "get_coding_sequence": _get_coding,
    "translate_dna": _translate,
    "translate_sequence": _translate,
    "reverse_complement": _reverse_complement,
    "compute_gc": _compute_gc,
    "calc_region_gc": _region_gc,
    "calculate_entropy": _entropy,
    "calculate_molecular_weight": _weight,
    "genome_codon_usage_analysis": _codon_usage,
    "find_orfs": _find_orfs,
    "search_sequence_motif": _motif,
    "search_pattern": _pattern,
    "predict_promoter": _promoter,
    "get_genome_info": _genome_info,
    "get_chromosome_list": _chromosomes,
    "blast_detect_sequence_type": _detect,
}
"""Tool to handler."""
