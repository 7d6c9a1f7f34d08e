"""A local model: what it makes of a request, typed finishes, costs, and sharing one engine."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from replay.core.costs import CostMeter
from replay.core.errors import GrammarError, HistoryError, ModelError
from replay.core.logprobs import RankedToken, read_logprobs
from replay.core.types import (
    ChatRequest,
    Completion,
    Json,
    Message,
    Provenance,
    Role,
    Sampling,
    ToolCall,
    ToolSpec,
)
from replay.llm.llamacpp.jobs import Generation, GenerationJob, Listener
from replay.llm.local import LocalModel, LocalWeights, Voice
from tests.support.models import make_identity

SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
TOOL = ToolSpec(name="now", parameters={"type": "object", "properties": {}})


class StubEngine:
    """Generates one fixed text for every job and keeps the jobs."""

    def __init__(self, text: str = "hello", finish: str = "stop") -> None:
        self.jobs: list[GenerationJob] = []
        self.is_closed = False
        self.is_halted = False
        self._text = text
        self._finish = finish

    def tokenize(self, text: str, *, special: bool = True, bos: bool | None = None) -> tuple[int, ...]:
        """One token a character."""
        return tuple(map(ord, text))

    def generate(self, job: GenerationJob, listener: Listener | None = None) -> Generation:
        """Say it."""
        self.jobs.append(job)
        data = self._text.encode()
        for end in range(1, len(data) if listener is not None else 0):
            assert listener is not None
            listener(data[:end], ())
        ranked = tuple(RankedToken(piece=bytes([byte]), logprob=-0.5) for byte in data)
        return Generation(
            ranked=() if job.top_logprobs is None else ranked,
            tokens=tuple(map(ord, self._text)),
            text=self._text,
            finish=self._finish,
            margins=tuple(0.5 if number else 0.0002 for number, _ in enumerate(self._text)),
            prompt_tokens=len(job.tokens),
            reused_tokens=2,
            logits_digest="sha256:11" if job.logits_digest else "",
        )

    def halt(self) -> None:
        """Remember it."""
        self.is_halted = True

    def close(self) -> None:
        """Remember it."""
        self.is_closed = True


class StubDialect:
    """Renders the last message; every text of the form `name()` is a call."""

    name = "stub"
    stop: tuple[str, ...] = ("<end>",)

    def __init__(self, fails: Exception | None = None) -> None:
        self._fails = fails

    def render(self, request: ChatRequest) -> str:
        """Render, or fail as built."""
        if isinstance(self._fails, (HistoryError, ModelError)):
            raise self._fails
        return request.messages[-1].content or ""

    def grammar_for(self, request: ChatRequest) -> str:
        """A grammar where a call is demanded."""
        if isinstance(self._fails, GrammarError):
            raise self._fails
        return 'root ::= "now()"' if request.tool_choice == "required" else ""

    def parse(self, text: str) -> tuple[str | None, tuple[ToolCall, ...]]:
        """Split."""
        names = [word[:-2] for word in text.split() if word.endswith("()")]
        return (None if names else text), tuple(ToolCall(id="call_0", name=n, arguments="{}") for n in names)

    def settle(self, text: str) -> str:
        """Whole words before one that may be a call."""
        return text.partition("(")[0].rpartition(" ")[0]


def make_model(
    engine: StubEngine | None = None, dialect: StubDialect | None = None, **changes: Json
) -> LocalModel:
    """Build a model over stubs."""
    weights = LocalWeights(lambda: Voice(engine or StubEngine(), dialect or StubDialect()))
    return LocalModel(make_identity(), weights, **changes)


def make_request(role: Role = Role.CANDIDATE, **changes: Json) -> ChatRequest:
    """Build a request, to the candidate if to nobody else."""
    fields: dict[str, Json] = {"messages": (Message(role="user", content="hi"),), "tools": (TOOL,)}
    return ChatRequest(role=role, **{**fields, **changes})


def complete(model: LocalModel, seed: int = 7, role: Role = Role.CANDIDATE, **changes: Json) -> Completion:
    """Ask once."""
    return model.complete(make_request(role, **changes), seed=seed, trial=0)


def test_the_job_is_made_of_the_request() -> None:
    """Rendered prompt, sampling, seed, and the stop texts of the dialect."""
    engine = StubEngine()
    sampling = Sampling(temperature=0.8, max_tokens=5, stop=("x",))
    complete(make_model(engine), sampling=sampling)
    (job,) = engine.jobs
    assert (tuple(map(ord, "hi")), sampling, 7, ("<end>",), "") == (
        job.tokens,
        job.sampling,
        job.seed,
        job.stop,
        job.grammar,
    )


def test_a_text_is_generated_with_its_margins() -> None:
    """Provenance generated; smallest margin and decisions at risk in the detail, reuse of prefixes not."""
    completion = complete(make_model())
    assert ("hello", "stop", Provenance.GENERATED, 2, 5) == (
        completion.content,
        completion.finish,
        completion.provenance,
        completion.prompt_tokens,
        completion.completion_tokens,
    )
    assert {"min_margin": 0.0002, "at_risk": 1} == completion.detail


def test_token_ids_come_on_request() -> None:
    """With the digest of all logits."""
    detail = complete(make_model(keep_tokens=True)).detail
    assert ([104, 101, 108, 108, 111], "sha256:11") == (detail["token_ids"], detail["logits_digest"])


def test_calls_get_ids_of_their_own() -> None:
    """Derived from seed and place: models write none, or the same one each time."""
    completion = complete(make_model(StubEngine("now() now()")))
    assert "tool_calls" == completion.finish
    first, second = completion.tool_calls
    assert first.id != second.id
    assert first.id == complete(make_model(StubEngine("now()"))).tool_calls[0].id
    assert first.id != complete(make_model(StubEngine("now()")), seed=8).tool_calls[0].id


def test_a_schema_constrains_and_is_checked() -> None:
    """The grammar goes to the engine; what fits is a complete answer, words and calls are not looked for."""
    engine = StubEngine('{"ok":true}')
    completion = complete(make_model(engine), response_schema=SCHEMA)
    assert engine.jobs[0].grammar.startswith("root ::=")
    assert ('{"ok":true}', "stop", ()) == (completion.content, completion.finish, completion.tool_calls)


def test_a_demanded_call_constrains_by_the_dialect() -> None:
    """Where there is no response schema the dialect says what a reply must look like."""
    engine = StubEngine("now()")
    complete(make_model(engine), tool_choice="required")
    assert 'root ::= "now()"' == engine.jobs[0].grammar


@pytest.mark.parametrize(
    ("make", "changes", "error"),
    [
        (lambda: make_model(StubEngine("cut", "overflow")), {}, "overflow"),
        (lambda: make_model(StubEngine("not json")), {"response_schema": SCHEMA}, "invalid"),
        (lambda: make_model(StubEngine('{"ok": 1}')), {"response_schema": SCHEMA}, "invalid"),
        (make_model, {"response_schema": {"type": "odd"}}, "grammar"),
        (lambda: make_model(dialect=StubDialect(GrammarError("no tool"))), {}, "grammar"),
        (lambda: make_model(dialect=StubDialect(HistoryError("orphan"))), {}, "history"),
        (lambda: make_model(dialect=StubDialect(ModelError("template raised"))), {}, "history"),
    ],
)
def test_what_is_no_answer_says_why(
    make: Callable[[], LocalModel], changes: dict[str, Json], error: str
) -> None:
    """A finish of its own with the reason in one word, never an answer and never an end of the run."""
    completion = complete(make(), **changes)
    assert ("error", error, Provenance.GENERATED) == (
        completion.finish,
        completion.detail["error"],
        completion.provenance,
    )
    assert completion.detail["message"]


@pytest.mark.parametrize("changes", [{"response_schema": {"type": "odd"}}])
def test_a_broken_schema_is_found_before_the_model_is_asked(changes: dict[str, Json]) -> None:
    """Nothing unconstrained is generated."""
    engine = StubEngine()
    complete(make_model(engine), **changes)
    assert [] == engine.jobs


def test_a_truncated_text_is_truncated() -> None:
    """With a schema or without; calls that were whole stay readable."""
    assert "length" == complete(make_model(StubEngine("{", "length")), response_schema=SCHEMA).finish
    cut = complete(make_model(StubEngine("now()", "length")))
    assert ("length", 1) == (cut.finish, len(cut.tool_calls))


def test_costs_are_counted_by_role() -> None:
    """Reused tokens and seconds go to the meter and nowhere else."""
    meter = CostMeter()
    model = make_model(meter=meter)
    complete(model)
    model.complete(make_request(), seed=1, trial=0)
    model.complete(ChatRequest(role=Role.JUDGE, messages=make_request().messages), seed=1, trial=0)
    costs = meter.read()
    assert ["candidate", "judge"] == list(costs)
    assert (2, 4, 4, 10) == (
        costs["candidate"].requests,
        costs["candidate"].prompt_tokens,
        costs["candidate"].reused_tokens,
        costs["candidate"].generated_tokens,
    )


def test_a_model_is_its_own_factory() -> None:
    """Nothing of an episode stays in it."""
    model = make_model()
    assert model is model.for_episode("t1", trial=0)


# ---- one loaded model a process --------------------------------------------------------------------------


def test_weights_are_loaded_once_and_when_they_are_asked() -> None:
    """Roles and threads share them."""
    loaded: list[StubEngine] = []
    lock = threading.Lock()

    def load() -> Voice:
        with lock:
            loaded.append(StubEngine())
        return Voice(loaded[-1], StubDialect())

    weights = LocalWeights(load)
    models = [LocalModel(make_identity(), weights) for _ in range(3)]
    assert [] == loaded
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: complete(models[number % 3]), range(24)))
    assert [24] == [len(engine.jobs) for engine in loaded]


def test_a_halted_model_refuses_and_a_closed_one_is_freed() -> None:
    """What is in flight is ended by the engine; nothing new begins."""
    engine = StubEngine()
    weights = LocalWeights(lambda: Voice(engine, StubDialect()))
    model = LocalModel(make_identity(), weights)
    complete(model)
    weights.halt()
    with pytest.raises(ModelError, match="was stopped"):
        complete(model)
    assert (engine.is_halted, engine.is_closed) == (True, False)
    weights.close()
    weights.close()
    assert engine.is_closed


def test_schemas_are_compiled_once() -> None:
    """A tool's shape is asked for with every call."""
    weights = LocalWeights(lambda: Voice(StubEngine(), StubDialect()))
    assert weights.compile(SCHEMA) is weights.compile(dict(SCHEMA))
    for number in range(300):
        weights.compile({"type": "string", "maxLength": number + 1})
    assert weights.compile(SCHEMA) == weights.compile(SCHEMA)


