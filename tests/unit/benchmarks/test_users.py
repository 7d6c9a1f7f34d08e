"""A simulated user: what it is told, when it ends a conversation, how it fails; alone and in episodes."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from replay.benchmarks.users import (
    END_CONVERSATION,
    Conversation,
    Persona,
    UserTurn,
    converse,
    load_user_prompt,
    user_turn,
)
from replay.core.costs import CostMeter
from replay.core.protocols import Answer, Ask, ChatModelFactory, Settings
from replay.core.trajectory import CompletionStep, Trajectory
from replay.core.types import Completion, Json, Message, Provenance, Role, Snapshot, Task, ToolCall
from replay.engine.plan import make_plan
from replay.engine.worker import Answerers, EpisodeResult, PlayWorker, Scoring
from replay.llm.judges import JudgeChain
from replay.llm.local import LocalModel, LocalWeights, Voice
from replay.llm.recorded import ChainedModels, RecordedModel, RecordingModels
from replay.llm.scripted import Script, ScriptedCall, ScriptedCandidate, ScriptedTurn
from replay.store.pending import PendingOverlay
from replay.tools.keys import recipe_for
from replay.tools.misses import MissReporter
from replay.tools.resolver import Resolver
from tests.support.answering import MemoryStore
from tests.support.engines import LineDialect, PromptEngine
from tests.support.errands import ErrandBenchmark, make_errand
from tests.support.models import make_identity

PERSONA = Persona(goal="A table for two.", knowledge="My name is Ann.", unknown="the price")
ENDS = ToolCall(id="c1", name="end_conversation", arguments="{}")


def take_turn(persona: Persona, said: list[Message], answer: Completion) -> tuple[Json, UserTurn]:
    """Let the user speak once; return its request and its turn."""
    turn = user_turn(persona, said)
    request = next(turn)
    with pytest.raises(StopIteration) as done:
        turn.send(answer)
    return request, done.value.value


def talk(*answers: Completion, replies: tuple[str | None, ...], turns: int) -> Conversation:
    """Let a user of these completions talk to an assistant of these replies."""
    left = list(replies)

    def reply(said: tuple[Message, ...]) -> Generator[Ask, Answer, str | None]:
        yield from ()
        return left.pop(0) if left else "Go on."

    play = converse(PERSONA, reply, max_turns=turns)
    waiting = iter(answers)
    found = None
    next(play)
    while found is None:
        try:
            play.send(next(waiting))
        except StopIteration as done:
            found = done.value
    assert isinstance(found, Conversation)
    return found


def test_the_user_is_told_goal_knowledge_and_boundary() -> None:
    """In the versioned prompt, whose digest is in the request; nothing to call before the assistant spoke."""
    request, turn = take_turn(PERSONA, [], Completion(content=" Hello. "))
    system = request.messages[0].content
    assert all(text in system for text in ("A table for two.", "My name is Ann.", "the price"))
    assert (Role.USER, load_user_prompt().digest, ()) == (request.role, request.prompt_digest, request.tools)
    assert ["system", "user"] == [message.role for message in request.messages]
    assert UserTurn(text="Hello.") == turn


def test_what_was_said_is_turned_around() -> None:
    """The user's own words are the model's; calls and results of the assistant's tools are not shown."""
    said = [
        Message(role="user", content="Hello."),
        Message(role="assistant", content=None, tool_calls=(ENDS,)),
        Message(role="tool", content="secret", tool_call_id="c1"),
        Message(role="assistant", content="Which name?"),
    ]
    request, _ = take_turn(PERSONA, said, Completion(content="Ann."))
    shown = [(message.role, message.content) for message in request.messages[2:]]
    assert [("assistant", "Hello."), ("user", "Which name?")] == shown
    assert (END_CONVERSATION,) == request.tools


def test_an_empty_boundary_is_written_out() -> None:
    """A prompt has no empty place."""
    request, _ = take_turn(Persona(goal="x"), [], Completion(content="y"))
    assert "(nothing else)" in request.messages[0].content


@pytest.mark.parametrize(
    ("answer", "turn"),
    [
        (Completion(tool_calls=(ENDS,), finish="tool_calls"), UserTurn(has_ended=True)),
        (Completion(content="Bye", tool_calls=(ENDS,)), UserTurn(text="Bye", has_ended=True)),
        (Completion(content="Finish Conversation"), UserTurn(text="Finish Conversation", has_ended=True)),
        (Completion(content="I call end_conversation"), UserTurn(text="I call end_conversation")),
        (Completion(content="and so on", finish="length"), UserTurn(fault="truncated")),
        (Completion(finish="refused"), UserTurn(fault="refused")),
        (Completion(finish="error"), UserTurn(fault="error")),
        (Completion(content="  "), UserTurn(fault="empty")),
    ],
)
def test_table_of_turns(answer: Completion, turn: UserTurn) -> None:
    """A call or the benchmark's phrase ends it; what is no message is a fault with a name."""
    persona = Persona(goal="x", end_phrase="finish conversation")
    assert turn == take_turn(persona, [], answer)[1]


