"""At most 24 candidate tools for an instruction, by the specified lexical scoring (spec section 4).

Owns weights, bonuses, thresholds and the order of the choice. It is run once, at import: the chosen set is
frozen with the test, and its recall is a stage of its own.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from replay.benchmarks.codexomics.importing.registries import ToolDefinition
from replay.benchmarks.codexomics.naming import tool_key
from replay.benchmarks.codexomics.retrieval.tokens import clauses, expand, stem, terms
from replay.core.types import Json, Record

__all__ = ["LIMIT", "RETRIEVER", "Recall", "Retriever", "measure_recall"]

LIMIT: Final = 24
RETRIEVER: Final = "lexical-1"
"""Name of this scoring; a change of any number below is another one."""

_WEIGHTS: Final = {"name": 3.2, "keywords": 2.4, "parameters": 1.5, "category": 0.9, "description": 0.7}
_FOUND: Final = 0.35
_FULL_NAME, _SPACED_NAME, _PART, _FIRST_PART, _ALL_PARTS = 8.0, 6.0, 4.0, 6.0, 12.0
_KEYWORD, _KEYWORD_PHRASE, _BUILT_IN, _PRIORITY = 3.0, 4.0, 0.1, 0.02
_HAND_MADE: Final = {"blast_sequence_from_region": 10.0}
_ABSENT: Final = -1.5
_CLAUSE_SHARE, _CLAUSE_COUNT = 0.35, 0.15
_THRESHOLD: Final = 0.6
_MIN_TERMS: Final = 2
_GENERAL: Final = 10
_COORDINATION: Final = frozenset(
    [
        "assign_task_to_agent",
        "balance_load",
        "cache_strategy",
        "coordinate_task",
        "decompose_task",
        "fallback_strategy",
        "get_agent_status",
        "handle_error",
        "integrate_results",
        "optimize_execution",
        "parallel_execution",
        "retry_failed_task",
    ]
)
_GENERAL_TOOLS: Final = (
    "get_current_state",
    "navigate_to_position",
    "search_features",
    "find_gene_by_name",
    "get_sequence",
    "get_genome_info",
    "list_available_tools",
    "get_track_status",
    "list_annotations",
    "get_chromosome_list",
)


class Recall(Record, frozen=True, kw_only=True):
    """How much of what a test expects is among the chosen tools."""

    selected: int
    expected: int
    covered: int

    @property
    def value(self) -> float:
        """Share of expected entries that are covered; 1 when nothing is expected."""
        return self.covered / self.expected if self.expected else 1.0


class _Entry(Record, frozen=True, kw_only=True):
    """One tool as it is compared."""

    tool: ToolDefinition
    weights: dict[str, float]
    """Term to the summed weights of the fields that hold it."""
    parts: tuple[str, ...]
    stems: tuple[str, ...]
    keywords: tuple[str, ...]


class _Score(Record, frozen=True, kw_only=True):
    value: float
    matched: int
    is_direct: bool
    has_phrase: bool

    @property
    def has_evidence(self) -> bool:
        return self.is_direct or self.has_phrase or self.matched >= _MIN_TERMS


class Retriever:
    """Chooses candidates from one registry."""

    def __init__(self, tools: Mapping[str, ToolDefinition], *, agents: bool = False) -> None:
        """Index a registry; coordination tools only come in when the agent system is on."""
        self._entries = {
            key: _index(tool) for key, tool in sorted(tools.items()) if agents or key not in _COORDINATION
        }
        counts = Counter(term for entry in self._entries.values() for term in entry.weights)
        size = len(self._entries)
        self._idf = {term: math.log(1 + (size + 1) / (count + 1)) for term, count in counts.items()}

    def choose(self, instruction: str) -> tuple[str, ...]:
        """Choose folded names, best first."""
        parts = clauses(instruction)
        whole = self._score_all(instruction)
        by_clause = [self._score_all(part) for part in parts]
        totals: dict[str, float] = {}
        for key, score in whole.items():
            own = [clause[key] for clause in by_clause if clause[key].has_evidence]
            best = max((item.value for item in own), default=0.0)
            total = score.value + _CLAUSE_SHARE * best + _CLAUSE_COUNT * len(own)
            if total > _THRESHOLD and (score.has_evidence or own):
                totals[key] = total
        if not totals:
            return tuple(key for key in _GENERAL_TOOLS if key in self._entries)[:_GENERAL]
        ranked = sorted(totals, key=lambda key: (-totals[key], key))
        first = _best_of_clauses(by_clause, totals) if len(parts) > 1 else []
        return tuple(dict.fromkeys((*first, *ranked)))[:LIMIT]

    def _score_all(self, text: str) -> dict[str, _Score]:
        query, lower = expand(terms(text)), text.lower()
        return {key: self._score(entry, query, lower) for key, entry in self._entries.items()}

    def _score(self, entry: _Entry, query: Sequence[str], lower: str) -> _Score:
        found = [term for term in query if term in entry.weights]
        value = math.fsum(self._idf[term] * entry.weights[term] + _FOUND for term in found)
        bonus, is_direct = _name_bonus(entry, lower, query)
        phrases, has_phrase = _keyword_bonus(entry.keywords, lower)
        return _Score(
            value=value + bonus + phrases + _standing(entry.tool),
            matched=len(found),
            is_direct=is_direct,
            has_phrase=has_phrase,
        )


def measure_recall(selected: Iterable[str], expected: Sequence[tuple[str, ...]]) -> Recall:
    """Count the expected entries that some selected tool covers."""
    chosen = set(selected)
    covered = sum(1 for tools in expected if chosen.intersection(tools))
    return Recall(selected=len(chosen), expected=len(expected), covered=covered)


def _best_of_clauses(by_clause: Sequence[Mapping[str, _Score]], totals: Mapping[str, float]) -> list[str]:
    """Up to two tools a clause, so that a long instruction's last step is not crowded out."""
    best: list[str] = []
    for scores in by_clause:
        own = [key for key in totals if scores[key].has_evidence]
        best += sorted(own, key=lambda key: (-scores[key].value, key))[:2]
    return best


