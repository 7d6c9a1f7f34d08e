"""Single cases: lines that ask what the rules say of one answer, or of one list, each on its own.

A line holds `category`, `id` and `model_output`, and may hold the expected `verdict`, `error_type` and
`paper_literal`. Ids name a tool (similar, reliability, samples) or a line number (multi-tool); several lines
may have one id, and an awareness answer needs none, because a reading of it asks for no truth.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from replay.benchmarks.metatool.importing.line_files import clean_text, read_lines, read_text
from replay.benchmarks.metatool.records import BENCHMARK, MULTI, RELIABILITY, SIMILAR, Sample, sample_of
from replay.benchmarks.metatool.scoring import awareness
from replay.benchmarks.metatool.scoring.selection import MANUAL, NONE, read_default, read_literal
from replay.benchmarks.metatool.scoring.strict import read_strict
from replay.benchmarks.metatool.scoring.verdicts import Matchers, label_choice
from replay.core.errors import InputError
from replay.core.types import Json, Task

__all__ = ["MetaToolCases"]

_SUBTASKS: Final = {
    "match_single_similar": SIMILAR,
    "match_similar": SIMILAR,
    "match_single_scenario": SIMILAR,
    "match_single": SIMILAR,
    "match_reliability": RELIABILITY,
    "match_multi": MULTI,
    "list_similar": SIMILAR,
    "list_reliability": RELIABILITY,
    "list_multi": MULTI,
    "sample5_queries_sha256": SIMILAR,
}
_AWARENESS: Final = "match_awareness"
CATEGORIES: Final = (_AWARENESS, *_SUBTASKS)
_COMPARED: Final = ("verdict", "error_type", "paper_literal")


class MetaToolCases:
    """Scores lines; keeps prepared name lists between them."""

    def __init__(self) -> None:
        """Prepare nothing yet."""
        self._matchers = Matchers()

    def score_cases(self, path: Path, tasks: Mapping[str, Task]) -> Iterator[Json] | None:
        """Score every line of a file of cases, in order; None for a file of another form."""
        text = read_text(path)
        first = text.lstrip()[:1]
        if first != "{" or not _is_case(next(read_lines(text, where=path.name), (0, None))[1]):
            return None
        book = _Book(tasks)
        return (self._line(number, value, book) for number, value in read_lines(text, where=path.name))

    def _line(self, number: int, value: Json, book: _Book) -> Json:
        shown: dict[str, Json] = {"line": number, "benchmark": BENCHMARK}
        if not _is_case(value):
            known = ", ".join(CATEGORIES)
            return shown | {"error": f"no case; expected category (one of {known}), id and model_output"}
        shown |= {"category": value["category"], "id": value.get("id", "")}
        try:
            shown |= self._score(value, book)
        except InputError as error:
            return shown | {"error": str(error)}
        expected = {name: value[name] for name in _COMPARED if name in value}
        if "verdict" in expected:
            shown["agrees"] = all(shown.get(name, "") == said for name, said in expected.items())
            shown["expected"] = expected
        return shown

    def _score(self, case: Mapping[str, Json], book: _Book) -> dict[str, Json]:
        category, output = case["category"], case.get("model_output")
        if category.startswith("match_"):
            if not isinstance(output, str):
                raise InputError("model_output is no text", expected="the answer of a model")
            text = clean_text(output)
            return _read_awareness(text) if category == _AWARENESS else self._read(case, text, book)
        sample = book.find(_SUBTASKS[category], _id_of(case))
        if category.startswith("list_"):
            return {"verdict": output == list(sample.candidates), "error_type": ""}
        queries = json.dumps(book.queries(_id_of(case)), ensure_ascii=False)
        return {"verdict": output == hashlib.sha256(queries.encode()).hexdigest(), "error_type": ""}

    def _read(self, case: Mapping[str, Json], text: str, book: _Book) -> dict[str, Json]:
        sample = _sample_of_case(case, book)
        wanted = 2 if sample.subtask == MULTI else 1
        outside = (*((sample.removed,) if sample.removed else ()), *sample.masks)
        finder = self._matchers.finder(sample)
        default = read_default(text, finder, wanted=wanted, outside=outside)
        strict = read_strict(text, finder, wanted=wanted, outside=outside)
        literal = read_literal(text, sample.candidates, wanted=wanted)
        right, error = label_choice(sample, default)
        strictly_right, strict_error = label_choice(sample, strict)
        compat: dict[str, Json] = {"verdict": right, "error_type": error, "chosen": list(default.chosen)}
        return {
            **compat,
            "oddities": list(default.oddities),
            "compat": compat,
            "strict": {"verdict": strictly_right, "error_type": strict_error, "chosen": list(strict.chosen)},
            "paper_literal": _literal_label(literal, sample, wanted=wanted),
        }


class _Book:
    """Samples by what case ids name."""

    def __init__(self, tasks: Mapping[str, Task]) -> None:
        self._by_name: dict[str, dict[str, list[Sample]]] = defaultdict(lambda: defaultdict(list))
        names: dict[str, Callable[[Sample], str]] = {
            SIMILAR: lambda sample: sample.truth[0],
            RELIABILITY: lambda sample: sample.removed,
            MULTI: lambda sample: str(sample.line),
        }
        for task in tasks.values():
            sample = sample_of(task)
            if sample.subtask in names:
                self._by_name[sample.subtask][names[sample.subtask](sample)].append(sample)

    def find(self, subtask: str, name: str) -> Sample:
        """The first sample of a tool, or the one of a line. Raises InputError for one that is unknown."""
        found = self._by_name[subtask].get(name)
        if not found:
            expected = "the number of a record" if subtask == MULTI else "the name of a tool"
            raise InputError(f"unknown id {name[:80]!r} for {subtask}", expected=f"{expected} of the archive")
        return found[0]

    def queries(self, tool: str) -> list[str]:
        """Queries of a tool in the similar subtask, in their order."""
        return [sample.query for sample in sorted(self._by_name[SIMILAR][tool], key=lambda s: s.line)]


def _is_case(value: Json) -> bool:
    return isinstance(value, dict) and value.get("category") in CATEGORIES and "model_output" in value


def _id_of(case: Mapping[str, Json]) -> str:
    name = case.get("id")
    if not isinstance(name, str | int) or isinstance(name, bool):
        raise InputError("no id", expected="a text or a number")
    return str(name)


def _read_awareness(text: str) -> dict[str, Json]:
    default = awareness.read_default(text)
    return {
        "verdict": default,
        "error_type": "",
        "compat": {"verdict": default},
        "strict": {"verdict": awareness.read_strict(text)},
        "paper_literal": awareness.read_literal(text),
    }


def _sample_of_case(case: Mapping[str, Json], book: _Book) -> Sample:
    """The archive's sample, or one of the list that the line brings."""
    subtask, name = _SUBTASKS[case["category"]], _id_of(case)
    listed = case.get("candidates")
    if listed is None:
        return book.find(subtask, name)
    if not isinstance(listed, list) or not all(isinstance(tool, str) and tool for tool in listed):
        raise InputError("candidates is no list of names", expected="names of tools")
    truth: tuple[str, ...] = () if subtask == RELIABILITY else (name,)
    if subtask == MULTI:
        truth = book.find(subtask, name).truth
    removed = name if subtask == RELIABILITY else ""
    return Sample(subtask=subtask, query="", truth=truth, candidates=tuple(listed), removed=removed)


def _literal_label(literal: tuple[str, ...] | None, sample: Sample, *, wanted: int) -> str:
    if literal is None:
        return MANUAL
    if wanted > 1:
        return "correct" if set(literal) == set(sample.truth) else "incorrect"
    return literal[0] if literal else NONE
