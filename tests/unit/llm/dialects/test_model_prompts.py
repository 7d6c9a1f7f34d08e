"""Prompts of the two test models, down to their token ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from replay.core.types import ChatRequest, Message, Role
from replay.llm.dialects.choose import choose_dialect
from replay.llm.guarding import Guard
from replay.llm.llamacpp.jobs import Generation, GenerationJob, Listener
from replay.llm.local import Voice
from tests.support.golden import Golden
from tests.support.weights import need_binding, need_model
from tests.unit.llm.dialects.test_choose import CONVERSATION

pytestmark = pytest.mark.model

CASES = [
    ("smollm2-135m", "auto", "chatml-json"),
    ("smollm2-135m", "react", "chatml-react"),
    ("gemma3-270m", "auto", "transcript-json"),
    ("gemma3-270m", "react", "transcript-react"),
]


def load(path: Path) -> Any:
    """Load a model with the binding."""
    from replay.llm.llamacpp.model import Model

    return Model(path)


@pytest.mark.parametrize(("name", "calls", "prompt"), CASES)
def test_token_ids_are_those_that_were_reviewed(name: str, calls: str, prompt: str, golden: Golden) -> None:
    """Text and ids: the begin token once where the model wants one, control tokens as such."""
    need_binding()
    model = load(need_model(name).path)
    try:
        text = choose_dialect(model.metadata(), calls=calls).render(CONVERSATION)
        tokens = model.tokenize(text)
        spelled = model.detokenize(tokens, special=True).decode()
    finally:
        model.close()
    golden.check_text(f"prompts/{prompt}.txt", text)
    assert text == spelled.removeprefix("<bos>")
    golden.check_json(f"prompts/{name}-{calls}.json", list(tokens))


@pytest.mark.parametrize("name", ["smollm2-135m", "gemma3-270m"])
def test_a_control_token_that_somebody_wrote_stays_text(name: str) -> None:
    """An answer that ends the message and speaks as the system gives no control token of its own."""
    need_binding()
    model = load(need_model(name).path)
    try:
        texts = model.vocab.control_texts()
        dialect = choose_dialect(model.metadata())
        voice = Voice(_Tokenizer(model), dialect, Guard(texts))
        told, clean = (
            voice.read(ChatRequest(role=Role.CANDIDATE, messages=(Message(role="user", content=content),)))
            for content in (f"a{''.join(texts[:40])}b", "ab")
        )
        controls = [[t for t in tokens if model.vocab.is_control(t)] for tokens in (told, clean)]
        spelled = model.detokenize(told, special=True).decode()
    finally:
        model.close()
    assert controls[1] == controls[0]
    assert "".join(texts[:40]) in spelled


class _Tokenizer:
    """The part of an engine that reads prompts."""

    def __init__(self, model: Any) -> None:
        self.tokenize = model.tokenize

    def generate(self, job: GenerationJob, listener: Listener | None = None) -> Generation:
        raise AssertionError(job)

    def halt(self) -> None:
        raise AssertionError

    def close(self) -> None:
        raise AssertionError