def _index(tool: ToolDefinition) -> _Entry:
    texts = {
        "name": tool.name.replace("_", " "),
        "keywords": " ".join(tool.keywords),
        "parameters": " ".join(_parameter_names(tool.parameters)),
        "category": tool.category.replace("_", " "),
        "description": tool.description,
    }
    weights: dict[str, float] = {}
    for field, text in texts.items():
        for term in terms(text):
            weights[term] = weights.get(term, 0.0) + _WEIGHTS[field]
    parts = tuple(tool_key(tool.name).split("_"))
    return _Entry(
        tool=tool,
        weights=weights,
        parts=parts,
        stems=tuple(map(stem, parts)),
        keywords=tuple(word for item in tool.keywords if len(word := item.strip().lower()) > 2),
    )


def _parameter_names(schema: Mapping[str, Json]) -> list[str]:
    properties = schema.get("properties")
    return [name.replace("_", " ") for name in properties] if isinstance(properties, dict) else []


def _name_bonus(entry: _Entry, lower: str, query: Sequence[str]) -> tuple[float, bool]:
    name = tool_key(entry.tool.name)
    bonus = _HAND_MADE.get(name, 0.0) if re.search(r"\bblast\b.*\bregion\b", lower) else 0.0
    full, spaced = name in lower, name.replace("_", " ") in lower
    bonus += (_FULL_NAME if full else 0.0) + (_SPACED_NAME if spaced else 0.0)
    known = set(query)
    hits = [part in known for part in entry.stems]
    bonus += _PART * sum(hits)
    if hits and hits[0] and sum(hits) > 1:
        bonus += _FIRST_PART
    is_whole = len(hits) > 1 and all(hits)
    return bonus + (_ALL_PARTS if is_whole else 0.0), full or spaced or is_whole


def _keyword_bonus(keywords: Sequence[str], lower: str) -> tuple[float, bool]:
    bonus, has_phrase = 0.0, False
    for word in keywords:
        if word in lower:
            bonus += _KEYWORD
            if " " in word:
                bonus += _KEYWORD_PHRASE
                has_phrase = True
    return bonus, has_phrase


def _standing(tool: ToolDefinition) -> float:
    """Small change: built-in tools and priority. The fixture has a genome and no network."""
    execution = tool.extra.get("execution")
    execution = execution if isinstance(execution, dict) else {}
    priority = tool.extra.get("priority")
    value = _BUILT_IN if execution.get("type") in ("client", "built-in", "builtin") else 0.0
    if isinstance(priority, (int, float)) and not isinstance(priority, bool):
        value += _PRIORITY * (6 - priority)
    return value + (_ABSENT if execution.get("requires_network") is True else 0.0)
