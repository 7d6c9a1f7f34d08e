"""The seams. Each has at least two real implementations; none knows a mode.

Episodes and evaluations are written *sans IO*: a benchmark is a generator that yields what it needs
(a completion, a tool result, a verdict) and is sent the answer. The engine decides who answers. So benchmarks
never see a model, a store or a network, and the engine may run many episodes side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from replay.core.asks import (
    Answer,
    Ask,
    CallAnswered,
    EpisodeEnd,
    EpisodePlay,
    EvaluationPlay,
    ReadState,
    WorldState,
    answered,
    ask,
    call,
    judge,
    note,
    read_state,
)
from replay.core.types import (
    CallAlias,
    CallRequest,
    ChatRequest,
    Completion,
    Json,
    JudgeRequest,
    JudgeVerdict,
    Output,
    Record,
    Task,
    ToolResult,
    ToolSpec,
    Verdict,
)

__all__ = [
    "Answer",
    "Ask",
    "Benchmark",
    "CallAnswered",
    "ChatModel",
    "ChatModelFactory",
    "EpisodeContext",
    "EpisodeEnd",
    "EpisodePlay",
    "EpisodeTools",
    "EvaluationPlay",
    "ImportResult",
    "ImportedAnswer",
    "ImportedVerdict",
    "Importer",
    "Judge",
    "KnownDifference",
    "Metric",
    "ReadState",
    "Settings",
    "SourceFile",
    "Summary",
    "ToolSource",
    "Toolbox",
    "World",
    "WorldState",
    "answered",
    "ask",
    "call",
    "judge",
    "note",
    "read_state",
]


# ---- what a run sets ----------------------------------------------------------------------------------


class Settings(Record, frozen=True, kw_only=True):
    """What a user may choose for a run; hashed into the run root as it stands."""

    protocol: str = ""
    """The benchmark's own name of a candidate protocol (`CoT@1`), empty for its default."""
    rules: str = "compat"
    """`compat` or `strict` calling rules (name resolution, function construction)."""
    options: Json = None
    """Benchmark-specific options by name; unknown names are refused by the benchmark."""
    judge_runs: int = 3
    reference: str = ""
    """Candidate that preferences compare with."""
    seed: int = 0


class EpisodeContext(Record, frozen=True, kw_only=True):
    """What an episode may know of the run around it."""

    trial: int
    seed: int
    """Derived from run seed, benchmark, task and trial."""
    settings: Settings


# ---- who answers ---------------------------------------------------------------------------------------


class ChatModel(Protocol):
    """Answers chat requests."""

    @property
    def identity(self) -> Json:
        """What tells this model from every other; a part of each completion's key."""
        ...

    def complete(self, request: ChatRequest, *, seed: int, trial: int) -> Completion:
        """Answer one request. Raises MissError when nothing recorded answers it."""
        ...


class ToolSource(Protocol):
    """Can answer a tool call, or passes."""

    name: str

    def answer(self, request: CallRequest, *, occurrence: int) -> ToolResult | None:
        """Answer the call, or None to pass to the next source; occurrence counts equal calls from 0."""
        ...


class ChatModelFactory(Protocol):
    """Gives each episode a chat model of its own, so that no script or cursor crosses episodes."""

    @property
    def identity(self) -> Json:
        """Identity of the models it gives."""
        ...

    def for_episode(self, task: str, *, trial: int) -> ChatModel:
        """Return the model of one episode; a model without per-episode state returns itself."""
        ...


class EpisodeTools(Protocol):
    """Answers the tool calls of one episode."""

    def answer(self, request: CallRequest, *, step: int) -> ToolResult:
        """Answer one call made at that step of the trajectory. Raises MissError when no source can."""
        ...


class Toolbox(Protocol):
    """Gives each episode its own tools, so that cursors and state never cross episodes."""

    def for_episode(self, task: str, *, world: World | None) -> EpisodeTools:
        """Return the tools of one episode."""
        ...


class World(Protocol):
    """Stateful tools run in process; pure given its start state and the calls so far."""

    def handle(self, request: CallRequest) -> ToolResult | None:
        """Run a call against the world, or None when the tool is not the world's.

        A result has provenance WORLD; a call that fails is a result with `is_error`.
        """
        ...

    def state(self) -> Json:
        """Whole state as a JSON value that later calls do not change: what evaluators read."""
        ...


class Judge(Protocol):
    """Answers judge requests."""

    @property
    def identity(self) -> Json:
        """Judge name and parameters; a part of each verdict's key."""
        ...

    def decide(self, request: JudgeRequest) -> JudgeVerdict | None:
        """Answer one question, or None when no verdict is recorded and none can be made."""
        ...


# ---- benchmarks ----------------------------------------------------------------------------------------


class KnownDifference(Record, frozen=True, kw_only=True):
    """One reason why compat and strict (or we and upstream) differ."""

    id: str
    what: str
    """What upstream does."""
    why: str
    """Why strict does otherwise, or why an oracle row is an exception."""
    source: str
    """Upstream file and commit, or paper section."""


