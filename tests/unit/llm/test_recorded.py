"""Completions are found by the complete request, recorded once, and explained when they miss."""

from __future__ import annotations

import msgspec
import pytest

from replay.core.errors import InputError, MissError
from replay.core.types import (
    ChatRequest,
    Completion,
    Json,
    Message,
    Provenance,
    Role,
    Sampling,
    SnapshotStatus,
    ToolSpec,
)
from replay.llm.recorded import ChainedModel, ChainedModels, RecordedModel, RecordingModel, RecordingModels
from replay.llm.scripted import Script, ScriptedCandidate, ScriptedTurn
from replay.store.answers import make_completion_snapshot
from tests.support.answering import MemoryStore, make_chat

MODEL = {"name": "model-a", "tensors": "sha256:aa"}


class EchoModel:
    """Answers with the last message; counts how often it was asked."""

    def __init__(self, identity: Json = MODEL, finish: str = "stop") -> None:
        self.identity = identity
        self.asked = 0
        self._finish = finish

    def complete(self, request: ChatRequest, *, seed: int, trial: int) -> Completion:
        """Echo."""
        self.asked += 1
        text = f"{request.messages[-1].content} {seed} {trial}"
        return Completion(content=text, finish=self._finish, provenance=Provenance.GENERATED)


def record(store: MemoryStore, request: ChatRequest, *, seed: int = 1, trial: int = 0) -> None:
    """Record the echo of a request."""
    RecordingModel(EchoModel(), store).complete(request, seed=seed, trial=trial)


def test_recorded_then_replayed_is_the_same() -> None:
    """The recorder serves exactly what a later replay serves."""
    store = MemoryStore()
    fresh = RecordingModel(EchoModel(), store).complete(make_chat(), seed=1, trial=0)
    assert fresh == RecordedModel(store, MODEL).complete(make_chat(), seed=1, trial=0)


@pytest.mark.parametrize(
    "changes",
    [
        {"role": Role.USER},
        {"messages": (Message(role="user", content="Hello"),)},
        {"messages": (Message(role="system", content="hello"),)},
        {"tools": (ToolSpec(name="f"),)},
        {"tool_choice": "none"},
        {"sampling": Sampling(temperature=0.1)},
        {"sampling": Sampling(max_tokens=7)},
        {"response_schema": {}},
        {"prompt_digest": "sha256:00"},
    ],
)
def test_every_single_change_is_a_miss(changes: dict[str, Json]) -> None:
    """Each field of a chat request is in its key."""
    store = MemoryStore()
    record(store, make_chat())
    with pytest.raises(MissError, match="no recorded completion of model 'model-a'"):
        RecordedModel(store, MODEL).complete(msgspec.structs.replace(make_chat(), **changes), seed=1, trial=0)


@pytest.mark.parametrize(
    ("identity", "seed", "trial"),
    [({"name": "model-a", "tensors": "sha256:bb"}, 1, 0), (MODEL, 2, 0), (MODEL, 1, 1)],
)
def test_another_model_seed_or_trial_is_a_miss(identity: Json, seed: int, trial: int) -> None:
    """Model B never gets model A's answers, and trial 5 never trial 0's."""
    store = MemoryStore()
    record(store, make_chat())
    with pytest.raises(MissError):
        RecordedModel(store, identity).complete(make_chat(), seed=seed, trial=trial)


def test_five_trials_are_five_answers_and_the_sixth_is_a_miss() -> None:
    """Trials are distinct recordings; there is no copy for trial 6."""
    store = MemoryStore()
    for trial in range(5):
        record(store, make_chat(), seed=10 + trial, trial=trial)
    model = RecordedModel(store, MODEL)
    texts = {model.complete(make_chat(), seed=10 + trial, trial=trial).content for trial in range(5)}
    assert len(texts) == 5
    with pytest.raises(MissError, match="seed 15 vs recorded"):
        model.complete(make_chat(), seed=15, trial=5)


def test_a_miss_names_the_fields_that_differ() -> None:
    """The nearest recorded request is compared field by field."""
    store = MemoryStore()
    record(store, make_chat("hello"))
    with pytest.raises(MissError, match=r"request\.messages\[0\]\.content 'hallo' vs recorded 'hello'"):
        RecordedModel(store, MODEL).complete(make_chat("hallo"), seed=1, trial=0)


