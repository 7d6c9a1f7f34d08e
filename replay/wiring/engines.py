"""Local models of one process: found by name, loaded once, whatever roles they play."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec.structs import replace

from replay.core.canonical import digest
from replay.core.determinism import count_cpus
from replay.core.errors import InternalError, ModelError
from replay.core.types import Json
from replay.llm.dialects.choose import choose_dialect
from replay.llm.gguf import read_gguf
from replay.llm.guarding import GUARD_VERSION, Guard
from replay.llm.llamacpp.engine import LocalEngine
from replay.llm.llamacpp.jobs import EngineSettings
from replay.llm.llamacpp.schedule import INVARIANT
from replay.llm.local import LocalWeights, Voice
from replay.wiring.models import open_library
from replay.wiring.registering import make_card
from replay.wiring.roles import ModelPlan, ModelWish

__all__ = ["ModelPool", "find_model", "open_voice"]

_BOS, _EOS = "tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id"
_TEMPLATE = "tokenizer.chat_template"


def find_model(word: str, wish: ModelWish) -> ModelPlan:
    """Find a model of the weights folder by name or digest, or register the GGUF file that is named.

    Errors:  ModelError when there is none, when the llama.cpp build is not the pinned one and that was not
             allowed, or when the model failed its self-test; InputError for a broken file.
    """
    library = open_library(wish.home)
    known = {row.file_sha256 for row in library.list()}
    row = library.add(Path(word)) if word.lower().endswith(".gguf") else library.find(word)
    trained = row.facts.context_tokens or wish.context_tokens
    settings = EngineSettings(context_tokens=min(wish.context_tokens, trained))
    try:
        card = make_card(row, library, settings=settings, allow_unpinned=wish.allow_unpinned)
        dialect = choose_dialect({_TEMPLATE: read_gguf(row.path).text(_TEMPLATE)}, calls=wish.dialect)
    except ModelError:
        if row.file_sha256 not in known:
            library.remove(row)
        raise
    if card.selftest.schedule == INVARIANT:
        # Threads change no bit under this schedule; worker processes share the processors.
        settings = replace(settings, threads=wish.threads or max(1, count_cpus() // wish.jobs))
    return ModelPlan(
        name=row.name,
        identity={
            "model": row.name,
            "tensors": row.tensor_digest,
            "fingerprint": card.fingerprint,
            "dialect": dialect.name,
            "prompting": digest("prompting", {"dialect": dialect.digest, "guard": GUARD_VERSION}),
            "context": settings.context_tokens,
        },
        fingerprint=card.fingerprint,
        weights=str(row.path),
        schedule=card.selftest.schedule,
        settings=settings,
        dialect=wish.dialect,
        is_unpinned=not card.runtime.is_pinned,
    )


def open_voice(plan: ModelPlan) -> Voice:
    """Load a model and the dialect it speaks. Errors: ModelError when the file cannot be loaded."""
    engine = LocalEngine(Path(plan.weights), plan.settings, schedule=plan.schedule)
    metadata = engine.metadata()
    begin, end = (_spell(engine, metadata, key) for key in (_BOS, _EOS))
    dialect = choose_dialect(metadata, bos=begin, eos=end, calls=plan.dialect)
    return Voice(engine, dialect, Guard(engine.control_texts()))


class ModelPool:
    """Loads models when they are first asked, and keeps them until it is closed."""

    def __init__(self) -> None:
        """Start with none loaded."""
        self._loaded: dict[str, LocalWeights] = {}

    def get(self, plan: ModelPlan) -> LocalWeights:
        """Return the weights of a plan; plans of one file and dialect share them. Nothing is loaded yet."""
        place = f"{plan.opener} {plan.dialect} {plan.weights or plan.name}"
        if place not in self._loaded:
            self._loaded[place] = LocalWeights(lambda: _open(plan))
        return self._loaded[place]

    def halt(self) -> None:
        """Let every model refuse further requests."""
        for weights in self._loaded.values():
            weights.halt()

    def close(self) -> None:
        """Free everything."""
        for weights in self._loaded.values():
            weights.close()


def _open(plan: ModelPlan) -> Voice:
    module, _, name = plan.opener.partition(":")
    function: Callable[[ModelPlan], Voice] | None = getattr(importlib.import_module(module), name, None)
    if function is None:
        raise InternalError(f"model opener {plan.opener!r} does not exist", expected="module:function")
    return function(plan)


def _spell(engine: LocalEngine, metadata: Mapping[str, Json], key: str) -> str:
    """Text of a special token, which templates write themselves; empty when the model has none."""
    number = metadata.get(key)
    if not isinstance(number, str) or not number.isdigit():
        return ""
    return engine.detokenize([int(number)], special=True).decode("utf-8", "replace")
