"""Files the session writes: FASTA, GenBank, GFF3, BED, coding and protein sequences.

Files exist in the session only; an answer tells path, size and digest of the text, so that what was written
can be checked without a disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from replay.benchmarks.codexomics.world.sequences import coding_sequence
from replay.benchmarks.codexomics.world.session import Arguments, Handler, Session, SessionFaultError
from replay.core.canonical import digest
from replay.core.types import Json

__all__ = ["HANDLERS", "write_genbank"]

_FILE_KEYS: Final = ("filename", "filePath", "outputPath", "path")
_MAX_FILES: Final = 1_000


def _write(session: Session, path: str, text: str, kind: str) -> dict[str, Json]:
    if len(session.data["files"]) >= _MAX_FILES:
        raise SessionFaultError(f"the session has written {_MAX_FILES} files already")
    entry = {"type": kind, "size": len(text.encode()), "digest": digest("session-file", text)}
    session.data["files"][path] = entry
    return {"filePath": path, **entry}


def write_genbank(session: Session, path: str) -> dict[str, Json]:
    """Write the chromosome with its features as GenBank."""
    return _write(session, path, _genbank(session), "genbank")


def _wrapped(text: str, width: int) -> str:
    width = max(10, width)
    return "\n".join(text[i : i + width] for i in range(0, len(text), width))


def _fasta(name: str, bases: str, width: int) -> str:
    return f">{name}\n{_wrapped(bases, width)}\n"


def _genbank(session: Session) -> str:
    size = len(session.sequence)
    lines = [
        f"LOCUS       {session.genome.chromosome:<16} {size} bp    DNA     circular BCT",
        f"DEFINITION  {session.genome.organism}.",
        f"ACCESSION   {session.genome.chromosome}",
        f"SOURCE      {session.genome.organism}",
        "FEATURES             Location/Qualifiers",
    ]
    for item in session.data["features"]:
        place = f"{item['start']}..{item['end']}"
        lines.append(f"     {item['type']:<16}{place if item['strand'] == 1 else f'complement({place})'}")
        lines += [
            f'                     /{name}="{item[field]}"'
            for name, field in (("gene", "name"), ("locus_tag", "locus_tag"), ("product", "product"))
            if item[field]
        ]
    lines.append("ORIGIN")
    lower = session.sequence.lower()
    for start in range(0, size, 60):
        groups = [lower[i : i + 10] for i in range(start, min(start + 60, size), 10)]
        lines.append(f"{start + 1:>9} {' '.join(groups)}")
    return "\n".join([*lines, "//", ""])


def _selected(session: Session, arguments: Arguments) -> list[dict[str, Any]]:
    """Features in the range a call names: all, the view, or a range of its own."""
    wanted = arguments.text("exportRange", "selectionType", default="all")
    features: list[dict[str, Any]] = session.data["features"]
    view = session.tab["view"]
    if wanted == "custom_range" or "startPosition" in arguments:
        start, end = arguments.whole("startPosition"), arguments.whole("endPosition")
        start, end = session.check_region(start, end)
    elif wanted == "current_view":
        start, end = view["start"], view["end"]
    else:
        return features
    return [item for item in features if item["start"] <= end and item["end"] >= start]


def _gff(session: Session, arguments: Arguments) -> str:
    rows = [
        "\t".join(
            (
                session.genome.chromosome,
                "replay",
                item["type"],
                str(item["start"]),
                str(item["end"]),
                ".",
                "+" if item["strand"] == 1 else "-",
                "0" if item["type"] == "CDS" else ".",
                f"ID={item['id']};Name={item['name']}",
            )
        )
        for item in _selected(session, arguments)
    ]
    return "\n".join(["##gff-version 3", *rows, ""])


def _bed(session: Session, arguments: Arguments) -> str:
    given = arguments.raw("featureTypes", ["gene"])
    types = given if isinstance(given, list) else [given]
    rows = [
        f"{session.genome.chromosome}\t{item['start'] - 1}\t{item['end']}\t{item['name']}\t0\t"
        f"{'+' if item['strand'] == 1 else '-'}"
        for item in _selected(session, arguments)
        if "all" in types or item["type"] in types
    ]
    return "\n".join([*rows, ""])


def _coding(session: Session, arguments: Arguments, *, protein: bool) -> str:
    width = arguments.whole("wrapLength", default=80)
    return "".join(_coding_records(session, arguments, width, protein=protein))


def _coding_records(session: Session, arguments: Arguments, width: int, *, protein: bool) -> Iterator[str]:
    for item in _selected(session, arguments):
        if item["type"] == "CDS":
            bases = coding_sequence(session, item)
            text = session.biology.translate(bases, 11).rstrip("*") if protein else bases
            yield _fasta(f"{item['locus_tag'] or item['id']} {item['name']} {item['product']}", text, width)


def _view_fasta(session: Session, arguments: Arguments) -> str:
    view = session.tab["view"]
    name = f"{view['chromosome']}:{view['start']}-{view['end']}"
    bases = session.bases(view["start"], view["end"])
    return _fasta(name, bases, arguments.whole("wrapLength", default=80))


def _genome_fasta(session: Session, arguments: Arguments) -> str:
    if arguments.flag("currentViewOnly", default=False) or arguments.raw("sequenceType") == "current_view":
        return _view_fasta(session, arguments)
    return _fasta(session.genome.chromosome, session.sequence, arguments.whole("wrapLength", default=80))


def _exporter(default: str, kind: str, make: Callable[[Session, Arguments], str]) -> Handler:
    def handle(session: Session, arguments: Arguments) -> dict[str, Json]:
        path = arguments.text(*_FILE_KEYS, default=default)
        return _write(session, path, make(session, arguments), kind)

    return handle


HANDLERS: Final[Mapping[str, Handler]] = {
    "export_fasta_sequence": _exporter("sequence.fasta", "fasta", _genome_fasta),
    "export_current_view_fasta": _exporter("current_view.fasta", "fasta", _view_fasta),
    "export_genbank_format": _exporter("genome.gbk", "genbank", lambda session, _: _genbank(session)),
    "export_data": _exporter("export.gbk", "genbank", lambda session, _: _genbank(session)),
    "export_gff_annotations": _exporter("annotations.gff3", "gff3", _gff),
    "export_bed_format": _exporter("features.bed", "bed", _bed),
    "export_cds_fasta": _exporter(
        "cds_sequences.fasta", "fasta", lambda session, given: _coding(session, given, protein=False)
    ),
    "export_protein_fasta": _exporter(
        "protein_sequences.fasta", "fasta", lambda session, given: _coding(session, given, protein=True)
    ),
}
"""Tool to handler."""
