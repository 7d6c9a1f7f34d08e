"""Verdicts are found by judge, rubric, evidence and run; nothing else answers."""

from __future__ import annotations

import msgspec
import pytest

from replay.core.types import Json, JudgeRequest, JudgeVerdict, Provenance
from replay.llm.judges import JudgeChain, RecordedJudge, RecordingJudge
from tests.support.answering import MemoryStore

JUDGE = {"name": "judge-a", "temperature": 0}


class FixedJudge:
    """Always says one label; counts how often it was asked."""

    def __init__(self, label: str | None = "Solved", identity: Json = JUDGE) -> None:
        self.identity = identity
        self.asked = 0
        self._label = label

    def decide(self, request: JudgeRequest) -> JudgeVerdict | None:
        """Say it."""
        self.asked += 1
        return None if self._label is None else JudgeVerdict(label=self._label, judge="judge-a")


def make_question(**changes: Json) -> JudgeRequest:
    """Build a question about one answer."""
    question = JudgeRequest(
        benchmark="demo", rubric="sopr", rubric_digest="sha256:11", evidence={"answer": "42"}
    )
    return msgspec.structs.replace(question, **changes)


def test_recorded_then_replayed_is_the_same() -> None:
    """The recorder serves exactly what a later replay serves."""
    store = MemoryStore()
    fresh = RecordingJudge(FixedJudge(), store).decide(make_question())
    assert fresh == RecordedJudge(store, JUDGE).decide(make_question())


@pytest.mark.parametrize(
    "changes",
    [
        {"benchmark": "other"},
        {"rubric": "fac"},
        {"rubric_digest": "sha256:22"},
        {"evidence": {"answer": "43"}},
        {"run": 1},
    ],
)
def test_every_single_change_is_a_miss(changes: dict[str, Json]) -> None:
    """Each field of the question is in its key."""
    store = MemoryStore()
    RecordingJudge(FixedJudge(), store).decide(make_question())
    assert RecordedJudge(store, JUDGE).decide(make_question(**changes)) is None


def test_an_old_judge_does_not_answer_for_a_new_one() -> None:
    """Judge parameters are in the key."""
    store = MemoryStore()
    RecordingJudge(FixedJudge(), store).decide(make_question())
    assert RecordedJudge(store, {**JUDGE, "temperature": 1}).decide(make_question()) is None


@pytest.mark.parametrize("label", ["error", None])
def test_errors_and_passes_are_not_written(label: str | None) -> None:
    """What could not be read from a judge is not replayed for ever."""
    store = MemoryStore()
    RecordingJudge(FixedJudge(label), store).decide(make_question())
    assert {} == store.rows


def test_a_chain_asks_recorded_judges_first() -> None:
    """A verdict that is recorded is never asked for again."""
    store, maker = MemoryStore(), FixedJudge("Unsolved")
    RecordingJudge(FixedJudge("Solved"), store).decide(make_question())
    verdict = JudgeChain([RecordedJudge(store, JUDGE)], [maker]).decide(make_question())
    assert ("Solved", 0) == (verdict and verdict.label, maker.asked)


def test_a_chain_asks_makers_on_a_miss() -> None:
    """What is not recorded may be made."""
    chain = JudgeChain([RecordedJudge(MemoryStore(), JUDGE)], [FixedJudge()])
    verdict = chain.decide(make_question())
    assert verdict is not None
    assert "Solved" == verdict.label


def test_a_question_that_may_only_be_looked_up_reaches_no_maker() -> None:
    """cached_only means what it says, whatever the makers would do."""
    maker = FixedJudge()
    chain = JudgeChain([RecordedJudge(MemoryStore(), JUDGE)], [maker])
    assert chain.decide(make_question(cached_only=True)) is None
    assert maker.asked == 0


def test_provenance_is_that_of_the_recording() -> None:
    """A verdict says whether it was recorded here or imported."""
    store = MemoryStore()
    RecordingJudge(FixedJudge(), store).decide(make_question())
    verdict = RecordedJudge(store, JUDGE).decide(make_question())
    assert verdict is not None
    assert Provenance.RECORDED is verdict.provenance
