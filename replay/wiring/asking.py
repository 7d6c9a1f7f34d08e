"""Recorded requests asked of a local model once more: what was said then, and what is said now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

import msgspec

from replay.core.errors import DamagedError
from replay.core.types import ChatRequest, Completion, Json, Provenance, Record, Snapshot, SnapshotKind
from replay.llm.local import LocalModel
from replay.wiring.engines import ModelPool
from replay.wiring.roles import ModelPlan

__all__ = ["Asked", "ask_again", "is_generated", "read_request"]

_AHEAD: Final = 64
"""Requests handed out at once: bounds what is held of an archive in memory."""


class Asked(Record, frozen=True, kw_only=True):
    """The preimage of a completion's key, as it was recorded."""

    model: Json
    request: ChatRequest
    seed: int
    trial: int


def is_generated(snapshot: Snapshot) -> bool:
    """Tell whether a local model computed this completion."""
    return snapshot.kind is SnapshotKind.COMPLETION and snapshot.provenance is Provenance.GENERATED


def read_request(snapshot: Snapshot) -> Asked:
    """Read the request that a completion answers. Errors: DamagedError when it is none."""
    try:
        return msgspec.convert(snapshot.request, Asked)
    except msgspec.ValidationError as error:
        raise DamagedError(
            f"a recorded request is none: {error}",
            where=f"key {snapshot.key}",
            expected="the request of a completion",
            next_step="replay archive verify names every damaged record",
        ) from None


def ask_again(
    group: Sequence[Snapshot], plan: ModelPlan, pool: ModelPool
) -> Iterator[tuple[Snapshot, Completion]]:
    """Ask a model what each completion answers, as many at once as it decodes together, in order.

    Errors:  DamagedError for a recorded request that is none; ModelError when the model fails.
    """
    model = LocalModel(plan.identity, pool.get(plan))
    with ThreadPoolExecutor(plan.settings.sequences, thread_name_prefix="recompute") as threads:
        for start in range(0, len(group), _AHEAD):
            part = group[start : start + _AHEAD]
            try:
                yield from zip(part, threads.map(partial(_ask, model), part), strict=True)
            except BaseException:
                pool.halt()
                raise


def _ask(model: LocalModel, recorded: Snapshot) -> Completion:
    asked = read_request(recorded)
    return model.complete(asked.request, seed=asked.seed, trial=asked.trial)
