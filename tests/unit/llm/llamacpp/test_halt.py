"""A halted engine ends everything in flight, also what still waits for a sequence, and can be closed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from replay.core.errors import ModelError
from replay.core.types import Sampling
from replay.llm.llamacpp.jobs import EngineSettings, GenerationJob
from tests.support.tiny_gguf import write_tiny_llama
from tests.support.weights import need_binding

pytestmark = pytest.mark.model


@pytest.mark.parametrize(("sequences", "threads"), [(2, 1), (4, 2)])
def test_halting_ends_running_and_waiting_jobs(tmp_path: Path, sequences: int, threads: int) -> None:
    """Five jobs on fewer sequences, of one lane or of two: each ends long before its budget is used up."""
    need_binding()
    from replay.llm.llamacpp.engine import LocalEngine

    settings = EngineSettings(context_tokens=4096, sequences=sequences, threads=threads)
    engine = LocalEngine(write_tiny_llama(tmp_path / "tiny.gguf"), settings)
    # A grammar without an end: only the halt can stop it.
    job = GenerationJob(
        tokens=engine.tokenize("go on"), sampling=Sampling(max_tokens=4000), grammar='root ::= "a" root'
    )
    started = threading.Barrier(6)

    def run(_: int) -> str:
        started.wait()
        try:
            engine.generate(job)
        except ModelError as error:
            return str(error)
        return "finished"

    with ThreadPoolExecutor(5) as pool:
        running = [pool.submit(run, number) for number in range(5)]
        started.wait()
        threading.Event().wait(0.3)  # some of them are under way by then, others wait
        engine.halt()
        said = {future.result(timeout=60) for future in running}
    engine.close()
    assert {"the local model was stopped; expected a run that goes on"} == said
