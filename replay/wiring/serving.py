"""What `replay serve` is asked for, and what comes of it before a port is taken."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from replay.core.errors import InputError, MissingExtraError, UsageError
from replay.core.types import Json, Mode, Record
from replay.tools.simulator import describe_simulator
from replay.wiring.candidates import choose_role
from replay.wiring.casting import find_models
from replay.wiring.library import LibraryPaths, find_archive, locate_stores, open_library
from replay.wiring.requests import FINDER
from replay.wiring.roles import ModelPlan, ModelWish, RolePlan

__all__ = ["ServePlan", "ServeRequest", "prepare_server", "serve"]

_MIB: Final = 1024 * 1024
_WORK: Final = "replay.wiring.serving_work"


class ServeRequest(Record, frozen=True, kw_only=True):
    """What a user asks for."""

    archive: str
    host: str = "127.0.0.1"
    port: int = 8080
    """8080 is the port of the original; 0 takes a free one."""
    allow_remote: bool = False
    allow_hosts: tuple[str, ...] = ()
    mode: Mode = Mode.REPLAY
    rules: str = "compat"
    workers: int = 1
    log: str = ""
    max_body: int = 16 * _MIB
    max_requests: int = 256
    models: tuple[str, ...] = ()
    """Local models that answer at /v1."""
    simulator_model: str = ""
    upstreams: tuple[str, ...] = ()
    """NAME=ORIGIN words: what an upstream that was recorded by its origin is called under /http/."""
    home: str = ""
    bases: tuple[str, ...] = ()
    context_tokens: int = 4096
    threads: int = 0
    allow_unpinned: bool = False
    finder: str = FINDER


class ServePlan(Record, frozen=True, kw_only=True):
    """A request made definite; plain data that crosses to worker processes."""

    library: LibraryPaths
    mode: Mode
    strict_rules: bool
    workers: int
    hosts: tuple[str, ...]
    max_body: int
    max_requests: int
    log: str
    models: tuple[ModelPlan, ...] = ()
    simulator: RolePlan | None = None
    upstreams: dict[str, str] = msgspec.field(default_factory=dict)


def prepare_server(request: ServeRequest) -> ServePlan:
    """Open the archive and check everything that can be wrong before a port is taken.

    Errors:  those of opening; UsageError for options that do not fit; ModelError for a model that is absent.
    """
    _check(request)
    home = Path(request.home) if request.home else None
    paths, _ = locate_stores(
        find_archive(request.archive), home=home, bases=[Path(base) for base in request.bases]
    )
    wish = ModelWish(
        home=home,
        jobs=request.workers,
        allow_unpinned=request.allow_unpinned,
        context_tokens=request.context_tokens,
        threads=request.threads,
    )
    find = find_models(request.finder, wish)
    with open_library(paths) as library:
        simulator = choose_role(
            request.simulator_model,
            "--simulator",
            {name: row.identity for name, row in library.roles("simulators").items()},
            find=None if request.mode is Mode.STRICT else find,
            describe=partial(describe_simulator, seed=0),
        )
    return ServePlan(
        library=paths,
        mode=request.mode,
        strict_rules=request.rules == "strict",
        workers=request.workers,
        hosts=request.allow_hosts,
        max_body=request.max_body,
        max_requests=request.max_requests,
        log=request.log,
        models=tuple(find(name.removeprefix("model:")) for name in request.models),
        simulator=simulator,
        upstreams=_read_upstreams(request.upstreams),
    )


def serve(request: ServeRequest, *, tell: Callable[[dict[str, Json]], None]) -> Path | None:
    """Serve until SIGINT or SIGTERM; return the run directory of the request log, if there is one.

    tell: called once requests are accepted, with the address and what is served.
    Errors:  those of preparing; InputError for a port in use; MissingExtraError without the packages.
    """
    try:
        work = importlib.import_module(_WORK)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn", "anyio"):
            raise
        raise MissingExtraError(
            f"serving needs the package {error.name!r}",
            expected="the extra `serve`",
            next_step="pip install 'replay-bench[serve]'",
        ) from None
    folder: Path | None = work.run(request, prepare_server(request), tell=tell)
    return folder


def _check(request: ServeRequest) -> None:
    if request.mode is Mode.RECORD:
        raise UsageError(
            "a server over a sealed archive does not record",
            where="--mode record",
            expected="strict or replay",
        )
    if request.rules not in ("compat", "strict"):
        raise UsageError(f"unknown rules {request.rules!r}", where="--rules", expected="compat or strict")
    if request.mode is Mode.STRICT and request.models:
        raise UsageError(
            "a strict server computes nothing", where="--model", expected="--mode replay with a local model"
        )


def _read_upstreams(words: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        name, equals, origin = word.partition("=")
        if not equals or not name or "/" in name or not origin:
            raise InputError(f"upstream {word!r}", where="--upstream", expected="NAME=ORIGIN")
        found[name] = origin.rstrip("/")
    return found
