"""Synthetic contract results: a domain-shaped answer from a hash of tool and arguments (spec section 5).

The same call gives the same answer, so that dependent steps are possible where nothing can be executed. They
are labelled simulated under the generator's versioned name, count as not executed, and are only given in
runs that ask for them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final

from replay.benchmarks.codexomics.naming import tool_key
from replay.core.canonical import canonical_bytes
from replay.core.types import CallRequest, Json, Provenance, ToolResult

__all__ = ["GENERATOR", "SyntheticWorld", "fnv1a", "synthetic_answer"]

GENERATOR: Final = "synthetic-contract-1"
_OFFSET, _PRIME, _MASK = 0x811C9DC5, 0x01000193, 0xFFFFFFFF
_BASES: Final = "ACGT"
_RESIDUES: Final = "ACDEFGHIKLMNPQRSTVWY"


def fnv1a(data: bytes) -> int:
    """Hash bytes to 32 bits by FNV-1a."""
    state = _OFFSET
    for byte in data:
        state = ((state ^ byte) * _PRIME) & _MASK
    return state


def synthetic_answer(tool: str, arguments: Json) -> dict[str, Json]:
    """Make the answer of one call: success, the arguments it took, and fields that its kind of tool has."""
    key = tool_key(tool)
    seed = fnv1a(key.encode() + b"\n" + canonical_bytes(arguments))
    answer: dict[str, Json] = {"success": True, "tool": key, "synthetic": GENERATOR}
    for marks, make in _SHAPES:
        if any(mark in key for mark in marks):
            answer |= make(seed, arguments if isinstance(arguments, dict) else {})
            break
    else:
        answer["id"] = _identifier(key, seed)
    return answer


class SyntheticWorld:
    """Answers every call by the generator; remembers which calls it answered and nothing else."""

    def __init__(self) -> None:
        """Start with no call."""
        self._calls: list[Json] = []

    def handle(self, request: CallRequest) -> ToolResult:
        """Answer a call."""
        tool = request.tool.split("@", 1)[0]
        answer = synthetic_answer(tool, request.arguments)
        self._calls.append([tool, request.arguments])
        return ToolResult(
            content=json.dumps(answer, ensure_ascii=False),
            provenance=Provenance.SIMULATED,
            lookup=GENERATOR,
            body=answer,
        )

    def state(self) -> Json:
        """The calls so far."""
        return {"generator": GENERATOR, "calls": list(self._calls)}


def _letters(seed: int, alphabet: str, count: int) -> str:
    made = []
    for _ in range(count):
        seed = (seed * 1_664_525 + 1_013_904_223) & _MASK
        made.append(alphabet[(seed >> 16) % len(alphabet)])
    return "".join(made)


def _identifier(kind: str, seed: int) -> str:
    return f"{kind.rsplit('_', maxsplit=1)[-1]}_{seed:08x}"


def _annotation(seed: int, arguments: Mapping[str, Json]) -> dict[str, Json]:
    identity = f"user_{1_700_000_000_000 + seed}_{seed:08x}"
    return {"id": identity, "annotation": {"id": identity, **arguments}}


def _tab(seed: int, _: Mapping[str, Json]) -> dict[str, Json]:
    return {"tab_id": f"tab_{seed:08x}", "tab_name": "New Analysis", "tab_index": 1}


def _coding(seed: int, _: Mapping[str, Json]) -> dict[str, Json]:
    protein = f"M{_letters(seed, _RESIDUES, 40)}"
    return {"codingSequence": f"ATG{_letters(seed, _BASES, 120)}TAA", "proteinSequence": protein}


def _sequence(seed: int, _: Mapping[str, Json]) -> dict[str, Json]:
    return {"sequence": _letters(seed, _BASES, 120), "length": 120}


def _translation(seed: int, _: Mapping[str, Json]) -> dict[str, Json]:
    return {"protein": _letters(seed, _RESIDUES, 40)}


def _digest(seed: int, _: Mapping[str, Json]) -> dict[str, Json]:
    sizes = sorted((200 + (seed >> shift) % 4_000 for shift in (0, 8, 16)), reverse=True)
    return {"fragmentDetails": [{"size": size} for size in sizes], "fragmentCount": len(sizes)}


def _primers(seed: int, _: Mapping[str, Json]) -> dict[str, Json]:
    start = 1 + seed % 100_000
    forward = {"sequence": _letters(seed, _BASES, 20), "genomicStart": start, "genomicEnd": start + 19}
    target = {"chromosome": "U00096", "start": start, "end": start + 999}
    return {"target": target, "forward": forward}


def _structure(seed: int, _: Mapping[str, Json]) -> dict[str, Json]:
    return {"_dataRef": f"ref_{seed:08x}", "filePath": f"./structures/{seed:08x}.pdb"}


def _search(seed: int, _: Mapping[str, Json]) -> dict[str, Json]:
    return {"searchId": f"search_{seed:08x}", "results": [], "count": 0}


def _listing(_: int, __: Mapping[str, Json]) -> dict[str, Json]:
    return {"items": [], "count": 0}


def _file(_: int, arguments: Mapping[str, Json]) -> dict[str, Json]:
    return {"filePath": arguments.get("filename", arguments.get("filePath", "./export"))}


_SHAPES: Final[tuple[tuple[tuple[str, ...], Callable[[int, Mapping[str, Json]], dict[str, Json]]], ...]] = (
    (("create_annotation",), _annotation),
    (("open_new_tab",), _tab),
    (("get_coding_sequence",), _coding),
    (("translate",), _translation),
    (("get_sequence", "copy_sequence", "reverse_complement"), _sequence),
    (("virtual_digest",), _digest),
    (("design_primers",), _primers),
    (("structure",), _structure),
    (("search", "blast_filter", "blast_sequence"), _search),
    (("export", "screenshot", "download"), _file),
    (("list_", "get_"), _listing),
)
"""Marks in a tool's name to the shape of its answer; the first that fits."""