def test_log_probabilities_come_on_request() -> None:
    """Asked for they are in the detail, with how many alternatives; else nothing is."""
    found = read_logprobs(complete(make_model(), top_logprobs=0).detail)
    assert found is not None
    assert (0, b"hello") == (found.top, b"".join(token.piece for token in found.tokens))
    assert read_logprobs(complete(make_model()).detail) is None


def test_a_listener_hears_words_that_stay() -> None:
    """Characters whole, and nothing of what may become a call; the answer is the same."""
    heard: list[str] = []
    model = make_model(StubEngine("one d\u00e9j\u00e0 now()"))
    told = model.complete(make_request(), seed=7, trial=0, listener=lambda text, _: heard.append(text))
    assert told == complete(model)
    assert ["", "one", "one d\u00e9j\u00e0"] == list(dict.fromkeys(heard))


def test_a_listener_hears_a_constrained_text_as_it_is() -> None:
    """What is held to a schema is no call, whatever it looks like."""
    heard: list[str] = []
    model = make_model(StubEngine('{"ok": true}'))
    request = make_request(response_schema=SCHEMA)
    model.complete(request, seed=7, trial=0, listener=lambda text, _: heard.append(text))
    assert ['{"ok": true}'[:end] for end in range(1, 12)] == heard


class RamblingEngine(StubEngine):
    """Is cut off under the first grammar, and answers under any other one."""

    def generate(self, job: GenerationJob, listener: Listener | None = None) -> Generation:
        """Say it, or too much."""
        said = super().generate(job, listener)
        if job.grammar == self.jobs[0].grammar:
            return msgspec.structs.replace(said, text='{"error": "The API', finish="length")
        return said


