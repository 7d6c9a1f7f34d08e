"""The local engine: one model file, some sequences, and jobs from any number of threads.

Its answers are a function of (weights, numeric fingerprint, job): warm or cold, alone or beside others, in
any order. Which schedule keeps that promise for a model is what the self-test of its registration decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

from replay.core.types import Json
from replay.llm.llamacpp.binding import load_library
from replay.llm.llamacpp.jobs import (
    EngineSettings,
    Generation,
    GenerationJob,
    Listener,
    check_job,
    check_settings,
)

__all__ = ["EngineSettings", "Generation", "GenerationJob", "LocalEngine"]


class LocalEngine:
    """Generates text with one local model. Thread-safe."""

    def __init__(self, weights: Path, settings: EngineSettings, *, schedule: str = "invariant") -> None:
        """Load the weights and allocate the sequences.

        Errors:  MissingExtraError without the llama.cpp binding; ModelError when the file is no complete
                 model that generates text or memory is missing; InputError for settings out of range.
        """
        check_settings(settings)
        load_library()  # says what is missing, before modules that need numpy are imported
        from replay.llm.llamacpp.machine import Machine  # noqa: PLC0415

        self.settings = settings
        self.schedule = schedule
        self._machine = Machine(weights, settings, schedule=schedule)
        self._vocabulary = self._machine.model.vocabulary_size

    def tokenize(self, text: str, *, special: bool = True, bos: bool | None = None) -> tuple[int, ...]:
        """Split text into tokens.

        `special` reads control tokens written in the text as such; `bos` puts the begin token first, by
        default when the model asks for it and the text does not start with it.
        """
        return self._machine.model.tokenize(text, special=special, bos=bos)

    def detokenize(self, tokens: Iterable[int], *, special: bool = False) -> bytes:
        """Join the bytes of tokens; with `special`, control tokens are spelled out."""
        return self._machine.model.detokenize(tokens, special=special)

    def control_texts(self) -> tuple[str, ...]:
        """List the spellings of control tokens: what `tokenize` reads as such when `special`."""
        return self._machine.model.vocab.control_texts()

    def generate(self, job: GenerationJob, listener: Listener | None = None) -> Generation:
        """Run one job to its end; blocks. Jobs of several threads share decoding steps.

        listener: hears the text as it grows.

        Errors:  InputError for a job out of range; GrammarError when its grammar is refused or allows
                 nothing; ModelError when the library fails.
        """
        return self._machine.scheduler.generate(check_job(job, vocabulary=self._vocabulary), listener)

    def metadata(self) -> Mapping[str, Json]:
        """Read the file's scalar metadata (names, chat template, special tokens) as text, sorted by name."""
        return self._machine.model.metadata()

    def halt(self) -> None:
        """Refuse new jobs and end those in flight with a ModelError; what they had so far is thrown away."""
        self._machine.scheduler.halt()

    def close(self) -> None:
        """Wait for running jobs, then free the memory. Safe to repeat."""
        self._machine.close()

    def __enter__(self) -> Self:
        """Return the engine."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the engine."""
        self.close()
