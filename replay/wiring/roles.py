"""Models in roles as plain data: what another process needs to set one up, and what tells it from others."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from replay.core.types import Json, Record
from replay.llm.llamacpp.jobs import EngineSettings

__all__ = [
    "AUTO",
    "CONTEXT_TOKENS",
    "OPENER",
    "ModelPlan",
    "ModelWish",
    "RemotePlan",
    "RolePlan",
    "UpstreamPlan",
]

OPENER: Final = "replay.wiring.engines:open_voice"
"""Loads a model of the weights folder with the local engine."""


CONTEXT_TOKENS: Final = 4096
"""Of one request, prompt and answer; a model that was trained on fewer gets what it was trained on."""


AUTO: Final = "auto"
"""A model's own form of calls where it has one, else JSON."""


class ModelWish(NamedTuple):
    """How a model is wanted."""

    home: Path | None = None
    """Folder of stores and weights; None for the user's own."""
    jobs: int = 1
    """Worker processes that share this machine's processors."""
    allow_unpinned: bool = False
    context_tokens: int = CONTEXT_TOKENS
    threads: int = 0
    """Threads of one worker process; 0: its share of the processors."""
    dialect: str = AUTO
    """How it writes calls."""


class ModelPlan(Record, frozen=True, kw_only=True):
    """One local model."""

    name: str
    identity: Json
    """Name, tensor digest, numeric fingerprint, dialect: a part of every key that it answers."""
    fingerprint: Json = None
    """The numeric fingerprint, for the inputs of a run."""
    weights: str = ""
    """Path of the file; never hashed and never stored."""
    schedule: str = "invariant"
    """Which schedule its self-test decided for."""
    settings: EngineSettings = EngineSettings()
    dialect: str = AUTO
    opener: str = OPENER
    """`module:function` that loads it."""
    is_unpinned: bool = False
    """True when the build is not the pinned one and a person allowed that."""


class UpstreamPlan(Record, frozen=True, kw_only=True):
    """Live upstreams that a run may record from."""

    file: str
    """Path of the TOML file; never hashed and never stored."""
    identity: Json
    """What decides the answers of those that answer tools, for the inputs of a run; without secrets."""
    journal: str = ""
    """Folder where answers are kept the moment they come."""
    workers: int = 1
    """Processes that share the limits of an upstream."""
    at_once: int = 1
    """Requests in flight that the most patient of the upstreams takes."""


class RemotePlan(Record, frozen=True, kw_only=True):
    """One model behind an API, asked in record mode only."""

    name: str
    """Name of its upstream."""
    identity: Json


class RolePlan(Record, frozen=True, kw_only=True):
    """One role that a model plays beside the candidate: user, simulator or judge."""

    name: str
    """What it is called in archives and reports."""
    identity: Json
    """Identity in the role: the model's, and what the role adds (prompt, sampling, seed)."""
    model: ModelPlan | None = None
    """The model that can make new answers; None: only recorded ones are read."""
    remote: RemotePlan | None = None
    """The same, behind an API."""
    script: str = ""
    """Script file that speaks instead of a model; never hashed and never stored."""
