"""Preimages and keys of the three kinds of snapshot (DESIGN section 5).

A key is a digest of the complete request: a field of a request record is in its key unless NOT_IN_KEY names
it with the reason. `core/selftest.py` holds every field to that in both directions, new fields too. The
declared exclusions, defaults and redactions of one tool's *arguments* are applied before (tools/keys.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from replay.core.canonical import canonical_bytes, digest
from replay.core.types import CallAlias, CallRequest, ChatRequest, Digest, Json, JudgeRequest, Key

__all__ = [
    "NOT_IN_KEY",
    "RECIPE_VERSION",
    "SIMULATED",
    "alias_key",
    "alias_request",
    "call_key",
    "call_request",
    "completion_key",
    "completion_request",
    "simulated_alias",
    "simulated_scope",
    "verdict_key",
    "verdict_request",
]

RECIPE_VERSION: Final = 1
"""Raised when a preimage gains, loses or renames a field; stored in every archive manifest."""

SIMULATED: Final = "simulator"
"""Label of the lookup step that finds what one simulator made up."""

_FOLLOWS: Final = (
    "follows from rubric and evidence: whoever renders the question makes rubric_digest of all it is made of "
    "(texts, choices, answer schema), so that another wording is another key"
)

NOT_IN_KEY: Final[Mapping[str, str]] = MappingProxyType(
    {
        "CallRequest.call": "how the model spelled the call; its parsed arguments are in the key",
        "CallRequest.spec": "read by policies and simulators only; the tool's identity is in the key",
        "CallRequest.aliases_first": "declared look-up steps with keys of their own",
        "CallRequest.aliases": "declared look-up steps with keys of their own",
        "JudgeRequest.cached_only": "says who may answer, not what is asked",
        "JudgeRequest.choices": _FOLLOWS,
        "JudgeRequest.messages": _FOLLOWS,
        "JudgeRequest.response_schema": _FOLLOWS,
    }
)
"""Fields that are not a part of their request's key, each with its reason. Nothing else is left out."""


def call_request(request: CallRequest) -> dict[str, Json]:
    """Preimage of a tool call's key: benchmark, tool identity, arguments, state."""
    return {
        "benchmark": request.benchmark,
        "tool": request.tool,
        "arguments": request.arguments,
        "state": request.state,
    }


def call_key(request: CallRequest) -> Key:
    """Key of a tool call. Raises CanonicalError when the arguments cannot be hashed honestly."""
    return Key(digest("api", call_request(request)))


def alias_request(benchmark: str, alias: CallAlias) -> dict[str, Json]:
    """Preimage of a declared alias lookup."""
    return {"benchmark": benchmark, "alias": alias.label, "tool": alias.tool, "text": alias.text}


def alias_key(benchmark: str, alias: CallAlias) -> Key:
    """Key of a declared alias lookup."""
    return Key(digest("api-alias", alias_request(benchmark, alias)))


def simulated_alias(simulator: Json, request: CallRequest, *, documentation: Digest) -> CallAlias:
    """Make the lookup under which one simulator's answer to a call is kept and found.

    Its text is the complete preimage: the simulator's identity (model, prompt, sampling, seed), the digest
    of the documentation it was shown, and the call. So no other model or prompt, and no recorded lookup, can
    ever be given this answer. The examples a simulator was shown are left out: they follow from the archive's
    real records, and recording one more must not orphan what was simulated before; they are named in the
    answer's `meta`.

    Errors:  CanonicalError when the arguments cannot be hashed honestly.
    """
    asked = {"simulator": simulator, "documentation": documentation, "call": call_request(request)}
    text = canonical_bytes(asked).decode()
    return CallAlias(label=SIMULATED, tool=simulated_scope(request.tool), text=text)


def simulated_scope(tool: str) -> str:
    """Scope of what was made up for a tool: apart from what the tool really said."""
    return f"{SIMULATED}:{tool}"


def completion_request(model: Json, request: ChatRequest, *, seed: int, trial: int) -> dict[str, Json]:
    """Preimage of a completion's key: model identity, the full request, seed and trial."""
    return {"model": model, "request": msgspec.to_builtins(request), "seed": seed, "trial": trial}


def completion_key(model: Json, request: ChatRequest, *, seed: int, trial: int) -> Key:
    """Key of a completion."""
    return Key(digest("completion", completion_request(model, request, seed=seed, trial=trial)))


def verdict_request(judge: Json, request: JudgeRequest) -> dict[str, Json]:
    """Preimage of a verdict's key: judge identity and parameters, rubric, evidence, run index."""
    return {
        "judge": judge,
        "benchmark": request.benchmark,
        "rubric": request.rubric,
        "rubric_digest": request.rubric_digest,
        "evidence": request.evidence,
        "run": request.run,
    }


def verdict_key(judge: Json, request: JudgeRequest) -> Key:
    """Key of a verdict."""
    return Key(digest("verdict", verdict_request(judge, request)))
