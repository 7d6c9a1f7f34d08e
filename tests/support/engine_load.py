"""Requests to the real engine in any order and at once, and what each gets from a process of its own."""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path

from replay.core.types import Json, Sampling
from replay.llm.grammar.schema import compile_schema
from replay.llm.llamacpp.engine import EngineSettings, Generation, GenerationJob, LocalEngine

__all__ = ["answer_afresh", "answer_shuffled", "essence", "make_jobs"]

SCHEMA: Json = {
    "type": "object",
    "properties": {"a": {"type": "string", "maxLength": 12}, "n": {"type": "integer", "maximum": 99}},
    "required": ["a", "n"],
}
_SYSTEM = "the rain in the north of the land turns to hail, so the train is late. " * 2


def make_jobs(engine: LocalEngine, count: int, *, seed: int = 1, length: int = 16) -> list[GenerationJob]:
    """Build greedy, sampled and constrained jobs; many begin alike, some go on where others end."""
    chance = random.Random(seed)  # noqa: S311  test data
    grammar = compile_schema(SCHEMA).gbnf
    jobs = []
    for number in range(count):
        text = f"{_SYSTEM}{'a tale of one road. ' * chance.randrange(6)}turn {chance.randrange(9)}:"
        sampling = Sampling(max_tokens=chance.randrange(1, length + 1))
        if number % 3 == 1:
            sampling = Sampling(max_tokens=length, temperature=0.8, top_k=chance.choice((0, 40)), top_p=0.95)
        jobs.append(
            GenerationJob(
                tokens=engine.tokenize(text if number % 5 else text[len(_SYSTEM) :]),
                sampling=sampling,
                seed=1 + chance.randrange(1 << 30),
                grammar=grammar if number % 4 == 2 else "",
                logits_digest=True,
            )
        )
    return jobs


def essence(generation: Generation) -> tuple[object, ...]:
    """Everything of a generation but its cost."""
    g = generation
    return (g.tokens, g.text, g.finish, g.margins, g.prompt_tokens, g.logits_digest)


def answer_shuffled(
    weights: Path, jobs: Sequence[GenerationJob], requests: int, *, seed: int = 1, **settings: int | str
) -> Mapping[int, set[tuple[object, ...]]]:
    """Ask one engine for jobs in random order from as many threads as it has sequences, then one by one.

    Shape:   place of a job -> the different answers it got.
    """
    chance = random.Random(seed)  # noqa: S311  test data
    order = [*range(len(jobs)), *(chance.randrange(len(jobs)) for _ in range(requests - len(jobs)))]
    chance.shuffle(order)
    schedule = str(settings.pop("schedule", "invariant"))
    shape = EngineSettings(**{"context_tokens": 1024, "sequences": 8, "threads": 1, **settings})  # type: ignore[arg-type]
    found: dict[int, set[tuple[object, ...]]] = {place: set() for place in range(len(jobs))}
    with LocalEngine(weights, shape, schedule=schedule) as engine:
        half = len(order) // 2
        with ThreadPoolExecutor(shape.sequences) as threads:
            answers = list(threads.map(lambda place: engine.generate(jobs[place]), order[:half]))
        answers += [engine.generate(jobs[place]) for place in order[half:]]
    for place, answer in zip(order, answers, strict=True):
        found[place].add(essence(answer))
    return found


def answer_afresh(
    weights: Path, jobs: Sequence[GenerationJob], *, schedule: str = "invariant"
) -> list[tuple[object, ...]]:
    """Answer each job in a new process that has never seen another."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn, max_tasks_per_child=1) as pool:
        return list(pool.map(partial(_answer_alone, weights, schedule), jobs))


def _answer_alone(weights: Path, schedule: str, job: GenerationJob) -> tuple[object, ...]:
    settings = EngineSettings(context_tokens=1024, sequences=1, threads=1)
    with LocalEngine(weights, settings, schedule=schedule) as engine:
        return essence(engine.generate(job))