def test_a_long_text_is_shown_where_it_differs() -> None:
    """Two prompts with one long beginning are told apart by what follows it."""
    store = MemoryStore()
    shared = "the same instructions " * 100
    record(store, make_chat(f"{shared}about tea"))
    with pytest.raises(MissError, match=r"about coffee' vs recorded '\.\.\.[a-z ]*about tea'"):
        RecordedModel(store, MODEL).complete(make_chat(f"{shared}about coffee"), seed=1, trial=0)


def test_fields_that_were_left_empty_are_equal() -> None:
    """What is only written differently (no tool calls) is no difference."""
    store = MemoryStore()
    record(store, make_chat("hello"))
    with pytest.raises(MissError) as caught:
        RecordedModel(store, MODEL).complete(make_chat("hallo"), seed=1, trial=0)
    assert "tool_calls" not in str(caught.value)


def test_a_miss_without_recordings_says_so() -> None:
    """A model that was never recorded is named as such."""
    with pytest.raises(MissError, match="there is none"):
        RecordedModel(MemoryStore(), MODEL).complete(make_chat(), seed=1, trial=0)


@pytest.mark.parametrize("finish", ["length", "refused"])
def test_incomplete_answers_are_replayed_as_what_they_are(finish: str) -> None:
    """A truncated or refused answer is kept as a typed outcome and comes back as one, never as an answer."""
    store = MemoryStore()
    said = RecordingModel(EchoModel(finish=finish), store).complete(make_chat(), seed=1, trial=0)
    again = RecordedModel(store, MODEL).complete(make_chat(), seed=1, trial=0)
    assert (finish, said) == (again.finish, again)
    assert [SnapshotStatus.ERROR] == [snapshot.status for snapshot in store.rows.values()]


def test_failures_are_recorded_on_request_only() -> None:
    """An error belongs to the way to the model: it is not a recording unless that is asked for."""
    store = MemoryStore()
    RecordingModel(EchoModel(finish="error"), store).complete(make_chat(), seed=1, trial=0)
    assert {} == store.rows
    RecordingModel(EchoModel(finish="error"), store, keep_errors=True).complete(make_chat(), seed=1, trial=0)
    assert "error" == RecordedModel(store, MODEL).complete(make_chat(), seed=1, trial=0).finish


def test_a_chain_asks_the_model_on_a_miss_only() -> None:
    """Recorded first; the model answers what was not recorded."""
    store, inner = MemoryStore(), EchoModel()
    chain = ChainedModel(RecordedModel(store, MODEL), RecordingModel(inner, store))
    first = chain.complete(make_chat(), seed=1, trial=0)
    assert (first, 1) == (chain.complete(make_chat(), seed=1, trial=0), inner.asked)


def test_a_chain_refuses_two_models() -> None:
    """Answers of two models must never mix under one name."""
    with pytest.raises(InputError, match="model that answers when they miss"):
        ChainedModel(RecordedModel(MemoryStore(), MODEL), EchoModel({"name": "model-b"}))


def test_a_chain_does_not_hide_damage() -> None:
    """A corrupt recording is an error; the model is not asked instead."""
    store, inner = MemoryStore(), EchoModel()
    good = make_completion_snapshot(MODEL, make_chat(), Completion(content="x"), seed=1, trial=0)
    store.put(msgspec.structs.replace(good, body="{"))
    chain = ChainedModel(RecordedModel(store, MODEL), inner)
    with pytest.raises(Exception, match="snapshot cannot be read"):
        chain.complete(make_chat(), seed=1, trial=0)
    assert inner.asked == 0


def test_factories_give_each_episode_its_own_chain() -> None:
    """Scripted turns start anew in each episode, recorded or not."""
    script = ScriptedCandidate((Script(task="t1", turns=(ScriptedTurn(content="one"),)),))
    store = MemoryStore()
    models = ChainedModels(RecordedModel(store, script.identity), RecordingModels(script, store))
    said = [
        models.for_episode("t1", trial=trial).complete(make_chat(), seed=1, trial=trial).content
        for trial in range(2)
    ]
    assert (["one", "one"], 2) == (said, len(store.rows))
