"""Records that every part of the program shares (DESIGN sections 2 and 4).

Records are frozen, keyword-only and refuse unknown fields. Free JSON is held decoded and is never changed
after construction; what the model itself wrote (call arguments, text) is held as the model's own characters.
"""

from __future__ import annotations

import enum
from typing import Any, NewType

import msgspec

__all__ = [
    "Boundary",
    "CallAlias",
    "CallRequest",
    "ChatRequest",
    "Completion",
    "Digest",
    "Json",
    "JudgeRequest",
    "JudgeVerdict",
    "Key",
    "Message",
    "Mode",
    "Origin",
    "Output",
    "Provenance",
    "Record",
    "RepeatPolicy",
    "Role",
    "Sampling",
    "Score",
    "Snapshot",
    "SnapshotKind",
    "SnapshotStatus",
    "Task",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "Verdict",
]

Json = Any
"""A JSON value: None, bool, int, float, str, list or dict with str keys."""

Digest = NewType("Digest", str)
"""`sha256:` + 64 hex digits over a type tag and canonical bytes: what identifies content."""

Key = NewType("Key", str)
"""A digest of a complete request: what a snapshot is looked up by."""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every stored record."""


class Mode(enum.StrEnum):
    """How much a run may do; DESIGN section 4 has the truth table."""

    STRICT = "strict"
    REPLAY = "replay"
    RECORD = "record"


class Boundary(enum.StrEnum):
    """The four places where answers come in; each has a mode of its own."""

    TOOLS = "tools"
    CANDIDATE = "candidate"
    USER = "user"
    JUDGE = "judge"


class Role(enum.StrEnum):
    """Who a chat request speaks to."""

    CANDIDATE = "candidate"
    USER = "user"
    JUDGE = "judge"
    SIMULATOR = "simulator"


class Provenance(enum.StrEnum):
    """Where an answer came from; shown as shares beside every score."""

    RECORDED = "recorded"
    """By this program, in record mode, from a live upstream or a remote model."""
    IMPORTED = "imported"
    """From upstream files of the benchmark or from another harness."""
    SIMULATED = "simulated"
    """An API's answer made up by a model."""
    GENERATED = "generated"
    """A completion or verdict computed by a local model."""
    WORLD = "world"
    """Computed in process by a world or by the benchmark's own calling rules."""
    SCRIPTED = "scripted"
    """Written by hand: scripted candidates and invented suites."""


class Origin(enum.StrEnum):
    """What an imported answer was upstream."""

    REAL = "real"
    SIMULATED = "simulated"
    UNKNOWN = "unknown"


class RepeatPolicy(enum.StrEnum):
    """What the second equal request of one episode gets."""

    ONCE = "once"
    """The next recorded answer; after the last one a typed miss."""
    STICKY_LAST = "sticky-last"
    """The next recorded answer; after the last one the last again."""


class SnapshotKind(enum.StrEnum):
    """What a snapshot answers."""

    API = "api"
    COMPLETION = "completion"
    VERDICT = "verdict"


class SnapshotStatus(enum.StrEnum):
    """What state a recorded answer is in."""

    OK = "ok"
    EMPTY = "empty"
    ERROR = "error"
    NOT_JSON = "not-json"


class ToolSpec(Record, frozen=True, kw_only=True):
    """One tool as the candidate sees it, and how its calls are looked up."""

    name: str
    """Function name shown to the candidate."""
    identity: str = ""
    """Upstream identity that keys are made of; equal to `name` when empty."""
    description: str = ""
    parameters: Json = None
    """JSON Schema of the arguments, property order kept."""
    response_shape: Json = None
    """Upstream description of the answer's shape, if there is one."""
    repeat_policy: RepeatPolicy = RepeatPolicy.STICKY_LAST
    depends_on_state: bool = False
    """True when earlier mutating calls change the answer; their digest then joins the key."""
    mutates: bool = False
    extra: Json = None
    """Upstream fields that are shown or used but have no place above (method, category, raw names)."""


class ToolCall(Record, frozen=True, kw_only=True):
    """One call as the candidate wrote it."""

    id: str
    name: str
    arguments: str
    """The model's own argument text, byte for byte; may be malformed."""


class ToolResult(Record, frozen=True, kw_only=True):
    """What came back for one call."""

    content: str
    """The observation as the candidate sees it."""
    provenance: Provenance
    origin: Origin | None = None
    is_error: bool = False
    lookup: str = ""
    """Which lookup step answered: `canonical`, an alias label, `world`, `simulator`, or empty."""
    key: str = ""
    """Key of the snapshot that answered; empty for worlds and calling rules."""
    sequence: int = 0
    body: Json = None
    """The recorded answer before the benchmark's observation rules; None for worlds and calling rules."""
    code: int | None = None
    """The benchmark's own status code of the call, if it has one."""


class Message(Record, frozen=True, kw_only=True):
    """One chat message."""

    role: str
    """system, user, assistant or tool."""
    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    name: str = ""


class Sampling(Record, frozen=True, kw_only=True):
    """Parameters of one completion; defaults are greedy."""

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    """0 switches the cut off."""
    max_tokens: int = 1024
    stop: tuple[str, ...] = ()


class ChatRequest(Record, frozen=True, kw_only=True):
    """One complete request to a chat model. Every field is a part of the completion's key."""

    role: Role
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str = "auto"
    """auto, none, required, or a function name."""
    sampling: Sampling = Sampling()
    response_schema: Json = None
    """JSON Schema of the answer text, or None for free text."""
    prompt_digest: str = ""
    """Digest of the versioned prompt file that built the messages."""
    top_logprobs: int | msgspec.UnsetType = msgspec.UNSET
    """How many alternatives of each token are wanted, with the log-probability of each and of the token.

    Unset, none are wanted and the field is no part of preimages and digests: requests have the keys that they
    had before there was one.
    """


