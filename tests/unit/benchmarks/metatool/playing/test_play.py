"""One question, one completion: what is asked, in which order, and what is kept."""

from __future__ import annotations

import pytest

from replay.benchmarks.metatool.benchmark import MetaTool
from replay.benchmarks.metatool.records import Sample
from replay.core.errors import InputError
from replay.core.protocols import EpisodeContext, EpisodeEnd, Settings
from replay.core.types import ChatRequest, Completion, Json
from tests.unit.benchmarks.metatool.builders import (
    TOOLS,
    make_awareness,
    make_examples,
    make_multi,
    make_reliability,
    make_similar,
    make_specs,
    make_task,
)


def play(
    sample: Sample, *, says: str | None = "SkyTool", finish: str = "stop", seed: int = 0, **settings: Json
) -> tuple[ChatRequest, EpisodeEnd]:
    """Play one task; returns what was asked and how it ended."""
    benchmark = MetaTool()
    chosen = benchmark.check_settings(
        Settings(protocol=settings.pop("protocol", ""), options=settings, seed=seed)
    )
    specs = make_specs(sample.candidates) if sample.candidates else ()
    generator = benchmark.play(make_task(sample), specs, EpisodeContext(trial=0, seed=1, settings=chosen))
    request = next(generator)
    assert isinstance(request, ChatRequest)
    with pytest.raises(StopIteration) as stopped:
        generator.send(Completion(content=says, finish=finish))
    end = stopped.value.value
    assert isinstance(end, EpisodeEnd)
    return request, end


def text_of(request: ChatRequest) -> str:
    """The one message."""
    (message,) = request.messages
    assert "user" == message.role
    return message.content or ""


def test_awareness_is_asked_without_tools() -> None:
    """One user message, no system message, no list."""
    request, end = play(make_awareness(), says="Yes.")
    assert "Will it rain?" in text_of(request)
    assert "tool name:" not in text_of(request)
    assert () == request.tools
    assert ("finished", "Yes.") == (end.stop, end.outcome["answer"])


def test_a_list_line_is_numbered_and_plain() -> None:
    """In upstream's order."""
    lines = [line for line in text_of(play(make_similar())[0]).splitlines() if "tool name:" in line]
    assert len(TOOLS) == len(lines)
    assert "1. tool name: SkyTool, tool description: What SkyTool does." == lines[0]


def test_descriptions_can_look_as_upstream_shows_them() -> None:
    """A tool that was not merged has the Python text of a list."""
    text = text_of(play(make_similar(), descriptions="list")[0])
    assert "1. tool name: SkyTool, tool description: What SkyTool does.\n" in text
    assert '2. tool name: NewsTool, tool description: ["It\'s NewsTool."]\n' in text


@pytest.mark.parametrize(
    ("sample", "options", "said"),
    [
        (make_similar(), {}, "at most one tool"),
        (make_reliability(), {}, 'answer "None."'),
        (make_multi(), {}, "at most two tools"),
        (make_multi(), {"multi": "exactly-two"}, "exactly two tools"),
    ],
)
def test_each_subtask_has_its_question(sample: Sample, options: Json, said: str) -> None:
    """Exactly two leaves no way out, at most two does."""
    text = text_of(play(sample, **options)[0])
    assert said in text
    assert ("exactly" in said) == ("None." not in text)


def test_five_shot_prompts_end_with_an_open_answer() -> None:
    """Examples stand before it."""
    action = text_of(play(make_similar(examples=make_examples()), protocol="five-shot")[0])
    assert action.endswith('request: "Will it rain?" tool:')
    assert 'request: "Snow?" tool: SkyTool\nrequest: "Why?" tool: None\n' in action
    thought = text_of(play(make_awareness(examples=make_examples()), protocol="five-shot")[0])
    assert thought.endswith('request: "Will it rain?" answer:')


def test_zero_shot_prompts_and_multi_tool_prompts_show_no_examples() -> None:
    """Multi-tool questions have no few-shot form."""
    assert "examples" not in text_of(play(make_similar(examples=make_examples()))[0])
    assert "examples" not in text_of(play(make_multi(examples=make_examples()), protocol="five-shot")[0])


def test_a_shuffled_order_is_drawn_once_for_task_and_run() -> None:
    """Shown as drawn, kept with its seed; another run seed draws another."""
    request, end = play(make_similar(), order="shuffled")
    shown = [line.split()[3].rstrip(",") for line in text_of(request).splitlines() if "tool name:" in line]
    assert shown == end.outcome["order"]
    assert sorted(TOOLS) == sorted(shown)
    assert list(TOOLS) != shown
    assert end == play(make_similar(), order="shuffled")[1]
    assert shown != play(make_similar(), order="shuffled", seed=7)[1].outcome["order"]


def test_the_original_order_has_no_seed() -> None:
    """Nothing was drawn."""
    outcome = play(make_similar())[1].outcome
    assert list(TOOLS) == outcome["order"]
    assert "order_seed" not in outcome


@pytest.mark.parametrize(
    ("finish", "stop"),
    [("stop", "finished"), ("length", "truncated"), ("refused", "refused"), ("error", "refused")],
)
def test_how_it_ended_is_kept(finish: str, stop: str) -> None:
    """A cut answer is still an answer, as upstream's is."""
    end = play(make_similar(), finish=finish)[1]
    assert (stop, finish, "SkyTool") == (end.stop, end.outcome["finish"], end.outcome["answer"])


def test_a_completion_without_text_is_an_empty_answer() -> None:
    """Never a missing one."""
    assert "" == play(make_similar(), says=None)[1].outcome["answer"]


def test_the_request_carries_sampling_and_prompt() -> None:
    """Each is a part of the completion's key."""
    request = play(make_similar(), max_tokens=64, temperature=0.5)[0]
    assert (64, 0.5) == (request.sampling.max_tokens, request.sampling.temperature)
    digests = {play(sample)[0].prompt_digest for sample in (make_similar(), make_multi(), make_awareness())}
    assert 3 == len(digests)


def test_braces_in_a_query_stay_what_they_are() -> None:
    """Placeholders are filled once."""
    assert "{{tools}} {query}" in text_of(play(make_similar(query="{{tools}} {query}"))[0])


def test_a_task_without_its_specs_is_refused() -> None:
    """By the name that is missing."""
    benchmark = MetaTool()
    context = EpisodeContext(trial=0, seed=1, settings=benchmark.check_settings(Settings()))
    with pytest.raises(InputError, match="no tool spec of 'SkyTool'"):
        next(benchmark.play(make_task(make_similar()), (), context))
