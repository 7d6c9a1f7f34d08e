"""What a GGUF file is good for: which files generate text here, which do not, and why.

A named state for each, from metadata alone, before the model library is asked: a vocabulary without weights,
an embedding model and half of a split file would otherwise fail deep inside native code, or not fail at all.

Source:  llama-arch.cpp (architecture names, llm_arch_is_recurrent, _is_hybrid, _is_diffusion) and
llama-model.cpp (create_memory, llama_model_has_encoder) of llama.cpp as vendored by llama-cpp-python 0.3.36.
"""

from __future__ import annotations

import enum
from typing import Final

from replay.core.errors import ModelError
from replay.core.types import Record
from replay.llm.gguf_header import GgufFile

__all__ = ["ModelKind", "ModelSurvey", "check_generates", "survey_model"]

_RECURRENT: Final = frozenset({"arwkv7", "mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7"})
_HYBRID: Final = frozenset(
    {
        "bailingmoe3", "deepseek4", "falcon-h1", "glm5-next", "granitehybrid", "jamba", "kimi-k3",
        "kimi-linear", "lfm2", "lfm2moe", "minimax-01", "nemotron_h", "nemotron_h_moe", "plamo2", "qwen35",
        "qwen35moe", "qwen3next", "qwen4exp",
    }
)  # fmt: skip
_DIFFUSION: Final = frozenset({"dream", "llada", "llada-moe", "rnd1"})
_EMBEDDING: Final = frozenset(
    {
        "bert", "eurobert", "gemma-embedding", "jina-bert-v2", "jina-bert-v3", "llama-embed", "modern-bert",
        "neo-bert", "nomic-bert", "nomic-bert-moe",
    }
)  # fmt: skip
_OTHER_PURPOSE: Final = {
    "clip": "an image encoder",
    "wavtokenizer-dec": "an audio decoder",
    "qwen3tts": "a speech model",
    "pockettts": "a speech model",
    "eagle3": "a draft model for speculative decoding",
    "dflash": "a draft model for speculative decoding",
    "gemma4-assistant": "a draft model for speculative decoding",
}
_SPLIT_COUNT: Final = "split.count"
_CHAT_TEMPLATE: Final = "tokenizer.chat_template"


class ModelKind(enum.StrEnum):
    """What a file is."""

    GENERATOR = "generator"
    """Causal, with an attention cache: what this program is made for."""
    HYBRID = "hybrid"
    """Attention and recurrent layers: usable where its self-test passes."""
    RECURRENT = "recurrent"
    """Recurrent layers only: usable where its self-test passes."""
    EMBEDDING = "embedding"
    ENCODER = "encoder"
    """Encoder only, or encoder and decoder: takes no running conversation."""
    DIFFUSION = "diffusion"
    VOCABULARY = "vocabulary"
    """No weights at all."""
    SPLIT = "split"
    """One of several files of a model."""
    OTHER = "other"
    """Images, audio, drafts."""
    UNNAMED = "unnamed"
    """No architecture is given."""


_KINDS: Final[dict[str, ModelKind]] = {
    **dict.fromkeys(_RECURRENT, ModelKind.RECURRENT),
    **dict.fromkeys(_HYBRID, ModelKind.HYBRID),
    **dict.fromkeys(_DIFFUSION, ModelKind.DIFFUSION),
    **dict.fromkeys(_EMBEDDING, ModelKind.EMBEDDING),
    **dict.fromkeys(("t5", "t5encoder"), ModelKind.ENCODER),
    **dict.fromkeys(_OTHER_PURPOSE, ModelKind.OTHER),
}
"""Architectures that are something else than a generator."""

_REASONS: Final = {
    ModelKind.EMBEDDING: "is an embedding model: it gives vectors, not text",
    ModelKind.ENCODER: "is an encoder model: it cannot go on with a conversation",
    ModelKind.DIFFUSION: "is a diffusion model: it has no next token",
    ModelKind.VOCABULARY: "holds a vocabulary only, no weights",
    ModelKind.SPLIT: "is one of several files of a split model",
    ModelKind.UNNAMED: "names no architecture (general.architecture)",
}
_STEPS: Final = {
    ModelKind.SPLIT: "merge the parts into one file with llama-gguf-split --merge, then add that",
    ModelKind.VOCABULARY: "get the file with the weights",
}


class ModelSurvey(Record, frozen=True, kw_only=True):
    """What a file is, from its metadata."""

    kind: ModelKind
    architecture: str
    name: str = ""
    """As the file calls itself; for eyes only."""
    context_tokens: int = 0
    """The context it was trained for; 0 when it does not say."""
    sliding_window: int = 0
    """Tokens that its windowed layers look back; 0 for none."""
    vocabulary: int = 0
    weight_types: tuple[str, ...] = ()
    """Types of its tensors, sorted."""
    chat_template: str = ""
    """Its own template, as text; empty for a base model."""
    purpose: str = ""
    """For `other`: what it is."""


def survey_model(gguf: GgufFile) -> ModelSurvey:
    """Say what a file is good for; never raises for a file that could be read."""
    architecture = gguf.architecture
    vocabulary = gguf.metadata.get("tokenizer.ggml.tokens")
    length = getattr(vocabulary, "length", None)
    return ModelSurvey(
        kind=_kind(gguf),
        architecture=architecture,
        name=gguf.text("general.name")[:200],
        context_tokens=gguf.number(f"{architecture}.context_length") or 0,
        sliding_window=gguf.number(f"{architecture}.attention.sliding_window") or 0,
        vocabulary=length if length is not None else len(vocabulary) if isinstance(vocabulary, list) else 0,
        weight_types=tuple(sorted({tensor.type for tensor in gguf.tensors})),
        chat_template=gguf.text(_CHAT_TEMPLATE),
        purpose=_OTHER_PURPOSE.get(architecture, ""),
    )


def check_generates(survey: ModelSurvey, where: str) -> None:
    """Refuse a file that cannot generate text. Errors: ModelError that says what it is instead."""
    if survey.kind in {ModelKind.GENERATOR, ModelKind.HYBRID, ModelKind.RECURRENT}:
        return
    reason = _REASONS.get(survey.kind) or f"is {survey.purpose}, not a model that generates text"
    raise ModelError(
        f"{where} {reason}",
        where=f"architecture {survey.architecture!r}",
        expected="a GGUF file of a causal language model",
        next_step=_STEPS.get(survey.kind, "choose a chat model"),
    )


def _kind(gguf: GgufFile) -> ModelKind:
    architecture = gguf.architecture
    if (gguf.number(_SPLIT_COUNT) or 0) > 1:
        return ModelKind.SPLIT
    if not architecture:
        return ModelKind.UNNAMED
    if not gguf.tensors:
        return ModelKind.VOCABULARY
    if (gguf.number(f"{architecture}.pooling_type") or 0) > 0:
        return ModelKind.EMBEDDING
    by_name = _KINDS.get(architecture, ModelKind.GENERATOR)
    is_causal = gguf.metadata.get(f"{architecture}.attention.causal") is not False
    return by_name if is_causal or by_name is not ModelKind.GENERATOR else ModelKind.ENCODER