_TEXT: Json = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}


def test_a_cut_simulation_begins_again_within_bounds() -> None:
    """The answer ends in time, says that it was bounded, and both attempts are counted."""
    engine, meter = RamblingEngine('{"error":"short"}'), CostMeter()
    model = make_model(engine, meter=meter)
    answer = complete(model, role=Role.SIMULATOR, response_schema=_TEXT)
    assert ("stop", '{"error":"short"}', True) == (answer.finish, answer.content, answer.detail["bounded"])
    first, second = engine.jobs
    assert second == msgspec.structs.replace(first, grammar=second.grammar)
    assert 2 == meter.read()["simulator"].requests


@pytest.mark.parametrize("role", [Role.JUDGE, Role.CANDIDATE])
def test_a_cut_answer_of_anyone_else_stays_cut(role: Role) -> None:
    """Whoever is evaluated or judges is not helped."""
    engine = RamblingEngine('{"error":"short"}')
    assert "length" == complete(make_model(engine), role=role, response_schema=_TEXT).finish
    assert 1 == len(engine.jobs)


def test_a_simulation_that_ends_by_itself_is_left_alone() -> None:
    """No bounds but the usual ones."""
    engine = StubEngine('{"error":"short"}')
    answer = complete(make_model(engine), role=Role.SIMULATOR, response_schema=_TEXT)
    assert "bounded" not in answer.detail
    assert 1 == len(engine.jobs)
