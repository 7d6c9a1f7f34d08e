"""Prompts of the two test models, down to their token ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replay.llm.dialects.choose import choose_dialect
from tests.support.data import GOLDEN
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
def test_token_ids_are_those_that_were_reviewed(name: str, calls: str, prompt: str) -> None:
    """Text and ids: the begin token once where the model wants one, control tokens as such."""
    need_binding()
    model = load(need_model(name).path)
    try:
        text = choose_dialect(model.metadata(), calls=calls).render(CONVERSATION)
        tokens = model.tokenize(text)
        spelled = model.detokenize(tokens, special=True).decode()
    finally:
        model.close()
    expected = json.loads((GOLDEN / "prompts" / f"{name}-{calls}.json").read_text(encoding="utf-8"))
    assert (GOLDEN / "prompts" / f"{prompt}.txt").read_text(encoding="utf-8") == text
    assert text == spelled.removeprefix("<bos>")
    assert expected == list(tokens)
