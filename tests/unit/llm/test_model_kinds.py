"""What a GGUF file is good for, and how a file that generates no text is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.core.errors import ModelError
from replay.llm.gguf import GgufFile, read_gguf
from replay.llm.model_kinds import ModelKind, check_generates, survey_model
from tests.support.gguf_bytes import METADATA, TENSORS, Entry, write_gguf


def make_gguf(tmp_path: Path, *entries: Entry, architecture: str = "llama", tensors: bool = True) -> GgufFile:
    """Build a file of an architecture with further entries."""
    named = [Entry("general.architecture", "string", architecture)] if architecture else []
    return read_gguf(write_gguf(tmp_path / "m.gguf", [*named, *entries], TENSORS if tensors else ()))


def test_a_survey_tells_what_a_file_says(tmp_path: Path) -> None:
    """Name, context, vocabulary and weight types come from the metadata and the tensor table."""
    survey = survey_model(read_gguf(write_gguf(tmp_path / "m.gguf", METADATA)))
    assert (ModelKind.GENERATOR, "llama", "Tiny", 64, 100, ("F32", "Q8_0"), "") == (
        survey.kind,
        survey.architecture,
        survey.name,
        survey.context_tokens,
        survey.vocabulary,
        survey.weight_types,
        survey.chat_template,
    )


@pytest.mark.parametrize(
    ("architecture", "kind"),
    [
        ("gemma3", ModelKind.GENERATOR),
        ("never-heard-of", ModelKind.GENERATOR),
        ("mamba", ModelKind.RECURRENT),
        ("jamba", ModelKind.HYBRID),
        ("qwen35moe", ModelKind.HYBRID),
        ("bert", ModelKind.EMBEDDING),
        ("t5", ModelKind.ENCODER),
        ("t5encoder", ModelKind.ENCODER),
        ("llada", ModelKind.DIFFUSION),
        ("clip", ModelKind.OTHER),
        ("", ModelKind.UNNAMED),
    ],
)
def test_the_architecture_decides(tmp_path: Path, architecture: str, kind: ModelKind) -> None:
    """Architectures that are not plain generators are known by name; the library judges unknown ones."""
    assert kind is survey_model(make_gguf(tmp_path, architecture=architecture)).kind


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        (Entry("llama.pooling_type", "u32", 1), ModelKind.EMBEDDING),
        (Entry("llama.pooling_type", "u32", 0), ModelKind.GENERATOR),
        (Entry("llama.attention.causal", "bool", False), ModelKind.ENCODER),
        (Entry("llama.attention.causal", "bool", True), ModelKind.GENERATOR),
        (Entry("split.count", "u32", 3), ModelKind.SPLIT),
        (Entry("split.count", "u32", 1), ModelKind.GENERATOR),
    ],
)
def test_metadata_decides_too(tmp_path: Path, entry: Entry, kind: ModelKind) -> None:
    """A pooling layer, attention in both directions and a part of a split file are seen in the metadata."""
    assert kind is survey_model(make_gguf(tmp_path, entry)).kind


def test_a_file_without_weights_is_a_vocabulary(tmp_path: Path) -> None:
    """A file with a vocabulary and no tensors is named as such."""
    assert ModelKind.VOCABULARY is survey_model(make_gguf(tmp_path, tensors=False)).kind


@pytest.mark.parametrize(
    ("architecture", "entries", "message"),
    [
        ("bert", (), r"m\.gguf is an embedding model: it gives vectors, not text"),
        ("t5", (), r"m\.gguf is an encoder model"),
        ("dream", (), r"m\.gguf is a diffusion model"),
        ("clip", (), r"m\.gguf is an image encoder, not a model that generates text"),
        ("eagle3", (), r"m\.gguf is a draft model"),
        ("", (), r"m\.gguf names no architecture"),
        ("llama", (Entry("split.count", "u32", 2),), r"one of several files.*llama-gguf-split --merge"),
    ],
)
def test_what_generates_nothing_is_refused(
    tmp_path: Path, architecture: str, entries: tuple[Entry, ...], message: str
) -> None:
    """The line says what the file is instead, with exit code 6."""
    survey = survey_model(make_gguf(tmp_path, *entries, architecture=architecture))
    with pytest.raises(ModelError, match=message) as caught:
        check_generates(survey, "m.gguf")
    assert 6 == caught.value.exit_code


def test_a_vocabulary_is_refused_with_advice(tmp_path: Path) -> None:
    """A vocabulary-only file is told apart from a broken one."""
    with pytest.raises(ModelError, match=r"holds a vocabulary only.*next: get the file with the weights"):
        check_generates(survey_model(make_gguf(tmp_path, tensors=False)), "m.gguf")


@pytest.mark.parametrize("architecture", ["llama", "jamba", "mamba", "never-heard-of"])
def test_what_may_generate_is_let_through(tmp_path: Path, architecture: str) -> None:
    """Hybrid and recurrent models are judged by their self-test, unknown ones by the library."""
    check_generates(survey_model(make_gguf(tmp_path, architecture=architecture)), "m.gguf")
