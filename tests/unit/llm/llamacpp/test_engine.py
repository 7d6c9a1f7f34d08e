"""The engine's promise: an answer is a function of weights and job, never of what ran before or beside it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from replay.core.errors import GrammarError, InputError, ModelError
from replay.core.types import Sampling
from replay.llm.llamacpp.engine import EngineSettings, GenerationJob, LocalEngine
from replay.llm.llamacpp.schedule import CANONICAL, INVARIANT
from tests.support.engine_load import answer_afresh, answer_shuffled, essence, make_jobs
from tests.support.tiny_gguf import write_tiny_llama, write_tiny_mamba, write_tiny_sliding
from tests.support.weights import need_binding, need_model

pytestmark = pytest.mark.model

WRITERS: dict[str, Callable[[Path], Path]] = {
    "llama": write_tiny_llama,
    "sliding": write_tiny_sliding,
    "mamba": write_tiny_mamba,
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model of Q4_K weights, whose kernels have the most switches."""
    need_binding()
    return write_tiny_llama(tmp_path_factory.mktemp("tiny") / "tiny.gguf", "Q4_K")


def open_tiny(weights: Path, **changes: Any) -> LocalEngine:
    """An engine on one thread."""
    settings = {"context_tokens": 256, "sequences": 1, "threads": 1, **changes}
    return LocalEngine(weights, EngineSettings(**settings))


def job_of(engine: LocalEngine, text: str = "the rain in the land. " * 6, **changes: Any) -> GenerationJob:
    """A greedy job with a digest of its logits."""
    fields = {"sampling": Sampling(max_tokens=12), "logits_digest": True, **changes}
    return GenerationJob(tokens=engine.tokenize(text), **fields)


def test_any_size_of_calls_gives_the_same_logits(tiny: Path) -> None:
    """Prompts cut into pieces of 1 to 17 tokens."""
    found = set()
    for size in (*range(1, 18), 512):
        with open_tiny(tiny, batch_tokens=size) as engine:
            found.add(essence(engine.generate(job_of(engine))))
    assert 1 == len(found)


@pytest.mark.parametrize(
    "changes",
    [{"threads": 2}, {"context_tokens": 1024}, {"sequences": 8}, {"sequences": 2, "batch_tokens": 3}],
)
def test_other_settings_give_the_same_logits(tiny: Path, changes: dict[str, int]) -> None:
    """Threads, context, sequences, calls."""
    with open_tiny(tiny) as one, open_tiny(tiny, **changes) as other:
        assert essence(one.generate(job_of(one))) == essence(other.generate(job_of(other)))


def test_threads_may_change_in_the_middle(tiny: Path) -> None:
    """As they do while other programs use the processors: every row of logits stays what it was."""
    from replay.llm.llamacpp.model import Model
    from replay.llm.llamacpp.probing import evaluate, hash_row, opened

    model = Model(tiny)
    tokens = model.tokenize("the rain in the land. " * 4)
    found = []
    for plan in ((1, 1, 1, 1), (2, 1, 2, 1), (1, 3, 2, 2)):
        with opened(model, threads=plan[0]) as context:
            rows = []
            for place, threads in enumerate(plan):
                model.library.set_threads(context._handle, threads)
                rows.append(hash_row(evaluate(context, tokens, position=place * len(tokens))))
            found.append(rows)
    model.close()
    assert found[0] == found[1] == found[2]


def test_a_next_turn_is_the_same_warm_and_cold(tiny: Path) -> None:
    """With everything before it reused, generated tokens included."""
    with open_tiny(tiny) as warm, open_tiny(tiny) as cold:
        first = warm.generate(job_of(warm))
        history = (*job_of(warm).tokens, *first.tokens)
        turn = GenerationJob(
            tokens=(*history, *warm.tokenize(" and then?", bos=False)),
            sampling=Sampling(max_tokens=12),
            logits_digest=True,
        )
        found = warm.generate(turn)
        # The last token was chosen and never evaluated.
        assert (len(history) - 1, 0) == (found.reused_tokens, first.reused_tokens)
        assert essence(cold.generate(turn)) == essence(found)


@pytest.mark.parametrize(("schedule", "threads"), [(INVARIANT, 1), (INVARIANT, 2), (CANONICAL, 1)])
def test_requests_in_any_order_and_company_get_their_own_answers(
    tiny: Path, schedule: str, threads: int
) -> None:
    """A few, against engines that have seen nothing; with two threads in two lanes."""
    with open_tiny(tiny) as engine:
        jobs = make_jobs(engine, 8)
    alone = []
    for job in jobs:
        settings = EngineSettings(context_tokens=1024, sequences=1, threads=1)
        with LocalEngine(tiny, settings, schedule=schedule) as engine:
            alone.append({essence(engine.generate(job))})
    found = answer_shuffled(tiny, jobs, 30, schedule=schedule, threads=threads)
    assert alone == [found[place] for place in range(len(jobs))]


