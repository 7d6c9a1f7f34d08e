"""An episode from task to outcome: candidates as frozen, rounds as the mode says, one record at the end."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from replay.benchmarks.codexomics.naming import tool_key
from replay.benchmarks.codexomics.playing.choices import Choices, read_choices
from replay.benchmarks.codexomics.playing.guidance import GUIDANCE
from replay.benchmarks.codexomics.playing.modes import DEFAULT_TIMEOUT_S
from replay.benchmarks.codexomics.playing.rounds import Rounds
from replay.benchmarks.codexomics.playing.synthetic import GENERATOR, SyntheticWorld
from replay.benchmarks.codexomics.records import read_oracle
from replay.benchmarks.codexomics.tasks import TaskData, read_task
from replay.benchmarks.codexomics.world.biopython import open_biology
from replay.benchmarks.codexomics.world.coverage import HANDLERS
from replay.benchmarks.codexomics.world.genome import load_genome
from replay.benchmarks.codexomics.world.session import Session
from replay.core.asks import EpisodeEnd, EpisodePlay, read_state
from replay.core.errors import InputError
from replay.core.prompts import Prompt, parse_prompt
from replay.core.protocols import EpisodeContext, World
from replay.core.types import CallRequest, Json, Task, ToolResult, ToolSpec

__all__ = ["make_world", "play", "scope_of"]

PROMPT: Final = "rounds-1.txt"


def play(task: Task, tools: tuple[ToolSpec, ...], context: EpisodeContext) -> EpisodePlay:
    """Run the rounds of one task.

    Shape:   outcome {"record", "scope", "state"}: the record in upstream's form, what it may be pooled
             with, and the digest of the session at its end where there is one.
    Stops:   finished, gave-up (no call at all), step-limit, refused.
    """
    data = read_task(task)
    choices = read_choices(context.settings)
    shown = _candidates(data, tools, choices)
    rounds = Rounds(data, shown, choices, _load_prompt())
    yield from rounds.run()
    state = ""
    if choices.results_for(data.genome) in ("world", "world-then-synthetic"):
        state = (yield from read_state("session")).digest
    record = _record(data, rounds, shown, choices)
    return EpisodeEnd(
        stop=rounds.stop, outcome={"record": record, "scope": scope_of(data, choices), "state": state}
    )


def scope_of(data: TaskData, choices: Choices) -> dict[str, Json]:
    """What a figure made of this record may be pooled with."""
    return {
        "mode": choices.mode.name,
        "registry": data.registry,
        "suites": data.suites,
        "results": _results_label(data, choices),
        "expected_tools": "always-present" if choices.always_present else "as-retrieved",
    }


def make_world(task: Task, context: EpisodeContext) -> World | None:
    """Make who answers the calls of one episode: a session, the generator, both, or nobody (recorded).

    Errors:  InputError when a session is asked for and the suite's fixture names no genome of ours.
    """
    data, choices = read_task(task), read_choices(context.settings)
    results = choices.results_for(data.genome)
    if results == "recorded":
        return None
    if results == "synthetic":
        return SyntheticWorld()
    if not data.genome:
        raise InputError(
            f"results={results} without a genome",
            where=f"task {task.id}",
            expected="a suite whose fixture names a genome that ships with the product",
            next_step="--option results=synthetic, or recorded results: --option results=recorded",
        )
    names = tuple(sorted(data.schemas))
    biology = open_biology(choices.biology)
    session = Session(load_genome(data.genome), HANDLERS, biology=biology, tools=names)
    return session if results == "world" else _Chain(session, SyntheticWorld())


class _Chain:
    """A session first, synthetic results for what it does not execute; each labelled as what it is."""

    def __init__(self, session: Session, synthetic: SyntheticWorld) -> None:
        self._session = session
        self._synthetic = synthetic

    def handle(self, request: CallRequest) -> ToolResult:
        result = self._session.handle(request)
        return self._synthetic.handle(request) if result is None else result

    def state(self) -> Json:
        return {"session": self._session.state(), "synthetic": self._synthetic.state()}


def _candidates(data: TaskData, tools: tuple[ToolSpec, ...], choices: Choices) -> list[ToolSpec]:
    """Tools that the candidate is shown: the frozen choice, with expected tools added where asked for."""
    by_key = {tool_key(spec.name): spec for spec in tools}
    shown = [by_key[name] for name in data.retrieval.selected[: choices.candidates] if name in by_key]
    if not choices.always_present:
        return shown
    wanted = [name for step in read_oracle(data.test).steps for name in step.tools]
    missing = [by_key[name] for name in dict.fromkeys(wanted) if name in by_key]
    missing = [spec for spec in missing if spec not in shown]
    kept = shown[: max(0, choices.candidates - len(missing))]
    return [*kept, *missing]


def _record(data: TaskData, rounds: Rounds, shown: list[ToolSpec], choices: Choices) -> dict[str, Json]:
    test = data.test
    timeout = test.get("timeout")
    steps = len(read_oracle(test).steps)
    return {
        "test_id": test["id"],
        "suite_id": data.suite,
        "category": test.get("category", ""),
        "type": test.get("type", ""),
        "prompt_sha256": data.prompt_sha256,
        "registry_hash": data.registry,
        "suite_fingerprint": data.suites,
        "timeout_ms": timeout if isinstance(timeout, int) else DEFAULT_TIMEOUT_S * 1000,
        "early_return": test.get("earlyReturn") is True,
        "prompt_tokens": rounds.tokens[0],
        "completion_tokens": rounds.tokens[1],
        "selected_tools": [spec.name for spec in shown],
        "calls": rounds.calls,
        "final_answer": rounds.answer,
        "rounds": rounds.rounds,
        "nudges": rounds.nudges,
        "api_error": rounds.api_error or None,
        "truncated_turns": rounds.truncated_turns,
        "tool_result_mode": _results_label(data, choices),
        "harness_mode": choices.mode.name,
        "harness_assistance": choices.mode.assistance(steps),
        "guidance": GUIDANCE,
        "request_settings": {"temperature": 0, "max_tokens": choices.max_tokens},
    }


def _results_label(data: TaskData, choices: Choices) -> str:
    results = choices.results_for(data.genome)
    return GENERATOR if results == "synthetic" else results


@cache
def _load_prompt() -> Prompt:
    path = Path(__file__).with_name("prompts") / PROMPT
    return parse_prompt(path.read_text(encoding="utf-8"), where=PROMPT)
