"""What a user asks of a run, before anything is opened."""

from __future__ import annotations

from typing import Final

import msgspec

from replay.core.types import Json, Record
from replay.wiring.modes import Modes
from replay.wiring.roles import AUTO, CONTEXT_TOKENS

__all__ = ["FINDER", "RunRequest"]

FINDER: Final = "replay.wiring.engines:find_model"
"""Finds models in the weights folder of this user."""


class RunRequest(Record, frozen=True, kw_only=True):
    """What a user asks for. Paths are used and never stored."""

    archive: str
    candidate: str = ""
    """Recorded name, `model:NAME`, `remote:NAME`, `scripted:FILE` or `outputs:PATH`; empty when the archive
    has just one."""
    candidate_name: str = ""
    """Which of several candidates an outputs path is about."""
    judge: str = ""
    modes: Modes = Modes()
    select: tuple[str, ...] = ()
    limit: int | None = None
    trials: int = 1
    jobs: int = 1
    out: str = ""
    """Run directory; empty: `runs/NAME-HASH` in the current folder."""
    home: str = ""
    bases: tuple[str, ...] = ()
    overlay: str = ""
    """Overlay of an earlier run to read; an input of the run, by its digest."""
    without: tuple[str, ...] = ()
    """Globs of tools whose recorded answers are not served, as if their APIs had gone."""
    fresh: bool = False
    """Compute generated answers anew instead of reading those that are recorded."""
    keep_errors: bool = False
    live: str = ""
    upstream: str = ""
    """TOML file of live upstreams; only record mode asks them."""
    simulator: str = ""
    """`module:function` of a simulator that is no model."""
    judge_maker: str = ""
    user_model: str = ""
    """`model:NAME`, `remote:NAME`, or the name of a recorded one, like the next two; empty for nobody."""
    simulator_model: str = ""
    judge_model: str = ""
    allow_unpinned: bool = False
    """Generate with a llama.cpp build that is not the pinned one; marks the run."""
    context_tokens: int = CONTEXT_TOKENS
    """Room of one request to a local model."""
    dialect: str = AUTO
    """How a local candidate writes calls: one of `replay.llm.dialects.choose.CALL_FORMS`."""
    threads: int = 0
    """Threads that a worker computes with; 0: its share of the processors. Changes nothing but the time."""
    finder: str = FINDER
    """`module:function` that finds local models."""
    protocol: str = ""
    rules: str = ""
    judge_runs: int | None = None
    reference: str = ""
    seed: int | None = None
    options: dict[str, Json] = msgspec.field(default_factory=dict)