@pytest.mark.slow
@pytest.mark.parametrize(("schedule", "threads"), [(INVARIANT, 1), (INVARIANT, 2), (CANONICAL, 1)])
@pytest.mark.parametrize("kind", WRITERS)
def test_two_hundred_requests_equal_those_of_fresh_processes(
    tmp_path: Path, kind: str, schedule: str, threads: int
) -> None:
    """Random order, eight at once and one by one, greedy, sampled and constrained."""
    need_binding()
    weights = WRITERS[kind](tmp_path / "tiny.gguf")
    with open_tiny(weights) as engine:
        jobs = make_jobs(engine, 12)
    found = answer_shuffled(weights, jobs, 200, schedule=schedule, threads=threads)
    assert [{answer} for answer in answer_afresh(weights, jobs, schedule=schedule)] == list(found.values())


@pytest.mark.slow
@pytest.mark.parametrize(("name", "requests"), [("smollm2-135m", 30), ("gemma3-270m", 40)])
def test_requests_to_real_models_equal_those_of_fresh_processes(name: str, requests: int) -> None:
    """The same with real weights, fewer of them; the second model looks through a sliding window."""
    need_binding()
    weights = need_model(name).path
    with open_tiny(weights) as engine:
        jobs = make_jobs(engine, 6)
    found = answer_shuffled(weights, jobs, requests, sequences=4)
    assert [{answer} for answer in answer_afresh(weights, jobs)] == list(found.values())


def test_a_prompt_that_fills_the_context_is_an_overflow(tiny: Path) -> None:
    """Nothing is evaluated, nothing shifted; one that fits overflows when the context is full."""
    with open_tiny(tiny, context_tokens=256) as engine:
        tokens = engine.tokenize("to the land " * 200)
        full = engine.generate(GenerationJob(tokens=tokens[:256]))
        assert ("overflow", (), 256) == (full.finish, full.tokens, full.prompt_tokens)
        grows = GenerationJob(
            tokens=tokens[:250], sampling=Sampling(max_tokens=50), grammar='root ::= "a" root'
        )
        found = engine.generate(grows)
        assert ("overflow", 6) == (found.finish, len(found.tokens))


def test_a_used_up_budget_is_no_complete_answer(tiny: Path) -> None:
    """Length, not stop; a stop string within the budget is a stop."""
    with open_tiny(tiny) as engine:
        endless = job_of(engine, grammar='root ::= "ab" root')
        assert ("length", "ab" * 6) == (engine.generate(endless).finish, engine.generate(endless).text)
        stopped = engine.generate(job_of(engine, grammar='root ::= "ab" root', stop=("ba",)))
        assert ("stop", "a") == (stopped.finish, stopped.text)


def test_a_job_out_of_range_is_refused_before_the_library_sees_it(tiny: Path) -> None:
    """Tokens, budget and grammar."""
    with open_tiny(tiny) as engine:
        with pytest.raises(InputError, match=r"token 99999 at position 1"):
            engine.generate(GenerationJob(tokens=(1, 99_999)))
        with pytest.raises(InputError, match="without a prompt"):
            engine.generate(GenerationJob(tokens=()))
        with pytest.raises(GrammarError, match="cannot be compiled"):
            engine.generate(job_of(engine, grammar="root ::= nothing"))
        assert "length" == engine.generate(job_of(engine, sampling=Sampling(max_tokens=1))).finish


def test_a_grammar_that_ends_in_nothing_fails_its_own_job_only(tiny: Path) -> None:
    """A job beside it gets its answer."""
    with open_tiny(tiny, sequences=2) as engine:
        answers: list[str] = []
        job = job_of(engine, sampling=Sampling(max_tokens=40))
        beside = threading.Thread(target=lambda: answers.append(engine.generate(job).finish))
        beside.start()
        # The two bytes are no character: after the first nothing is left.
        with pytest.raises(GrammarError, match="allows no token here"):
            engine.generate(job_of(engine, grammar='root ::= "a" [\\U0010FFFF-\\U0010FFFE]'))
        beside.join()
        assert answers


@pytest.mark.parametrize("name", ["context_tokens", "sequences", "threads", "batch_tokens"])
def test_settings_out_of_range_name_the_field(tiny: Path, name: str) -> None:
    """Before anything is loaded."""
    with pytest.raises(InputError, match=f"engine setting {name} = 0; expected a number from"):
        open_tiny(tiny, **{name: 0})


def test_a_closed_engine_can_be_closed_again(tiny: Path) -> None:
    """Its memory is freed once."""
    engine = open_tiny(tiny)
    engine.close()
    engine.close()


def test_a_file_that_is_no_model_leaves_nothing_behind(tmp_path: Path) -> None:
    """The library's own reason, one line."""
    need_binding()
    (tmp_path / "no.gguf").write_bytes(b"GGUF\3\0\0\0" + bytes(40))
    with pytest.raises(ModelError, match=r"no\.gguf cannot be loaded: "):
        open_tiny(tmp_path / "no.gguf")
