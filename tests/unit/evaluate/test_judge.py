"""What a judge wrote becomes a label or a named error."""

from __future__ import annotations

import pytest

from replay.core.errors import InputError, MissError
from replay.core.types import ChatRequest, Completion, Json, JudgeRequest, JudgeVerdict, Message
from replay.evaluate.judge import ModelJudge, ask_judge, parse_answer

STATUS = ("Solved", "Unsure", "Unsolved")


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("Unsure", "Unsure"),
        ("Solved", "solved"),
        ("Solved", ' "Solved". '),
        ("Unsolved", "**UNSOLVED**"),
        ("Solved", '{"reason": "all parts", "verdict": "Solved"}'),
        ("Solved", '{"verdict": "solved"}'),
        ("Unsolved", '```json\n{"verdict": "Unsolved", "reason": "no"}\n```'),
        ("Unsure", 'Let me think. {"verdict": "Unsure"} I hope this helps.'),
        ("Solved", 'A set {x} first: {"verdict": "Solved"}'),
        ("Solved", '{"verdict": "Solved"}\n{"verdict": "Solved"}'),
        ("error", ""),
        ("error", " \n"),
        ("error", '{"verdict": "Solved"} {"verdict": "Unsolved"}'),
        ("error", "I'm sorry, but I can't help with that."),
        ("error", "The task is not solved."),
        ("error", "Solved, I think"),
        ("error", '{"verdict": "Maybe"}'),
        ("error", '{"verdict": null}'),
        ("error", '{"verdict": true}'),
        ("error", '{"verdict": ["Solved"]}'),
        ("error", '{"reason": "Solved"}'),
        ("error", '{"verdict": "Sol'),
        ("error", '{"verdict": "Solved", "verdict": "Unsolved"}'),
        ("error", '{"verdict": "Solved", "x": NaN}'),
        ("error", '{"a": {"verdict": "Solved"}}'),
        ("error", "[1, 2]"),
    ],
)
def test_table_of_answers(label: str, text: str) -> None:
    """Every shape a judge's answer takes has one label."""
    assert label == parse_answer(text, STATUS).label


def test_reason_is_kept() -> None:
    """The judge's reason comes with the label."""
    assert parse_answer('{"verdict": "Solved", "reason": "both parts"}', STATUS).reason == "both parts"


def test_error_says_what_is_wrong() -> None:
    """An unreadable answer names its fault and the labels that would do."""
    assert parse_answer("no", STATUS).reason == "neither a label (Solved, Unsure, Unsolved) nor a JSON object"


def test_numbers_stand_for_labels() -> None:
    """An index may be a number where the labels are digits."""
    assert parse_answer('{"index": 1}', ("0", "1"), field="index").label == "1"


@pytest.mark.parametrize("text", ["{" * 60_000, '{"a":' * 12_000, "x" * 100_000, '{"a":"' + "{" * 60_000])
def test_hostile_text_is_an_error_soon(text: str) -> None:
    """Deep, broken and long texts are errors; the search is bounded."""
    assert parse_answer(text, STATUS).label == "error"


class FixedModel:
    """A chat model that always answers alike and keeps what it was asked."""

    def __init__(self, content: str | None, *, finish: str = "stop") -> None:
        """Answer with `content`; None misses."""
        self.content = content
        self.finish = finish
        self.asked: list[tuple[ChatRequest, int, int]] = []

    @property
    def identity(self) -> Json:
        """One name."""
        return {"name": "fixed"}

    def complete(self, request: ChatRequest, *, seed: int, trial: int) -> Completion:
        """Answer, or miss."""
        self.asked.append((request, seed, trial))
        if self.content is None:
            raise MissError("nothing recorded")
        return Completion(content=self.content, finish=self.finish)


def question(*, run: int = 0, cached_only: bool = False) -> JudgeRequest:
    """One status question."""
    return JudgeRequest(
        benchmark="b",
        rubric="answer-status",
        rubric_digest="sha256:1",
        evidence={"query": "q"},
        run=run,
        cached_only=cached_only,
        choices=STATUS,
        messages=(Message(role="user", content="q"),),
        response_schema={"type": "object"},
    )


def test_unknown_labels_of_frozen_verdicts_are_refused() -> None:
    """A verdict with a status that nobody may give is a data error, not a miss and not a score."""
    play = ask_judge(question())
    next(play)
    with pytest.raises(InputError, match=r"unknown label 'Perhaps' \(rubric answer-status, run 0.*Solved"):
        play.send(JudgeVerdict(label="Perhaps"))


def test_error_is_a_label_that_may_come_back() -> None:
    """An unreadable answer passes as what it is."""
    play = ask_judge(question())
    next(play)
    with pytest.raises(StopIteration) as done:
        play.send(JudgeVerdict(label="error", raw="?"))
    assert done.value.value.raw == "?"


def test_model_judge_keeps_raw_text() -> None:
    """A refusal is an error verdict with the text as it came."""
    verdict = ModelJudge(FixedModel("I refuse.")).decide(question())
    assert verdict is not None
    assert ("error", "I refuse.", "fixed") == (verdict.label, verdict.raw, verdict.judge)


def test_model_judge_leaves_frozen_questions() -> None:
    """A question that only a frozen verdict answers is not put to a model."""
    model = FixedModel("Solved")
    assert ModelJudge(model).decide(question(cached_only=True)) is None
    assert [] == model.asked


def test_model_judge_passes_a_miss_on() -> None:
    """A model without an answer is a judge without a verdict."""
    assert ModelJudge(FixedModel(None)).decide(question()) is None


def test_model_judge_distrusts_a_cut_answer() -> None:
    """An answer that ran into its limit is no verdict, whatever it holds."""
    verdict = ModelJudge(FixedModel("Solved", finish="length")).decide(question())
    assert verdict is not None
    assert ("error", "the judge's answer was cut (length)") == (verdict.label, verdict.reason)


def test_model_judge_asks_with_schema_and_digest() -> None:
    """The request carries everything the verdict depends on."""
    model = FixedModel("Solved")
    ModelJudge(model).decide(question())
    request = model.asked[0][0]
    assert ({"type": "object"}, "sha256:1") == (request.response_schema, request.prompt_digest)


def test_model_judge_seeds_each_run_otherwise() -> None:
    """Repeats are judged with other seeds and as other trials."""
    model = FixedModel("Solved")
    judge = ModelJudge(model)
    for run in range(3):
        judge.decide(question(run=run))
    assert [0, 1, 2] == [trial for _, _, trial in model.asked]
    assert len({seed for _, seed, _ in model.asked}) == 3


def test_model_judge_identity_holds_sampling_and_seed() -> None:
    """Another seed or sampling is another judge."""
    model = FixedModel("Solved")
    assert ModelJudge(model, seed=1).identity != ModelJudge(model, seed=2).identity
