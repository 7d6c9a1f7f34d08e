"""Answers of a running model in the shapes of real APIs: grammars hold from the first token to the last."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from replay.benchmarks.stabletoolbench.shapes import answer_schema
from replay.core.types import Json, Sampling
from replay.llm.grammar.bounds import Bounds
from replay.llm.grammar.schema import CompiledSchema, check_output, compile_schema
from tests.support.simulations import simulate_apis
from tests.support.tiny_gguf import write_tiny_llama
from tests.support.weights import WEIGHTS, need_binding, need_model

pytestmark = [pytest.mark.model, pytest.mark.slow]

SIMULATIONS = 200
SMALL = Bounds(string_chars=8, array_items=2, extra_members=2, free_depth=1)
"""A random model seldom ends a text by itself."""


def read_shapes(shared_data: Path) -> list[Json]:
    """Every response shape of the query files, spread evenly over them."""
    folder = shared_data / "stabletoolbench" / "solvable_queries" / "test_instruction"
    queries = [query for path in sorted(folder.glob("*.json")) for query in json.loads(path.read_text())]
    shapes = [
        entry["template_response"]
        for query in queries
        for entry in query["api_list"]
        if "template_response" in entry
    ]
    return [shapes[place * len(shapes) // SIMULATIONS] for place in range(SIMULATIONS)]


def test_every_simulation_is_valid(shared_data: Path, tmp_path: Path) -> None:
    """Eight at a time, sampled from a model that knows nothing: each text ends, and fits its schema."""
    need_binding()
    from replay.llm.llamacpp.engine import EngineSettings, GenerationJob, LocalEngine

    compiled = [compile_schema(answer_schema(shape), bounds=SMALL) for shape in read_shapes(shared_data)]
    settings = EngineSettings(context_tokens=8192, sequences=8, threads=1)
    with LocalEngine(write_tiny_llama(tmp_path / "tiny.gguf"), settings) as engine:
        prompt = engine.tokenize("the answer: ")
        sampling = Sampling(temperature=0.8, max_tokens=8000)

        def simulate(numbered: tuple[int, CompiledSchema]) -> tuple[str, bool]:
            seed, schema = numbered
            job = GenerationJob(tokens=prompt, sampling=sampling, seed=seed, grammar=schema.gbnf)
            found = engine.generate(job)
            value = check_output(schema, found.text)
            return found.finish, value.keys() == {"error", "response"}

        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(simulate, enumerate(compiled, 1)))
    assert [("stop", True)] * SIMULATIONS == answers


def test_the_default_model_stands_in_for_real_apis(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a run asks it, with a small budget: an answer fits its shape, or there is a typed failure."""
    need_binding()
    need_model("smollm2-135m")
    monkeypatch.setenv("REPLAY_MODELS", str(WEIGHTS))
    found = simulate_apis(shared_data / "stabletoolbench", tmp_path, count=6, max_tokens=96)
    assert (0, 6) == (found.unconstrained, found.valid + sum(found.failures.values()))
    assert {"truncated"} >= found.failures.keys()
    assert found.valid > 0
