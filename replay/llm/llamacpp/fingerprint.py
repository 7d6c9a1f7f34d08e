"""The numeric fingerprint: everything that the bits of a local model's answers depend on here, in one digest.

Answers are promised equal within one fingerprint. So it holds what can change them (engine, build,
instruction sets, settings, schedule, the logits of a canary prompt) and nothing that the self-test has shown
cannot: under the invariant schedule the numbers of threads, sequences and tokens in a call are left out, so
that runs with another number of jobs keep their root.
"""

from __future__ import annotations

from typing import Final

from replay.core.canonical import digest
from replay.core.types import Digest, Json, Record
from replay.llm.llamacpp.jobs import EngineSettings
from replay.llm.llamacpp.schedule import CANONICAL, CHUNK_TOKENS
from replay.llm.llamacpp.selftest import SelfTestReport

__all__ = ["Fingerprint", "make_fingerprint"]

_RECIPE: Final = 1
"""Of this document and of our own sampling; a change of either is another fingerprint."""

_RUN_TIME: Final = {
    "flash_attention": False,
    "kv_unified": False,
    "swa_full": True,
    "kv_type": "f16",
    "op_offload": False,
    "extra_buffers": False,
}
"""What `binding` sets for every context."""


class Fingerprint(Record, frozen=True, kw_only=True):
    """What this machine computes with."""

    digest: Digest
    document: Json
    """Preimage of the digest."""


def make_fingerprint(report: SelfTestReport, settings: EngineSettings, *, runtime: Json) -> Fingerprint:
    """Put the fingerprint of one model on this machine together.

    `runtime` is how the build was judged (pinned or not, and why); it changes the fingerprint too.
    """
    document = {
        "recipe": _RECIPE,
        "binding": report.binding_version,
        "engine": report.engine_version,
        "system": report.system_info,
        "runtime": runtime,
        "run_time": dict(_RUN_TIME),
        "settings": _deciding(settings, report.schedule),
        "schedule": report.schedule,
        "selftest": {check.name: check.ok for check in report.checks},
        "canary": report.canary,
    }
    return Fingerprint(digest=digest("numeric-fingerprint", document), document=document)


def _deciding(settings: EngineSettings, schedule: str) -> dict[str, int]:
    """Only what can change an answer under this schedule."""
    chosen = {"context_tokens": settings.context_tokens}
    if schedule == CANONICAL:
        chosen["chunk_tokens"] = min(CHUNK_TOKENS, settings.batch_tokens)
        chosen["threads"] = settings.threads
    return chosen
