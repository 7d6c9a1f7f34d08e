"""The official evaluator's tables: equivalent tools, key aliases, words, read-only tools (spec 6.2-6.6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = [
    "EDITS",
    "EQUIVALENT",
    "FALSE_WORDS",
    "HIDE_WORDS",
    "KEY_ALIASES",
    "SHOW_WORDS",
    "TRUE_WORDS",
    "WRITERS",
    "equivalents_of",
    "is_read_only",
]

EQUIVALENT: Final = (
    frozenset({"blast_create_db_from_genome", "blast_create_quick_db_for_current_genome"}),
    frozenset({"blast_search", "blast_search_online"}),
    frozenset({"translate_sequence", "translate_dna"}),
)
"""Tools that stand for each other under the completion tiers."""

_FILES: Final = ("filename", "fileName", "filePath", "outputPath")
_DATABASES: Final = ("database", "dbName", "databaseName")
_COORDINATES: Final = ("includeCoordinates", "includeCoordinate", "includeCoords")


def _among(names: tuple[str, ...], *more: str) -> dict[str, tuple[str, ...]]:
    return {name: (*(other for other in names if other != name), *more) for name in names}


KEY_ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    **_among(_FILES, "path"),
    "inputFile": ("filePath", "filename", "fileName", "path"),
    **_among(_DATABASES),
    "tabIndex": ("index", "tab"),
    "sequence": ("primerSequence", "dna"),
    "primerSequence": ("sequence",),
    "dna": ("sequence",),
    **_among(_COORDINATES),
}
"""Keys tried in order after the expected key itself."""

TRUE_WORDS: Final = frozenset({"show", "on", "enable"})
FALSE_WORDS: Final = frozenset({"hide", "off", "disable"})
"""Words for booleans under the completion tiers, beside true and false."""

SHOW_WORDS: Final = frozenset({"show", "on", "enable", "display", "visible", "true"})
HIDE_WORDS: Final = frozenset({"hide", "off", "disable", "hidden", "false"})
"""Words for the visibility of a track."""

EDITS: Final = frozenset(
    {
        "paste_sequence",
        "insert_sequence",
        "cut_sequence",
        "delete_sequence",
        "replace_sequence",
        "copy_sequence",
    }
)
"""Tools that queue an edit, after which executing the queue is tolerated."""

WRITERS: Final = frozenset({"capture_screenshot", "save_view_state", "open_image_file"})
"""Tools of the official read-only list that write files or change the session."""

_READ_PREFIXES: Final = ("get_", "list_", "search_", "find_", "compute_", "calc_", "calculate_", "translate_")
_READERS: Final = frozenset(
    {
        "advanced_uniprot_search",
        "analyze_interpro_domains",
        "analyze_region",
        "assess_annotation_quality",
        "blast_detect_sequence_type",
        "blast_get_installation_status",
        "blast_list_databases",
        "blast_search",
        "blast_search_local",
        "blast_search_online",
        "codon_usage_analysis",
        "genome_codon_usage_analysis",
        "predict_promoter",
        "reverse_complement",
    }
)


def equivalents_of(tool: str) -> frozenset[str]:
    """A folded tool name and those that stand for it."""
    return next((group for group in EQUIVALENT if tool in group), frozenset({tool}))


def is_read_only(tool: str, *, with_writers: bool) -> bool:
    """Tell whether an extra call of a tool is tolerated because it only looks.

    Source:  spec 6.6 (1): about 70 names by kind. `with_writers` counts those in it that write, as upstream.
    """
    if tool in WRITERS:
        return with_writers
    return tool in _READERS or tool.startswith(_READ_PREFIXES)
