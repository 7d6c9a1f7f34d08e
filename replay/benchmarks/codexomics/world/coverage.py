"""Which tools a session executes, and which need recorded or synthetic results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from replay.benchmarks.codexomics.world import annotations as features
from replay.benchmarks.codexomics.world import (
    bench,
    databases,
    editing,
    exports,
    interface,
    navigation,
    sequences,
)
from replay.benchmarks.codexomics.world.session import Handler
from replay.core.types import Record

__all__ = ["HANDLERS", "ToolCoverage", "cover_tools", "depends_on_session"]

HANDLERS: Final[Mapping[str, Handler]] = {
    **navigation.HANDLERS,
    **interface.HANDLERS,
    **features.HANDLERS,
    **sequences.HANDLERS,
    **bench.HANDLERS,
    **editing.HANDLERS,
    **exports.HANDLERS,
    **databases.HANDLERS,
}
"""Every tool the session executes."""


_PURE: Final = frozenset(
    {
        "blast_detect_sequence_type",
        "calculate_entropy",
        "calculate_molecular_weight",
        "calculate_primer_properties",
        "compute_gc",
        "get_dna_marker_info",
        "list_dna_markers",
        "list_restriction_enzymes",
        "predict_promoter",
        "reverse_complement",
        "simulate_gel_electrophoresis",
        "translate_dna",
        "translate_sequence",
    }
)
"""Tools that are functions of their arguments alone."""
_REMOTE: Final = frozenset(
    {
        "advanced_uniprot_search",
        "blast_search",
        "blast_search_online",
        "download_internet_file",
        "fetch_alphafold_structure",
        "fetch_protein_structure",
        "get_interpro_entry_details",
        "get_uniprot_entry",
        "search_alphafold_structures",
        "search_interpro_entry",
        "search_pdb_structures",
        "search_uniprot_database",
    }
)
"""Tools that ask somebody else and know nothing of the session."""


class ToolCoverage(Record, frozen=True, kw_only=True):
    """Tools by who can answer them; every tool also has a synthetic contract result, where asked for."""

    executed: tuple[str, ...]
    """By the genome session, in process."""
    recorded_only: tuple[str, ...]
    """Networks, renderings, installed programs: a recorded answer, a synthetic one, or a miss."""


def depends_on_session(tool: str) -> bool:
    """Tell whether a tool's answer depends on what was called before; its recorded key then says so."""
    return tool not in _PURE and tool not in _REMOTE


def cover_tools(tools: Iterable[str]) -> ToolCoverage:
    """Divide tools by who can answer them."""
    names = sorted(set(tools))
    return ToolCoverage(
        executed=tuple(name for name in names if name in HANDLERS),
        recorded_only=tuple(name for name in names if name not in HANDLERS),
    )
