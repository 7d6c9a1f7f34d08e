"""One answer -> one verdict: the default reading as compat, the strict one beside it, the literal one inside.

Upstream has no evaluator. Compat is the reading that its paper's rules lead to when a plain "no" is a no
(spec 3.1 and 3.2); what the rules say word for word is in each score's detail and in figures of its own.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from replay.benchmarks.metatool import differences
from replay.benchmarks.metatool.records import AWARENESS, BENCHMARK, MULTI, RELIABILITY, SIMILAR, Sample
from replay.benchmarks.metatool.scoring import awareness
from replay.benchmarks.metatool.scoring.mentions import NameFinder
from replay.benchmarks.metatool.scoring.selection import (
    MANUAL,
    NONE,
    Reading,
    index_of,
    read_default,
    read_literal,
)
from replay.benchmarks.metatool.scoring.strict import STRICT_HEAD, is_everyday, read_strict
from replay.core.types import Json, JudgeRequest, JudgeVerdict, Record, Score
from replay.evaluate.judge import ERROR, ask_judge
from replay.evaluate.rubrics import Rubric, load_rubric
from replay.evaluate.states import Unscored, scored, unscored

__all__ = ["Answered", "Matchers", "Scores", "label_choice"]

_PACKAGE: Final = "replay.benchmarks.metatool.scoring"
_MAX_JUDGED: Final = 8000
"""Characters of an answer that a judge is shown."""
_MAX_LISTED: Final = 15
"""Numbers the tool-choice rubric can give: the longest list of any scenario."""

ScoresPlay = Generator[JudgeRequest, JudgeVerdict | None, "Scores"]


class Answered(Record, frozen=True, kw_only=True):
    """What a candidate said, and in which order it saw the tools."""

    text: str
    order: tuple[str, ...] = ()
    """Names as they were shown; empty for upstream's order."""


class Scores(Record, frozen=True, kw_only=True):
    """Both scores of an item and, where they differ, why."""

    compat: Score
    strict: Score
    cause: str = ""


class Matchers:
    """The three readings; keeps prepared name lists and rubric files between items."""

    def __init__(self) -> None:
        """Prepare nothing yet."""
        self._finders: dict[tuple[tuple[str, ...], tuple[str, ...]], NameFinder] = {}
        self._rubrics: dict[str, Rubric] = {}

    def score(self, sample: Sample, said: Answered, *, with_judge: bool = False) -> ScoresPlay:
        """Score one answer; with a judge, one that the strict reading leaves open is put to it."""
        if sample.subtask == AWARENESS:
            return (yield from self._score_awareness(sample, said, with_judge=with_judge))
        return (yield from self._score_selection(sample, said, with_judge=with_judge))

    def finder(self, sample: Sample) -> NameFinder:
        """Names of a sample's list, prepared once."""
        key = (sample.candidates, sample.masks)
        if key not in self._finders:
            self._finders[key] = NameFinder(*key)
        return self._finders[key]

    # ---- awareness -------------------------------------------------------------------------------------

    def _score_awareness(self, sample: Sample, said: Answered, *, with_judge: bool) -> ScoresPlay:
        truth = sample.truth[0]
        literal = awareness.read_literal(said.text)
        facts = {"literal": literal, "literal_correct": None if literal == MANUAL else literal == truth}
        compat = _awareness_score(awareness.read_default(said.text), truth, facts)
        label, judged = awareness.read_strict(said.text), None
        if label == awareness.UNDETERMINED and with_judge:
            evidence = {"query": sample.query[:_MAX_JUDGED], "answer": said.text[:_MAX_JUDGED]}
            judged = yield from self._ask("tool-need", evidence)
            if judged is None or judged.label == ERROR:
                return Scores(compat=compat, strict=_no_verdict(judged), cause=differences.JUDGED)
            label = awareness.UNDETERMINED if judged.label == "unclear" else judged.label
        strict = _awareness_score(label, truth, facts | _judge_facts(judged))
        cause = differences.JUDGED if judged else _awareness_cause(compat, strict, said.text)
        return Scores(compat=compat, strict=strict, cause=cause)

    # ---- selection -------------------------------------------------------------------------------------

    def _score_selection(self, sample: Sample, said: Answered, *, with_judge: bool) -> ScoresPlay:
        finder = self.finder(sample)
        wanted = 2 if sample.subtask == MULTI else 1
        outside = (*((sample.removed,) if sample.removed else ()), *sample.masks)
        default = read_default(said.text, finder, wanted=wanted, outside=outside)
        facts = _facts(sample, said, default, wanted)
        compat = _selection_score(sample, default, facts)
        reading, judged = read_strict(said.text, finder, wanted=wanted, outside=outside), None
        if reading.is_open and with_judge and wanted == 1 and len(sample.candidates) <= _MAX_LISTED:
            listed = "\n".join(f"{n}. {name}" for n, name in enumerate(sample.candidates, start=1))
            judged = yield from self._ask("tool-choice", {"answer": said.text[:_MAX_JUDGED], "tools": listed})
            if judged is None or judged.label == ERROR:
                return Scores(compat=compat, strict=_no_verdict(judged), cause=differences.JUDGED)
            reading = _judged_reading(judged.label, sample)
        strict = _selection_score(sample, reading, facts | _judge_facts(judged))
        cause = differences.JUDGED if judged else _selection_cause(default, reading, said.text)
        return Scores(compat=compat, strict=strict, cause=cause)

    def _ask(
        self, name: str, evidence: dict[str, Json]
    ) -> Generator[JudgeRequest, JudgeVerdict | None, JudgeVerdict | None]:
        if name not in self._rubrics:
            self._rubrics[name] = load_rubric(_PACKAGE, name)
        return (yield from ask_judge(self._rubrics[name].ask(BENCHMARK, evidence)))


