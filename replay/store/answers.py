"""Answers <-> snapshots: how an API response, a completion and a verdict are written down and read back.

One law for each pair: reading what was made gives the answer that was given, with its key, sequence and
provenance. Requests must have gone through their key recipe (tools/keys.py) before they come here.
"""

from __future__ import annotations

import base64
import binascii
from typing import Final, TypeVar

import msgspec

from replay.core.canonical import canonical_bytes, digest, parse_json
from replay.core.errors import CanonicalError, DamagedError
from replay.core.keys import (
    alias_key,
    alias_request,
    call_key,
    call_request,
    completion_key,
    completion_request,
    verdict_key,
    verdict_request,
)
from replay.core.types import (
    CallAlias,
    CallRequest,
    ChatRequest,
    Completion,
    Json,
    JudgeRequest,
    JudgeVerdict,
    Origin,
    Provenance,
    Record,
    Snapshot,
    SnapshotKind,
    SnapshotStatus,
    ToolCall,
    ToolResult,
)

__all__ = [
    "COMPLETE",
    "ApiAnswer",
    "make_alias_snapshot",
    "make_api_snapshot",
    "make_completion_snapshot",
    "make_verdict_snapshot",
    "model_scope",
    "read_completion",
    "read_result",
    "read_verdict",
]


COMPLETE: Final = frozenset({"stop", "tool_calls"})
"""Finish reasons of complete answers; every other one is a typed outcome."""


class ApiAnswer(Record, frozen=True, kw_only=True):
    """What an API said, and where that was learned."""

    body: str
    """The answer's text, byte for byte; base64 when `media` is `bytes`."""
    media: str = "json"
    """json, text or bytes. A `json` body that is not strict JSON is kept as text with status `not-json`."""
    status: SnapshotStatus = SnapshotStatus.OK
    provenance: Provenance = Provenance.RECORDED
    origin: Origin | None = None
    meta: Json = None
    """Where it was recorded from: source file and record, model, seed."""


class _CompletionBody(Record, frozen=True, kw_only=True):
    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    detail: Json = None


class _VerdictBody(Record, frozen=True, kw_only=True):
    label: str
    reason: str = ""
    raw: str = ""
    judge: str = ""


_Body = TypeVar("_Body", _CompletionBody, _VerdictBody)


def make_api_snapshot(
    request: CallRequest, answer: ApiAnswer, *, sequence: int = 0, aliases: tuple[CallAlias, ...] = ()
) -> Snapshot:
    """Write one API answer down under its canonical key and, for imports, its upstream aliases.

    The aliases that `request` itself carries are ways to look up, not facts about this answer, and are not
    stored: an alias may belong to another tool of the upstream cache.

    Errors:  CanonicalError when the arguments cannot be hashed honestly.
    """
    keys = {alias_key(request.benchmark, alias) for alias in aliases}
    return _api_snapshot(
        Snapshot(
            kind=SnapshotKind.API,
            key=call_key(request),
            sequence=sequence,
            scope=request.tool,
            request=call_request(request),
            body=answer.body,
            aliases=tuple(sorted(keys)),
        ),
        answer,
    )


def make_alias_snapshot(
    benchmark: str, aliases: tuple[CallAlias, ...], answer: ApiAnswer, *, sequence: int = 0
) -> Snapshot:
    """Write down an API answer that only its aliases reach, keyed by the first.

    That is the loser of an import's collision, or what a simulator made up.
    """
    first, *rest = aliases
    key = alias_key(benchmark, first)
    return _api_snapshot(
        Snapshot(
            kind=SnapshotKind.API,
            key=key,
            sequence=sequence,
            scope=first.tool,
            request=alias_request(benchmark, first),
            body=answer.body,
            aliases=tuple(sorted({alias_key(benchmark, alias) for alias in rest} - {key})),
        ),
        answer,
    )


def read_result(snapshot: Snapshot, *, lookup: str) -> ToolResult:
    """Read a tool result back from an API snapshot, stamped with how it was found.

    Errors:  DamagedError when the body is not what its media type says.
    """
    content, body = _decode_body(snapshot)
    return ToolResult(
        content=content,
        provenance=snapshot.provenance,
        origin=snapshot.origin,
        is_error=snapshot.status is SnapshotStatus.ERROR,
        lookup=lookup,
        key=snapshot.key,
        sequence=snapshot.sequence,
        body=body,
    )


