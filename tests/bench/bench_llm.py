"""The local model against llama-cpp-python itself; together, constrained, in two processes.

All sides compute on one thread of the same pinned build, take turns, and are compared by the processor time
of this process, which neighbours on the machine hardly change. Only `together` is also measured on all
processors by the clock on the wall, because threads that wait for each other are what it spares; it needs a
quiet machine. Greedy answers of all sides are compared too: the faster way must not be another way.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from replay.core.determinism import count_cpus
from replay.core.errors import ModelError
from replay.core.types import Json, Sampling
from replay.llm.gguf import read_gguf
from replay.llm.grammar.schema import compile_schema
from replay.llm.llamacpp.engine import LocalEngine
from replay.llm.llamacpp.jobs import GenerationJob
from replay.llm.manifest import load_manifests
from replay.llm.runtime import find_binding
from replay.llm.weights import ModelLibrary
from replay.wiring.places import manifests_folder, weights_folder
from tests.bench.llm_load import LibraryModel, hold_conversations, make_job, open_engine
from tests.bench.llm_memory import measure_memory

__all__ = ["run"]

MODEL = "smollm2-135m"
ROUNDS = 3
AGENT_ROUNDS = 2
TOGETHER = 8
DECODED = 48
CONSTRAINED = 80

SCHEMAS: tuple[Json, ...] = (
    {
        "type": "object",
        "properties": {"error": {"type": "string"}, "response": {"type": "string"}},
        "required": ["error", "response"],
    },
    {
        "type": "object",
        "properties": {
            "error": {"type": "string", "maxLength": 80},
            "response": {
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "temperature": {"type": "number"},
                    "days": {"type": "array", "items": {"type": "string"}, "maxItems": 6},
                    "is_raining": {"type": "boolean"},
                },
                "required": ["city", "temperature", "days", "is_raining"],
            },
        },
        "required": ["error", "response"],
    },
)
"""Answers as a simulated API gives them: any text, and a shape."""


def run(name: str = MODEL) -> dict[str, Any]:
    """Measure one registered model; says why when there is none."""
    if not find_binding():
        return {"left_out": "llama-cpp-python is not installed: make llama"}
    try:
        weights = ModelLibrary(weights_folder(), load_manifests(manifests_folder())).find(name).path
    except ModelError as error:
        return {"left_out": f"{error.what}; {error.next_step}"}
    figures: dict[str, Any] = {
        "model": name,
        "agent_load": _measure_agents(weights),
        "together_by_cpu_time": _measure_together(weights, 1, time.process_time),
        "together": _measure_together(weights, count_cpus(), time.perf_counter),
        "constrained": _measure_constrained(weights),
        "python": _measure_python(weights),
        "memory": measure_memory(weights, cache_bytes_per_token=_cache_bytes(weights)),
    }
    figures["bars"] = _judge(figures)
    return figures


def _measure_agents(weights: Path) -> dict[str, Any]:
    """Six conversations of four turns; sides take turns and start cold. Resetting is timed on every third."""
    ours, reuse, reset = [], [], []
    for _ in range(AGENT_ROUNDS):
        with open_engine(weights) as engine:
            tokenize = partial(_tokenize, engine)
            ours.append(hold_conversations(tokenize, partial(_answer, engine)))
            library = LibraryModel(weights)
            reuse.append(hold_conversations(tokenize, library.reuse))
            library.close()
    library = LibraryModel(weights)
    same = True
    for prompt, answer in list(zip(ours[0].prompts, ours[0].answers, strict=True))[::3]:
        started = time.process_time()
        same &= answer == tuple(library.start_afresh(prompt))
        reset.append(time.process_time() - started)
    library.close()
    seconds = {
        "ours": statistics.fmean(held.seconds for held in ours),
        "library_reuse": statistics.fmean(held.seconds for held in reuse),
        "library_reset": statistics.fmean(reset) * len(ours[0].prompts),
    }
    return {
        "cpu_s": {side: round(found, 2) for side, found in seconds.items()},
        "library_reuse_over_ours": round(seconds["library_reuse"] / seconds["ours"], 3),
        "library_reset_over_ours": round(seconds["library_reset"] / seconds["ours"], 2),
        "same_answers": same and all(held.answers == ours[0].answers for held in (*ours, *reuse)),
    }


def _tokenize(engine: LocalEngine, text: str, first: bool) -> Sequence[int]:
    return engine.tokenize(text, bos=first, special=False)


def _answer(engine: LocalEngine, prompt: Sequence[int]) -> Sequence[int]:
    return engine.generate(make_job(prompt)).tokens


def _measure_together(weights: Path, threads: int, clock: Callable[[], float]) -> dict[str, Any]:
    """Eight prompts decoded in shared steps, and one after another, with all prompts evaluated before."""
    with open_engine(weights, sequences=TOGETHER, context_tokens=1024, threads=threads) as engine:
        prompts = [
            engine.tokenize("You stand in for an API. " * (4 + 2 * place) + f"City number {place}:")
            for place in range(TOGETHER)
        ]
        jobs = [make_job(prompt, count=DECODED) for prompt in prompts]
        for prompt in prompts:
            engine.generate(make_job(prompt, count=1))
        alone, together, answers = [], [], []
        with ThreadPoolExecutor(TOGETHER) as pool:
            for _ in range(ROUNDS):
                started = clock()
                answers.append([engine.generate(job).tokens for job in jobs])
                alone.append(clock() - started)
                started = clock()
                answers.append([found.tokens for found in pool.map(engine.generate, jobs)])
                together.append(clock() - started)
        tokens = sum(map(len, answers[0]))
    return {
        "threads": threads,
        "tokens_per_s": {"alone": round(tokens / min(alone)), "together": round(tokens / min(together))},
        "times_faster": round(statistics.median(a / b for a, b in zip(alone, together, strict=True)), 3),
        "same_answers": all(found == answers[0] for found in answers),
    }


def _measure_constrained(weights: Path) -> dict[str, Any]:
    """The same prompts with and without a schema, tokens for each processor second."""
    grammars = [compile_schema(schema).gbnf for schema in SCHEMAS]
    with open_engine(weights, sequences=1) as engine:
        prompts = [
            engine.tokenize(f"A JSON answer of the weather API with error and response for {city}:\n")
            for city in ("Oslo", "Porto", "Lima")
        ]
        engine.generate(make_job(prompts[0], count=4, grammar=grammars[0]))  # reads the vocabulary, once
        ratios, rates = [], {"free": 0.0, "constrained": 0.0}
        for _ in range(ROUNDS):
            for prompt in prompts:
                found = {"free": _rate(engine, prompt, [""]), "constrained": _rate(engine, prompt, grammars)}
                ratios.append(found["constrained"] / found["free"])
                rates = {side: max(rates[side], rate) for side, rate in found.items()}
    return {
        "tokens_per_cpu_s": {side: round(rate, 1) for side, rate in rates.items()},
        "constrained_over_free": round(statistics.median(ratios), 3),
    }


def _rate(engine: LocalEngine, prompt: Sequence[int], grammars: Sequence[str]) -> float:
    """Tokens a processor second after the prompt, over all grammars."""
    engine.generate(make_job(prompt, count=1))
    tokens, started = 0, time.process_time()
    for grammar in grammars:
        tokens += len(engine.generate(make_job(prompt, count=CONSTRAINED, grammar=grammar)).tokens)
    return tokens / (time.process_time() - started)


class _TimedLibrary:
    """Passes everything on to the library and adds up the time that its work takes."""

    WORK = frozenset({"decode", "filter_candidates", "accept_token", "new_grammar", "free_grammar"})

    def __init__(self, library: Any) -> None:
        self._library = library
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        """Pass on; what computes is timed."""
        found = getattr(self._library, name)
        return partial(self._timed, found) if name in self.WORK else found

    def _timed(self, work: Callable[..., Any], *values: Any, **named: Any) -> Any:
        started = time.process_time()
        try:
            return work(*values, **named)
        finally:
            self.seconds += time.process_time() - started


def _measure_python(weights: Path) -> dict[str, Any]:
    """Milliseconds a generated token outside the library's work: batches, choices, text, scheduling."""
    with open_engine(weights, sequences=1) as engine:
        machine = engine._machine
        (context,) = machine.contexts
        timed = _TimedLibrary(context._library)
        context._library = machine.model.library = timed  # type: ignore[assignment]
        jobs = _python_jobs(engine.tokenize("The weather in Oslo as JSON: "))
        found: dict[str, list[float]] = {name: [] for name in jobs}
        for job in jobs.values():
            engine.generate(job)
        for _ in range(ROUNDS):
            for name, job in jobs.items():
                timed.seconds, started = 0.0, time.process_time()
                count = len(engine.generate(job).tokens)
                found[name].append((time.process_time() - started - timed.seconds) / count * 1e3)
    return {f"{name}_ms_per_token": round(min(values), 4) for name, values in found.items()}