def label_choice(sample: Sample, reading: Reading) -> tuple[bool, str]:
    """Tell whether a choice is right, and the name of its kind of error; empty for a right one.

    Source:  spec 3.2 and 3.4. For two tools the names are the paper's own: right / chosen.
    """
    chosen = set(reading.chosen)
    if reading.is_open:
        # For two tools an answer without any is the kind that it is, decided or not.
        return False, "none" if sample.subtask == MULTI else awareness.UNDETERMINED
    if sample.subtask == RELIABILITY:
        return not chosen, "tool_chosen" if chosen else ""
    if sample.subtask != MULTI:
        right = chosen == set(sample.truth)
        return right, "" if right else "wrong_tool" if chosen else "none_chosen"
    if len(chosen) > len(sample.truth):
        return False, "more_than_two"
    hits = len(chosen & set(sample.truth))
    if hits == len(sample.truth):
        return True, ""
    return False, f"{hits}/{len(chosen)}" if chosen else "none"


# ---- awareness -----------------------------------------------------------------------------------------


def _awareness_score(label: str, truth: str, facts: dict[str, Json]) -> Score:
    errors = {awareness.YES: "false_positive", awareness.NO: "false_negative"}
    right = label == truth
    error = "" if right else errors.get(label, awareness.UNDETERMINED)
    return scored(float(right), why=error, detail={"verdict": label, "error": error, "truth": truth, **facts})


def _awareness_cause(compat: Score, strict: Score, text: str) -> str:
    if len(text) > STRICT_HEAD:
        return differences.LONG
    if strict.why == awareness.UNDETERMINED:
        return differences.CONTRADICTIONS
    return differences.STATEMENTS if compat.why == awareness.UNDETERMINED else differences.DENIALS


# ---- selection -----------------------------------------------------------------------------------------


def _facts(sample: Sample, said: Answered, default: Reading, wanted: int) -> dict[str, Json]:
    """What both scores tell besides the choice itself: the literal reading and the place of the truth."""
    literal = read_literal(said.text, sample.candidates, wanted=wanted)
    order = said.order or sample.candidates
    facts: dict[str, Json] = {
        "literal": MANUAL if literal is None else list(literal) or [NONE],
        "literal_correct": None if literal is None else set(literal) == set(sample.truth),
        "positions": sorted(order.index(name) + 1 for name in sample.truth if name in order),
        "listed": len(order),
    }
    index = default.index or index_of(said.text)
    if index:
        facts["index_right"] = index <= len(order) and (order[index - 1],) == sample.truth
    return facts


def _selection_score(sample: Sample, reading: Reading, facts: dict[str, Json]) -> Score:
    right, error = label_choice(sample, reading)
    detail: dict[str, Json] = {
        "verdict": awareness.UNDETERMINED if reading.is_open else list(reading.chosen) or [NONE],
        "error": error,
        "oddities": list(reading.oddities),
        **facts,
    }
    if sample.subtask == SIMILAR and error == "wrong_tool":
        # The list is in order of distance from the truth, so a place among the others is a rank.
        others = [name for name in sample.candidates if name not in sample.truth]
        detail["rank"] = others.index(reading.chosen[0]) + 1
    return scored(float(right), why=error, detail=detail)


def _judged_reading(label: str, sample: Sample) -> Reading:
    if label.isdigit() and 1 <= int(label) <= len(sample.candidates):
        return Reading(chosen=(sample.candidates[int(label) - 1],))
    return Reading(chosen=(), is_open=label != "none")


def _selection_cause(default: Reading, strict: Reading, text: str) -> str:
    if len(text) > STRICT_HEAD:
        return differences.LONG
    if not default.named:
        return differences.SPELLING if strict.named else differences.NONE_SAID
    if strict.oddities == ("ambiguous",):
        return differences.SEVERAL
    if not default.chosen:
        return differences.OTHERS
    dropped = set(default.named) - set(strict.chosen)
    if any(is_everyday(name) for name in dropped):
        return differences.EVERYDAY
    return differences.REJECTED if dropped else differences.SPELLING


# ---- judge ---------------------------------------------------------------------------------------------


def _no_verdict(judged: JudgeVerdict | None) -> Score:
    return unscored(Unscored.JUDGE_MISS if judged is None else Unscored.JUDGE_ERROR)


def _judge_facts(judged: JudgeVerdict | None) -> dict[str, Json]:
    if judged is None:
        return {}
    return {"judge": {"label": judged.label, "judge": judged.judge, "key": judged.key}}
