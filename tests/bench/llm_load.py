"""The load of an agent with tools, and who answers it: our engine and llama-cpp-python's own class."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from replay.core.types import Sampling
from replay.llm.llamacpp.engine import EngineSettings, GenerationJob, LocalEngine

__all__ = ["Asked", "Held", "LibraryModel", "hold_conversations", "make_job", "open_engine"]

CONVERSATIONS = 6
TURNS = 4
ANSWER_TOKENS = 32
CONTEXT_TOKENS = 4096
THREADS = 1
"""Of every side: threads of the library wait for each other by spinning, so that on a machine that others use
as well two of them measure the neighbours."""

Asked = Callable[[Sequence[int]], Sequence[int]]
Tokenize = Callable[[str, bool], Sequence[int]]


class Held(NamedTuple):
    """All conversations held with one side."""

    seconds: float
    """Processor seconds of this process."""
    prompts: list[Sequence[int]]
    answers: list[Sequence[int]]


def hold_conversations(tokenize: Tokenize, ask: Asked) -> Held:
    """Ask turn after turn; every prompt goes on with the answers before it."""
    talk = _talk(tokenize)
    held = Held(0.0, [], [])
    started = time.process_time()
    try:
        held.prompts.append(next(talk))
        while True:
            held.answers.append(tuple(ask(held.prompts[-1])))
            held.prompts.append(talk.send(held.answers[-1]))
    except StopIteration:
        return held._replace(seconds=time.process_time() - started)


def _talk(tokenize: Tokenize) -> Generator[Sequence[int], Sequence[int], None]:
    """One system prompt of some 700 tokens for all; each turn is appended to what was said."""
    chance = random.Random(5)  # noqa: S311  a measurement plan
    system = tokenize(
        "You stand in for APIs with the tools get_weather(city) and send_email(to, body). " * 32, True
    )
    for number in range(CONVERSATIONS):
        history = [*system, *tokenize(f"Conversation {number}: ", False)]
        for _ in range(TURNS):
            question = (
                f"The user asks about city {chance.randrange(1000)}: how much rain fell, how warm it was and "
                "which wind blew, for each of the days from Monday on. "
            )
            history = [*history, *tokenize(question, False)]
            answer = yield history
            history = [*history, *answer]


def open_engine(
    weights: Path, *, sequences: int = 4, context_tokens: int = CONTEXT_TOKENS, threads: int = THREADS
) -> LocalEngine:
    """Our engine."""
    settings = EngineSettings(context_tokens=context_tokens, sequences=sequences, threads=threads)
    return LocalEngine(weights, settings)


def make_job(tokens: Sequence[int], *, count: int = ANSWER_TOKENS, grammar: str = "") -> GenerationJob:
    """A greedy job."""
    return GenerationJob(tokens=tuple(tokens), sampling=Sampling(max_tokens=count), grammar=grammar)


class LibraryModel:
    """llama-cpp-python as its documentation uses it, on the same build."""

    def __init__(self, weights: Path) -> None:
        import llama_cpp

        self._model = llama_cpp.Llama(
            str(weights), n_ctx=CONTEXT_TOKENS, n_threads=THREADS, n_threads_batch=THREADS, verbose=False
        )
        vocabulary = llama_cpp.llama_model_get_vocab(self._model.model)
        self._is_end: Callable[[int], bool] = partial(llama_cpp.llama_vocab_is_eog, vocabulary)

    def reuse(self, prompt: Sequence[int]) -> Sequence[int]:
        """Answer with the prefix that the library finds in its context."""
        return self._generate(prompt, reset=True)  # its name for: start with what is common

    def start_afresh(self, prompt: Sequence[int]) -> Sequence[int]:
        """Forget everything, then answer."""
        self._model.reset()
        return self._generate(prompt, reset=False)

    def _generate(self, prompt: Sequence[int], *, reset: bool) -> Sequence[int]:
        answer: list[int] = []
        for token in self._model.generate(list(prompt), temp=0.0, reset=reset):
            answer.append(token)
            if len(answer) == ANSWER_TOKENS or self._is_end(token):
                break
        return answer

    def close(self) -> None:
        """Free it."""
        self._model.close()