def make_completion_snapshot(
    model: Json,
    request: ChatRequest,
    completion: Completion,
    *,
    seed: int,
    trial: int,
    meta: Json = None,
) -> Snapshot:
    """Write one completion down under the model's identity and the complete request.

    A completion that is no complete answer is kept as what it is, a typed outcome with status `error`.
    """
    body = _CompletionBody(
        content=completion.content,
        tool_calls=completion.tool_calls,
        finish=completion.finish,
        prompt_tokens=completion.prompt_tokens,
        completion_tokens=completion.completion_tokens,
        detail=completion.detail,
    )
    return Snapshot(
        kind=SnapshotKind.COMPLETION,
        key=completion_key(model, request, seed=seed, trial=trial),
        scope=model_scope(model),
        request=completion_request(model, request, seed=seed, trial=trial),
        body=canonical_bytes(msgspec.to_builtins(body)).decode(),
        status=SnapshotStatus.OK if completion.finish in COMPLETE else SnapshotStatus.ERROR,
        provenance=completion.provenance,
        meta=meta,
    )


def read_completion(snapshot: Snapshot) -> Completion:
    """Read a completion back from its snapshot. Raises DamagedError when the body has another shape."""
    body = _decode(snapshot, _CompletionBody)
    return Completion(
        content=body.content,
        tool_calls=body.tool_calls,
        finish=body.finish,
        prompt_tokens=body.prompt_tokens,
        completion_tokens=body.completion_tokens,
        provenance=snapshot.provenance,
        key=snapshot.key,
        detail=body.detail,
    )


def make_verdict_snapshot(
    judge: Json, request: JudgeRequest, verdict: JudgeVerdict, *, meta: Json = None
) -> Snapshot:
    """Write one verdict down under the judge's identity, the rubric, the evidence and the run index."""
    body = _VerdictBody(label=verdict.label, reason=verdict.reason, raw=verdict.raw, judge=verdict.judge)
    return Snapshot(
        kind=SnapshotKind.VERDICT,
        key=verdict_key(judge, request),
        scope=request.rubric,
        request=verdict_request(judge, request),
        body=canonical_bytes(msgspec.to_builtins(body)).decode(),
        provenance=verdict.provenance,
        meta=meta,
    )


def read_verdict(snapshot: Snapshot) -> JudgeVerdict:
    """Read a verdict back from its snapshot. Raises DamagedError when the body has another shape."""
    body = _decode(snapshot, _VerdictBody)
    return JudgeVerdict(
        label=body.label,
        reason=body.reason,
        raw=body.raw,
        provenance=snapshot.provenance,
        judge=body.judge,
        key=snapshot.key,
    )


def model_scope(model: Json) -> str:
    """Return the scope of a model's completions: its name when the identity has one, else a digest."""
    names = [model.get("name"), model.get("model")] if isinstance(model, dict) else []
    found = [name for name in names if isinstance(name, str) and name]
    return found[0] if found else digest("model-identity", model)


def _api_snapshot(draft: Snapshot, answer: ApiAnswer) -> Snapshot:
    media, status = answer.media, answer.status
    if media == "json" and not _is_json(answer.body):
        # An opaque answer is still an answer: NaN or a cut text must not turn into null or get lost.
        media, status = "text", SnapshotStatus.NOT_JSON
    return msgspec.structs.replace(
        draft,
        media=media,
        status=status,
        provenance=answer.provenance,
        origin=answer.origin,
        meta=answer.meta,
    )


def _is_json(text: str) -> bool:
    try:
        canonical_bytes(parse_json(text))
    except CanonicalError:
        return False
    return True


def _decode_body(snapshot: Snapshot) -> tuple[str, Json]:
    if snapshot.media == "text":
        return snapshot.body, snapshot.body
    if snapshot.media == "json":
        try:
            return snapshot.body, parse_json(snapshot.body)
        except CanonicalError as error:
            raise _damaged(snapshot, f"its body is not JSON: {error.what}") from None
    if snapshot.media == "bytes":
        try:
            plain = base64.b64decode(snapshot.body, validate=True)
        except (binascii.Error, ValueError) as error:
            raise _damaged(snapshot, f"its body is not base64: {error}") from None
        return plain.decode("utf-8", "replace"), {"base64": snapshot.body}
    raise _damaged(snapshot, f"media {snapshot.media!r}, expected json, text or bytes")


def _decode(snapshot: Snapshot, shape: type[_Body]) -> _Body:
    try:
        return msgspec.json.decode(snapshot.body, type=shape)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _damaged(snapshot, f"its body is no {snapshot.kind}: {error}") from None


def _damaged(snapshot: Snapshot, what: str) -> DamagedError:
    return DamagedError(
        f"snapshot cannot be read: {what}",
        where=f"key {snapshot.key}, sequence {snapshot.sequence}",
        expected="the body that was recorded",
        next_step="replay archive verify names every damaged record",
    )