def _python_jobs(prompt: Sequence[int]) -> dict[str, GenerationJob]:
    """Every way of choosing a token."""
    return {
        "greedy": make_job(prompt, count=100),
        "top_k": _sampled(prompt, temperature=0.8, top_p=0.95, top_k=40),
        "top_p": _sampled(prompt, temperature=0.8, top_p=0.95),
        "temperature": _sampled(prompt, temperature=0.8),
        "constrained": make_job(prompt, count=100, grammar=compile_schema(SCHEMAS[1]).gbnf),
    }


def _sampled(prompt: Sequence[int], **settings: Any) -> GenerationJob:
    return GenerationJob(tokens=tuple(prompt), sampling=Sampling(max_tokens=100, **settings))


def _cache_bytes(weights: Path) -> int:
    """Bytes of keys and values, two F16 numbers, for each token of a sequence."""
    gguf = read_gguf(weights)
    kind = gguf.architecture
    heads = gguf.number(f"{kind}.attention.head_count") or 1
    width = (gguf.number(f"{kind}.embedding_length") or 0) // heads
    keys = gguf.number(f"{kind}.attention.key_length") or width
    values = gguf.number(f"{kind}.attention.value_length") or width
    kept = gguf.number(f"{kind}.attention.head_count_kv") or heads
    return (gguf.number(f"{kind}.block_count") or 0) * kept * (keys + values) * 2


def _judge(figures: dict[str, Any]) -> dict[str, bool]:
    """The bars of the design and whether this run meets them."""
    load = figures["agent_load"]
    return {
        "as fast as the library's prefix reuse": load["library_reuse_over_ours"] >= 1.0,
        "5 times faster than resetting": load["library_reset_over_ours"] >= 5,
        "8 together 1.4 times one at a time": figures["together"]["times_faster"] >= 1.4,
        "constrained at least 0.85 of free": figures["constrained"]["constrained_over_free"] >= 0.85,
        "Python under 0.5 ms a token": max(figures["python"].values()) < 0.5,
        "two jobs under 1.2 of one plus a cache": figures["memory"]["two_less_a_cache_over_one"] < 1.2,
        "one set of answers": all(
            part["same_answers"] for part in (load, figures["together"], figures["together_by_cpu_time"])
        ),
    }


if __name__ == "__main__":
    json.dump(run(*sys.argv[1:2]), sys.stdout, indent=2)
    sys.stdout.write("\n")