class Completion(Record, frozen=True, kw_only=True):
    """What a chat model answered."""

    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str = "stop"
    """stop, tool_calls, length, refused or error; only the first two are complete answers."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    provenance: Provenance = Provenance.RECORDED
    key: str = ""
    detail: Json = None
    """Model-specific facts (token ids, margins, log-probabilities); never a part of a key."""


class CallAlias(Record, frozen=True, kw_only=True):
    """A declared second way to look a call up, for compatibility with an upstream cache."""

    label: str
    """Name of the step, shown and counted in reports, for example `python-repr`."""
    tool: str
    """Tool identity under this alias."""
    text: str
    """The upstream key text, byte for byte."""


class CallRequest(Record, frozen=True, kw_only=True):
    """One tool call, ready to be looked up: everything that can change its answer."""

    benchmark: str
    tool: str
    """Tool identity (`ToolSpec.identity`)."""
    arguments: Json
    """Parsed arguments; canonical form is taken by the key."""
    call: ToolCall | None = None
    """The call as written, for the record; not a part of the key."""
    spec: ToolSpec | None = None
    """Only policy and simulators read it; not a part of the key."""
    state: str = ""
    """Digest of earlier mutating calls, when the tool depends on state."""
    aliases_first: tuple[CallAlias, ...] = ()
    """Alias lookups tried before the canonical key (compat settings only)."""
    aliases: tuple[CallAlias, ...] = ()
    """Alias lookups tried after the canonical key."""


class JudgeRequest(Record, frozen=True, kw_only=True):
    """One question to a judge. Judge identity, rubric, evidence and run index make the verdict's key."""

    benchmark: str
    rubric: str
    """Name of the rubric, for example `sopr` or `answer-status`."""
    rubric_digest: str
    """Digest of the rubric's text or, for imported verdicts, of its published description."""
    evidence: Json
    """Everything the judge is shown."""
    run: int = 0
    """Index of the repeat; each repeat is a verdict of its own."""
    cached_only: bool = False
    """True: look the verdict up, never ask a model; a miss is an answer (None)."""
    choices: tuple[str, ...] = ()
    """Labels the judge may return."""
    messages: tuple[Message, ...] = ()
    """The rendered question for a model judge; empty when only a frozen verdict can answer."""
    response_schema: Json = None


class JudgeVerdict(Record, frozen=True, kw_only=True):
    """What a judge said to one question."""

    label: str
    """One of the request's choices, or `error` with the raw text kept."""
    reason: str = ""
    raw: str = ""
    provenance: Provenance = Provenance.RECORDED
    judge: str = ""
    """Name of the judge that answered."""
    key: str = ""


class Snapshot(Record, frozen=True, kw_only=True):
    """One recorded answer with the request it answers."""

    kind: SnapshotKind
    key: Key
    sequence: int = 0
    """0 for the first answer to this key, 1 for the second, and so on."""
    scope: str = ""
    """What near-miss search and few-shot choice look through: tool identity, model or rubric name."""
    request: Json
    """Preimage of the key, complete."""
    body: str
    """The answer as text; base64 when `media` is `bytes`."""
    media: str = "json"
    """json (body is one JSON text), text, or bytes (base64 of what was not valid UTF-8)."""
    status: SnapshotStatus = SnapshotStatus.OK
    provenance: Provenance = Provenance.RECORDED
    origin: Origin | None = None
    aliases: tuple[Key, ...] = ()
    """Further keys that lead to this answer by a declared alias step."""
    meta: Json = None
    """Where it was recorded from: source file and record, model, seed. Content, hashed like the rest."""


class Task(Record, frozen=True, kw_only=True):
    """One question of a benchmark."""

    id: str
    """Unique inside the benchmark; the upstream id where that is unique."""
    split: str
    data: Json
    """The benchmark's own fields; its adapter decodes them."""
    tools: tuple[Digest, ...] = ()
    """Digests of tool specs, in the order the candidate sees them."""
    flags: tuple[str, ...] = ()
    """Data errors and oddities of this task found at import, shown in every report."""


class Output(Record, frozen=True, kw_only=True):
    """What another harness (or an upstream file) produced for one task."""

    candidate: str
    task: str
    trial: int = 0
    format: str
    """The benchmark's own name of the form, for example `converted` or `raw`."""
    data: Json
    source: str = ""
    """Upstream path relative to the imported root; never a path of this machine."""


class Score(Record, frozen=True, kw_only=True):
    """One number, or the reason why there is none."""

    value: float | None
    """A fraction in 0..1, or None when unscored."""
    unscored: str = ""
    """Named reason when value is None, for example `missing-output`, `judge-miss`, `tool-miss`."""
    runs: tuple[float, ...] = ()
    """Scores of repeated judge runs, in run order; value is their mean."""
    why: str = ""
    """Short reason a person can check, for example `no Finish call`."""
    abstained: int = 0
    """How many of the runs were abstentions of the judge (Unsure)."""
    detail: Json = None


class Verdict(Record, frozen=True, kw_only=True):
    """What one evaluator says about one trial of one task, officially and as the paper means it."""

    task: str
    trial: int = 0
    split: str
    metric: str
    compat: Score
    strict: Score
    differs: str = ""
    """Id of the difference-table entry when compat and strict disagree; empty when they agree."""
    flags: tuple[str, ...] = ()