class Metric(Record, frozen=True, kw_only=True):
    """One figure over many verdicts."""

    value: float | None
    """In the paper's unit (percent where the paper prints percent); None when nothing was scored."""
    n: int
    """The denominator that was used."""
    planned: int
    """Items of the plan: the honest denominator."""
    missing: int = 0
    """Planned items without a score."""
    abstained: int = 0
    """Judge abstentions (Unsure) among the scored."""
    std: float | None = None
    interval: tuple[float, float] | None = None
    """Seeded bootstrap, 95 %."""
    groups: dict[str, Metric] = msgspec.field(default_factory=dict)
    """The same metric by split, in the benchmark's order."""
    detail: Json = None


class Summary(Record, frozen=True, kw_only=True):
    """All metrics of a run, officially and as the papers mean them."""

    compat: dict[str, Metric]
    strict: dict[str, Metric]
    differing: tuple[Json, ...] = ()
    """Items on which the two disagree: task, trial, metric, both values, difference id."""
    flagged: tuple[Json, ...] = ()
    """Tasks with data errors."""


class SourceFile(Record, frozen=True, kw_only=True):
    """One upstream file that an import read."""

    path: str
    """Relative to the imported root, `/` separated."""
    digest: str
    """Digest of its bytes."""
    records: int
    """How many records it gave."""
    licence: str = ""
    """SPDX expression, `NOASSERTION` when unknown."""


class ImportedAnswer(Record, frozen=True, kw_only=True):
    """One upstream recorded API answer, not yet keyed."""

    request: CallRequest | None
    """None when the record is reachable by its aliases only (the loser of a collision)."""
    aliases: tuple[CallAlias, ...] = ()
    body: str
    media: str = "json"
    origin: str = "unknown"
    status: str = "ok"
    source: str = ""
    """Upstream file and record it was read from."""
    meta: Json = None


class ImportedVerdict(Record, frozen=True, kw_only=True):
    """One upstream judge verdict, not yet keyed."""

    judge: Json
    request: JudgeRequest
    verdict: JudgeVerdict
    source: str = ""


class ImportResult(Record, frozen=True, kw_only=True):
    """Everything one import produced. Order does not matter; freezing sorts."""

    benchmark: str
    version: str
    """Upstream revision or content-derived version."""
    tasks: tuple[Task, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    answers: tuple[ImportedAnswer, ...] = ()
    verdicts: tuple[ImportedVerdict, ...] = ()
    outputs: tuple[Output, ...] = ()
    report: Json
    """What was found, counted, flagged and left out, by name; shown after import and stored."""
    sources: tuple[SourceFile, ...]
    licences: dict[str, str] = msgspec.field(default_factory=dict)
    """Source name to SPDX expression."""


class Importer(Protocol):
    """Reads a benchmark's upstream files."""

    def load(self, source: Path, options: Mapping[str, Json]) -> ImportResult:
        """Read everything under `source`. Raises InputError naming file, record and JSON path."""
        ...


class Benchmark(Protocol):
    """One benchmark: protocol, evaluators, metrics, known differences."""

    name: str
    metrics: tuple[str, ...]
    differences: tuple[KnownDifference, ...]
    forms: tuple[str, ...]
    """Names of the output forms that can be written."""

    def play(self, task: Task, tools: tuple[ToolSpec, ...], context: EpisodeContext) -> EpisodePlay:
        """Run the candidate protocol on one task."""
        ...

    def make_world(self, task: Task, context: EpisodeContext) -> World | None:
        """Fresh stateful tools for one episode, or None."""
        ...

    def check_settings(self, settings: Settings) -> Settings:
        """Fill defaults and refuse what is unknown. Raises InputError listing the allowed values."""
        ...

    def read_outputs(self, path: Path, tasks: Mapping[str, Task]) -> tuple[Output, ...]:
        """Read what another harness produced, in every form this benchmark knows."""
        ...

    def write_outputs(
        self, outcomes: Iterable[tuple[Task, int, Json]], folder: Path, form: str, *, candidate: str = ""
    ) -> tuple[Path, ...]:
        """Write outcomes as (task, trial, outcome) in an upstream form; returns the files written.

        candidate: whose they are, for forms that name it inside; in others the folder's name tells.
        """
        ...

    def outcome_of(self, output: Output, task: Task) -> Json:
        """Turn an outside output into the outcome that evaluators read."""
        ...

    def evaluate(
        self, task: Task, outcome: Json, *, trial: int, settings: Settings, reference: Json
    ) -> EvaluationPlay:
        """Score one outcome (None: nothing was produced) by every metric of the benchmark."""
        ...

    def unscored(self, task: Task, *, trial: int, reason: str) -> tuple[Verdict, ...]:
        """Verdicts of an episode that could not be scored, one per metric."""
        ...

    def summarize(self, plan: Iterable[tuple[str, str, int]], verdicts: Iterable[Verdict]) -> Summary:
        """Aggregate verdicts over a plan of (task, split, trial)."""
        ...
