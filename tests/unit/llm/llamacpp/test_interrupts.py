"""An interrupt hits one request; the others go on under another leader, and the engine can be closed."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from replay.core.types import Sampling
from replay.llm.llamacpp.jobs import EngineSettings, GenerationJob
from replay.llm.llamacpp.scheduler import Scheduler
from tests.support.tiny_gguf import write_tiny_llama
from tests.support.weights import need_binding

pytestmark = pytest.mark.model

LEADING = (
    Scheduler._join,
    Scheduler._step,
    Scheduler._admit,
    Scheduler._advance,
    Scheduler._drop_done,
    Scheduler._leave,
)


def places() -> Iterator[tuple[str, int]]:
    """Every line at which a thread becomes the leader, leads, or hands the lead on."""
    for method in LEADING:
        lines, first = inspect.getsourcelines(method)
        yield from ((method.__name__, number) for number in range(first + 1, first + len(lines)))


def interrupted(work: Callable[[], object], place: tuple[str, int]) -> bool:
    """Do some work, interrupted when it comes to a line for the first time; whether it came there."""
    is_hit = False

    def look(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal is_hit
        code = frame.f_code
        is_there = code.co_filename == inspect.getsourcefile(Scheduler) and event == "line"
        if is_there and not is_hit and place == (code.co_name, frame.f_lineno):
            is_hit = True
            raise KeyboardInterrupt
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        work()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return is_hit


def test_an_interrupt_anywhere_leaves_nobody_waiting(tmp_path: Path) -> None:
    """Whoever was beside the interrupted request gets the answer it would have got alone."""
    need_binding()
    from replay.llm.llamacpp.engine import LocalEngine

    settings = EngineSettings(context_tokens=256, sequences=2, threads=1)
    with LocalEngine(write_tiny_llama(tmp_path / "tiny.gguf"), settings) as engine:
        prompt = engine.tokenize("go on")
        short = GenerationJob(tokens=prompt, sampling=Sampling(max_tokens=3), grammar='root ::= "a" root')
        long = GenerationJob(tokens=prompt, sampling=Sampling(max_tokens=12), grammar='root ::= "b" root')
        alone = engine.generate(long).text
        hits = 0
        with ThreadPoolExecutor(2) as pool:
            for place in places():
                started = threading.Barrier(3)

                def beside(started: threading.Barrier = started) -> str:
                    started.wait()
                    return engine.generate(long).text

                others = [pool.submit(beside) for _ in range(2)]
                started.wait()
                hits += interrupted(lambda: engine.generate(short), place)
                assert [alone, alone] == [other.result(timeout=20) for other in others], place
        assert hits > len(LEADING)
