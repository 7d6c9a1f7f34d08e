"""The bench: restriction enzymes and digests, gels and markers, primers."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

from replay.benchmarks.codexomics.world.biology import Enzyme, clean_dna, gc_fraction, site_pattern
from replay.benchmarks.codexomics.world.session import Arguments, Handler, Session, SessionFaultError
from replay.core.types import Json

__all__ = ["HANDLERS"]

_MARKERS: Final[Mapping[str, tuple[str, str, tuple[int, ...]]]] = {
    "takara_dl2000": ("Takara", "ladder", (2000, 1000, 750, 500, 250, 100)),
    "takara_dl5000": ("Takara", "ladder", (5000, 3000, 2000, 1500, 1000, 750, 500, 250, 100)),
    "neb_1kb": ("NEB", "ladder", (10000, 8000, 6000, 5000, 4000, 3000, 2000, 1500, 1000, 500)),
    "neb_100bp": ("NEB", "ladder", (1517, 1200, 1000, 900, 800, 700, 600, 500, 400, 300, 200, 100)),
    "lambda_hindiii": ("NEB", "digest_marker", (23130, 9416, 6557, 4361, 2322, 2027, 564, 125)),
}
"""Published band sizes in base pairs."""
_LADDERS: Final = {
    "1kb": "neb_1kb",
    "100bp": "neb_100bp",
    "2log": "neb_1kb",
    "lambda_hindiii": "lambda_hindiii",
    "lambda_ecori": "lambda_hindiii",
}
_PRIMER: Final = (18, 27)


def _enzyme(session: Session, name: Json) -> Enzyme:
    wanted = name.strip().lower() if isinstance(name, str) else ""
    found = [enzyme for enzyme in session.biology.enzymes() if enzyme.name.lower() == wanted]
    if not found:
        raise SessionFaultError(f"no enzyme {name!r} in the table of {session.biology.name}")
    return found[0]


def _cuts(enzyme: Enzyme, bases: str) -> list[int]:
    """Bases before each cut, on the forward strand."""
    return [hit.start() + enzyme.cut for hit in site_pattern(enzyme.site).finditer(bases)]


def _find_sites(session: Session, arguments: Arguments) -> dict[str, Json]:
    enzyme = _enzyme(session, arguments.raw("enzyme"))
    start, end = session.region(arguments, default_view=True)
    cuts = [start + cut for cut in _cuts(enzyme, session.bases(start, end))]
    return {"enzyme": enzyme.name, "site": enzyme.site, "positions": cuts, "count": len(cuts)}


def _digest(session: Session, arguments: Arguments) -> dict[str, Json]:
    given = arguments.raw("enzymes")
    if not isinstance(given, list) or not given:
        raise SessionFaultError("enzymes must be a list of names")
    start, end = session.region(arguments, default_view=True)
    bases = session.bases(start, end)
    enzymes = [_enzyme(session, name) for name in given]
    cuts = sorted({cut for enzyme in enzymes for cut in _cuts(enzyme, bases) if 0 < cut < len(bases)})
    edges = [0, *cuts, len(bases)]
    fragments = [
        {"start": start + left, "end": start + right - 1, "size": right - left}
        for left, right in pairwise(edges)
    ]
    return {
        "enzymes": [enzyme.name for enzyme in enzymes],
        "cutPositions": [start + cut for cut in cuts],
        "fragmentDetails": sorted(fragments, key=lambda item: (-item["size"], item["start"])),
        "fragmentCount": len(fragments),
    }


def _list_enzymes(session: Session, arguments: Arguments) -> dict[str, Json]:
    query = arguments.text("query", default="").lower()
    low, high = (
        arguments.whole("minRecognitionLength", default=0),
        arguments.whole("maxRecognitionLength", default=99),
    )
    kind = arguments.text("overhangType", default="")
    found: list[Json] = [
        {"name": item.name, "site": item.site, "cut": item.cut, "overhang": item.overhang}
        for item in session.biology.enzymes()
        if query in item.name.lower() and low <= len(item.site) <= high and kind in ("", item.overhang)
    ]
    return {"enzymes": found, "count": len(found), "table": session.biology.name}


def _sizes(fragments: Json) -> list[int]:
    if not isinstance(fragments, list) or not fragments:
        raise SessionFaultError("fragments must be a list")
    sizes = [item.get("size") if isinstance(item, dict) else item for item in fragments]
    if any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in sizes):
        raise SessionFaultError("each fragment has a size in base pairs")
    return [int(size) for size in sizes if size]


def _gel(_: Session, arguments: Arguments) -> dict[str, Json]:
    """Migration falls with the logarithm of the size; a denser gel holds everything back."""
    percentage = arguments.number("gelPercentage", default=1.0)
    ladder = arguments.text("ladderType", default="1kb")
    if ladder not in _LADDERS or not 0 < percentage <= 10:
        raise SessionFaultError(f"ladder must be one of {', '.join(_LADDERS)}, percentage in 0..10")
    return {
        "bands": _bands(_sizes(arguments.raw("fragments")), percentage),
        "ladder": _bands(list(_MARKERS[_LADDERS[ladder]][2]), percentage),
        "ladderType": ladder,
        "gelPercentage": percentage,
        "bandColorScheme": arguments.text("bandColorScheme", default="ethidium_bromide"),
    }


def _bands(sizes: list[int], percentage: float) -> list[Json]:
    made = [
        {"size": size, "migration": round(max(0.0, (5 - math.log10(size)) / (0.6 + 0.4 * percentage)), 4)}
        for size in sizes
    ]
    return sorted(made, key=lambda band: -band["size"])


def _markers(_: Session, arguments: Arguments) -> dict[str, Json]:
    brand, kind = arguments.text("brand", default="").lower(), arguments.text("category", default="")
    query = arguments.text("query", default="").lower()
    found: list[Json] = [
        {"markerId": name, "brand": maker, "category": sort, "bands": len(bands)}
        for name, (maker, sort, bands) in _MARKERS.items()
        if brand in maker.lower() and kind in ("", sort) and query in name
    ]
    return {"markers": found, "count": len(found)}


def _marker(_: Session, arguments: Arguments) -> dict[str, Json]:
    name = arguments.text("markerId")
    if name not in _MARKERS:
        raise SessionFaultError(f"no marker {name!r}; one of {', '.join(_MARKERS)}")
    brand, kind, bands = _MARKERS[name]
    return {"markerId": name, "brand": brand, "category": kind, "bands": list(bands)}


# ---- primers -------------------------------------------------------------------------------------------


def _properties(session: Session, primer: str) -> dict[str, Json]:
    return {
        "sequence": primer,
        "length": len(primer),
        "gcContent": round(100 * gc_fraction(primer), 2),
        "meltingTemperature": session.biology.melting_temperature(primer),
        "hasGcClamp": primer[-1] in "GC",
    }


def _primer_properties(session: Session, arguments: Arguments) -> dict[str, Json]:
    return _properties(session, clean_dna(arguments.text("sequence", "primerSequence")))


def _design(session: Session, arguments: Arguments) -> dict[str, Json]:
    """Take at each end the length whose melting temperature is nearest the target."""
    if "geneName" in arguments:
        gene = session.find_gene(arguments.text("geneName"))
        start, end = gene["start"], gene["end"]
    else:
        start, end = session.region(arguments)
    before = arguments.whole("upstreamBp", "upstreamBases", "upstream", default=0)
    after = arguments.whole("downstreamBp", "downstreamBases", "downstream", default=0)
    start, end = session.check_region(start - before, end + after)
    if end - start + 1 < 2 * _PRIMER[1]:
        raise SessionFaultError("the target is too short for two primers")
    target = arguments.number("targetTm", default=60)
    turned = session.biology.reverse_complement(session.bases(start, end))
    forward = _best_primer(session, session.bases(start, end), target)
    reverse = _best_primer(session, turned, target)
    forward |= {"genomicStart": start, "genomicEnd": start + int(forward["length"]) - 1}
    reverse |= {"genomicStart": end - int(reverse["length"]) + 1, "genomicEnd": end}
    place: dict[str, Json] = {"chromosome": session.genome.chromosome, "start": start, "end": end}
    return {"target": place, "forward": forward, "reverse": reverse, "productSize": end - start + 1}


def _best_primer(session: Session, bases: str, target: float) -> dict[str, Any]:
    options = [_properties(session, bases[:size]) for size in range(*_PRIMER)]
    return min(
        options,
        key=lambda item: (
            abs(item["meltingTemperature"] - target) + (0 if item["hasGcClamp"] else 1),
            item["length"],
        ),
    )


def _binding_sites(session: Session, arguments: Arguments) -> dict[str, Json]:
    primer = clean_dna(arguments.text("primerSequence", "sequence"))
    allowed = arguments.whole("maxMismatches", default=0)
    if not 0 <= allowed <= 5 or len(primer) < 8:
        raise SessionFaultError("a primer has at least 8 bases and 0 to 5 mismatches")
    found: list[Json] = []
    for strand, wanted in (("+", primer), ("-", session.biology.reverse_complement(primer))):
        for place in range(len(session.sequence) - len(wanted) + 1):
            missed = _mismatches(session.sequence, place, wanted, allowed)
            if missed <= allowed:
                found.append(
                    {"start": place + 1, "end": place + len(wanted), "strand": strand, "mismatches": missed}
                )
    return {"primerSequence": primer, "sites": found, "count": len(found)}


def _mismatches(text: str, place: int, wanted: str, allowed: int) -> int:
    missed = 0
    for offset, base in enumerate(wanted):
        if text[place + offset] != base:
            missed += 1
            if missed > allowed:
                break
    return missed


def _save_primer(session: Session, arguments: Arguments) -> dict[str, Json]:
    start, end = session.region(arguments)
    strand = arguments.text("strand", default="+")
    bases = session.bases(start, end)
    own = bases if strand == "+" else session.biology.reverse_complement(bases)
    item = {
        "id": session.next_id("primer"),
        "name": arguments.text("name"),
        "start": start,
        "end": end,
        "strand": strand,
        "sequence": arguments.text("sequence", "primerSequence", default=own),
    }
    session.add("primers", item)
    return dict(item)


def _list_primers(session: Session, arguments: Arguments) -> dict[str, Json]:
    session.chromosome(arguments)
    found = copy.deepcopy(session.data["primers"])
    return {"primers": found, "count": len(found)}


def _delete_primers(session: Session, arguments: Arguments) -> dict[str, Json]:
    session.chromosome(arguments)
    if not arguments.flag("confirm", default=False):
        raise SessionFaultError("confirm must be true")
    count = len(session.data["primers"])
    session.data["primers"] = []
    return {"removed": count}


HANDLERS: Final[Mapping[str, Handler]] = {
    "find_restriction_sites": _find_sites,
    "virtual_digest": _digest,
    "list_restriction_enzymes": _list_enzymes,
    "simulate_gel_electrophoresis": _gel,
    "list_dna_markers": _markers,
    "get_dna_marker_info": _marker,
    "calculate_primer_properties": _primer_properties,
    "design_primers": _design,
    "find_primer_binding_sites": _binding_sites,
    "save_primer": _save_primer,
    "list_primers": _list_primers,
    "delete_primers": _delete_primers,
}
"""Tool to handler."""
