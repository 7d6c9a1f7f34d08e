"""Simulated answers of real APIs: the simulator as a run asks it, over the APIs of the published queries.

    python -m tests.support.simulations QUERIES [--model NAME] [--count N] [--max-tokens N] [--threads N]

QUERIES is a checkout of StableToolBench or its data folders. The APIs with a recorded shape are taken, each
shape once, spread evenly over the count; their calls carry the published example values. Prints one JSON
document.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import msgspec

from replay.core.canonical import parse_json
from replay.core.costs import CostMeter
from replay.core.protocols import ChatModel
from replay.core.types import CallRequest, ChatRequest, Completion, Json, ToolSpec
from replay.llm.grammar.schema import check_output, compile_schema
from replay.llm.local import LocalModel, LocalWeights
from replay.store.answers import ApiAnswer
from replay.store.archive.reader import ArchiveReader
from replay.store.snapshots import SnapshotStore
from replay.tools.examples import ExampleBook
from replay.tools.simulated import SimulationFailure
from replay.tools.simulator import SIMULATOR_SAMPLING, ModelSimulator
from replay.wiring.engines import find_model, open_voice
from replay.wiring.forms import api_form
from replay.wiring.roles import ModelWish
from tests.support.commands import run_command

__all__ = ["Outcomes", "simulate_apis"]

BENCHMARK: Final = "stabletoolbench"
TOGETHER: Final = 8


class Outcomes(NamedTuple):
    """What came of a row of simulated calls."""

    valid: int
    """Answers that fit the schema of their API, checked once more by their own shape."""
    bounded: int
    """Of these, answers that ran on at first."""
    failures: dict[str, int]
    """Typed failures by reason."""
    unconstrained: int
    """Answers that do not fit: there must be none."""
    generated_tokens: int
    processor_seconds: float


class Bounded:
    """A chat model with another token budget, which remembers who was bounded."""

    def __init__(self, model: ChatModel, max_tokens: int) -> None:
        self.identity = model.identity
        self.bounded = 0
        self._model = model
        self._max_tokens = max_tokens

    def for_episode(self, task: str, *, trial: int) -> Bounded:
        """No state of an episode."""
        return self

    def complete(self, request: ChatRequest, *, seed: int, trial: int) -> Completion:
        """Ask with the budget."""
        sampling = msgspec.structs.replace(request.sampling, max_tokens=self._max_tokens)
        asked = msgspec.structs.replace(request, sampling=sampling)
        answer = self._model.complete(asked, seed=seed, trial=trial)
        detail = answer.detail
        self.bounded += isinstance(detail, dict) and "bounded" in detail and answer.finish == "stop"
        return answer


def read_specs(data: Path, work: Path) -> list[ToolSpec]:
    """Import the queries and read every API with a recorded shape, each shape once."""
    archive = work / "real.replay"
    if not archive.exists():
        done = run_command("import", BENCHMARK, data, "-o", archive)
        assert 0 == done.code, done.err
    with ArchiveReader(archive) as reader:
        rows = [msgspec.convert(parse_json(row), ToolSpec) for _, row in reader.rows("tools")]
    return list({json.dumps(spec.response_shape): spec for spec in rows if spec.response_shape}.values())


def choose_calls(specs: Sequence[ToolSpec], count: int) -> Iterator[CallRequest]:
    """One call of so many APIs, spread evenly, with the values that their documentation gives."""
    for place in range(count):
        spec = specs[place * len(specs) // count]
        parameters = spec.parameters if isinstance(spec.parameters, dict) else {}
        arguments = {
            name: _example(parameters["properties"][name]) for name in parameters.get("required", ())
        }
        yield CallRequest(benchmark=BENCHMARK, tool=spec.identity, arguments=arguments, spec=spec)


def simulate_all(calls: Sequence[CallRequest], model: ChatModel, work: Path) -> Outcomes:
    """Simulate every call, several at a time, without recorded examples."""
    with SnapshotStore.create(work / "examples") as empty:
        simulator = ModelSimulator(model, api_form(BENCHMARK), ExampleBook(empty))
        with ThreadPoolExecutor(TOGETHER) as threads:
            found = list(threads.map(lambda call: simulator.simulate(call, occurrence=0), calls))
    failures = Counter(answer.reason for answer in found if isinstance(answer, SimulationFailure))
    answers = [(call, answer) for call, answer in zip(calls, found, strict=True) if _is_answer(answer)]
    valid = sum(_fits(call, answer.body) for call, answer in answers if isinstance(answer, ApiAnswer))
    return Outcomes(valid, 0, dict(sorted(failures.items())), len(answers) - valid, 0, 0.0)


def simulate_apis(
    queries: Path, work: Path, *, count: int, max_tokens: int, model: str = "smollm2-135m", threads: int = 1
) -> Outcomes:
    """Simulate calls of published APIs with a model of the weights folder."""
    plan = find_model(model, ModelWish(threads=threads))
    meter, weights = CostMeter(), LocalWeights(lambda: open_voice(plan))
    bounded = Bounded(LocalModel(plan.identity, weights, meter=meter), max_tokens)
    started = time.process_time()
    try:
        found = simulate_all(list(choose_calls(read_specs(queries, work), count)), bounded, work)
    finally:
        weights.close()
    return found._replace(
        bounded=bounded.bounded,
        generated_tokens=meter.read()["simulator"].generated_tokens,
        processor_seconds=round(time.process_time() - started, 1),
    )


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.simulations")
    parser.add_argument("queries", type=Path)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--max-tokens", type=int, default=SIMULATOR_SAMPLING.max_tokens)
    parser.add_argument("--threads", type=int, default=1)
    options = vars(parser.parse_args(arguments))
    with TemporaryDirectory() as name:
        found = simulate_apis(options.pop("queries"), Path(name), **options)
    sys.stdout.write(json.dumps({"calls": options["count"], **found._asdict()}, indent=2) + "\n")
    return 0


def _example(parameter: Json) -> Json:
    """The value that the documentation gives."""
    assert isinstance(parameter, dict)
    return parameter.get("example_value", parameter.get("example", parameter.get("default", "x")))


def _is_answer(answer: object) -> bool:
    return isinstance(answer, ApiAnswer)


def _fits(call: CallRequest, text: str) -> bool:
    schema = api_form(BENCHMARK).schema(call.spec or ToolSpec(name=""))
    value = check_output(compile_schema(schema), text)
    return isinstance(value, dict) and ["error", "response"] == list(value)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