@pytest.mark.parametrize(
    ("answers", "replies", "turns", "stop", "said"),
    [
        (["Hi", ENDS], ("Which name?",), 3, "ended", ["Hi", "Which name?"]),
        (["Hi", "Ann"], ("Which name?", None), 3, "gave-up", ["Hi", "Which name?", "Ann"]),
        (["Hi", "Ann"], ("Which name?", "And?"), 2, "turn-limit", ["Hi", "Which name?", "Ann", "And?"]),
        (["Hi", ""], ("Which name?",), 3, "user-failed", ["Hi", "Which name?"]),
    ],
)
def test_table_of_conversations(
    answers: list[str | ToolCall], replies: tuple[str | None, ...], turns: int, stop: str, said: list[str]
) -> None:
    """Who ends it, and what was said until then."""
    completions = [
        Completion(content=answer) if isinstance(answer, str) else Completion(tool_calls=(answer,))
        for answer in answers
    ]
    found = talk(*completions, replies=replies, turns=turns)
    assert (stop, said) == (found.stop, [message.content for message in found.messages])


# ---- whole episodes of a benchmark with two roles --------------------------------------------------------


def book(code: str) -> ScriptedTurn:
    """An assistant's call."""
    return ScriptedTurn(tool_calls=(ScriptedCall(name="book", arguments={"code": code}),))


def say(text: str) -> ScriptedTurn:
    """A message."""
    return ScriptedTurn(content=text)


SCRIPT = ScriptedCandidate(
    (
        Script(task="e0", turns=(say("Which code?"), book("K0"), say("Done."))),
        Script(
            task="e0",
            role=Role.USER,
            turns=(
                say("Book my table."),
                say("K0."),
                ScriptedTurn(tool_calls=(ScriptedCall(name="end_conversation"),)),
            ),
        ),
    )
)


def play_errand(
    task: Task, chat: dict[Role, ChatModelFactory], overlay: PendingOverlay | None = None
) -> EpisodeResult:
    """Play and score one errand through a worker."""
    recipe = recipe_for("errands")
    scoring = Scoring(ErrandBenchmark(), settings=Settings(), load=lambda _: (task, ()))
    meter = CostMeter()
    worker = PlayWorker(
        scoring,
        lambda: Answerers(
            chat=chat,
            tools=Resolver([], recipe, MissReporter(MemoryStore())),
            judge=JudgeChain([]),
            drain=tuple if overlay is None else overlay.drain,
            costs=meter.read,
        ),
    )
    (item,) = make_plan([task], benchmark="errands")
    return worker.run(item)


def roles_of(trajectory: Trajectory) -> list[str]:
    """Who spoke, in order."""
    return [step.role.value for step in trajectory.steps if isinstance(step, CompletionStep)]


def test_two_roles_play_an_episode_to_its_end() -> None:
    """User and assistant speak in turn, the world books, the user ends it, the checker scores."""
    result = play_errand(make_errand(), {Role.CANDIDATE: SCRIPT, Role.USER: SCRIPT})
    assert "finished" == result.trajectory.stop
    assert ["user", "candidate", "user", "candidate", "candidate", "user"] == roles_of(result.trajectory)
    assert 1.0 == result.verdicts.verdicts[0].strict.value


def test_a_user_without_a_script_is_a_miss_of_the_user() -> None:
    """Not of the candidate: the episode is unscored under the user's name."""
    alone = ScriptedCandidate((Script(task="e0", turns=(say("Which code?"),)),))
    result = play_errand(make_errand(), {Role.CANDIDATE: alone, Role.USER: alone})
    assert ("user-miss", "user-miss") == (result.trajectory.stop, result.verdicts.verdicts[0].strict.unscored)


def test_a_user_that_fails_leaves_the_episode_unscored() -> None:
    """A truncated user message is not the candidate's fault."""
    cut = ScriptedCandidate(
        (Script(task="e0", role=Role.USER, turns=(ScriptedTurn(content="Bo", finish="length"),)),)
    )
    result = play_errand(make_errand(), {Role.CANDIDATE: SCRIPT, Role.USER: cut})
    assert "user-failed" == result.trajectory.stop
    assert "truncated" == result.trajectory.outcome["fault"]
    assert "user-failed" == result.verdicts.verdicts[0].strict.unscored


def make_user() -> LocalModel:
    """A local model that plays the user."""
    weights = LocalWeights(lambda: Voice(PromptEngine("toy", pauses=False), LineDialect()))
    return LocalModel(make_identity(), weights)


def test_a_local_model_plays_the_user_and_its_recording_plays_it_again() -> None:
    """Live, then strictly from what was recorded: one trajectory."""
    candidate = ScriptedCandidate((Script(task="e0", turns=(book("K0"), say("Done."), say("Still done."))),))
    overlay = PendingOverlay(MemoryStore())
    live = ChainedModels(
        RecordedModel(overlay, make_identity()), RecordingModels(make_user(), overlay, keep_errors=True)
    )
    first = play_errand(make_errand(), {Role.CANDIDATE: candidate, Role.USER: live}, overlay)
    assert ("finished", 3) == (first.trajectory.stop, len(first.snapshots))
    assert {Provenance.GENERATED} == {snapshot.provenance for snapshot in first.snapshots}
    again = replay_user(first.snapshots, candidate)
    assert first.trajectory == again.trajectory


def replay_user(snapshots: tuple[Snapshot, ...], candidate: ScriptedCandidate) -> EpisodeResult:
    """Play the errand from recorded completions of the user."""
    recorded = RecordedModel(MemoryStore(*snapshots), make_identity())
    return play_errand(make_errand(), {Role.CANDIDATE: candidate, Role.USER: recorded})
