"""What `replay serve` is asked for, and what comes of it before a port is taken."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from replay.core.errors import InputError, MissingExtraError, UsageError
from replay.core.types import Digest, Json, Mode, Record
from replay.store.archive.manifest import ArchiveFacts, check_facts
from replay.tools.exchange import HTTP
from replay.tools.simulator import describe_simulator
from replay.tools.upstreams import OPENAI, load_upstreams, read_sent_always
from replay.wiring.candidates import choose_role
from replay.wiring.casting import find_models
from replay.wiring.library import LibraryPaths, find_archive, locate_stores, open_library
from replay.wiring.requests import FINDER
from replay.wiring.roles import ModelPlan, ModelWish, RolePlan

__all__ = ["STABLETOOLBENCH", "ServePlan", "ServeReport", "ServeRequest", "prepare_server", "serve"]

_MIB: Final = 1024 * 1024
_WORK: Final = "replay.wiring.serving.work"
_FIRST_VERSION: Final = "1"
"""Of an archive that a recording begins."""
STABLETOOLBENCH: Final = "stabletoolbench"
"""Benchmark whose calls come to /virtual."""


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
    read_timeout_s: float = 30.0
    """How long the next part of a request's body may take."""
    models: tuple[str, ...] = ()
    """Local models that answer at /v1."""
    simulator_model: str = ""
    upstreams: tuple[str, ...] = ()
    """NAME=ORIGIN words: what an upstream that was recorded by its origin is called under /http/. One word
    may be the TOML file of live upstreams: asked in record mode, their secrets masked in every mode."""
    out: str = ""
    """Folder whose overlay record mode writes."""
    keep_errors: bool = False
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
    read_timeout_s: float
    log: str
    models: tuple[ModelPlan, ...] = ()
    simulator: RolePlan | None = None
    upstreams: dict[str, str] = msgspec.field(default_factory=dict)
    """Origin by the name under /http/."""
    upstream_file: str = ""
    out: str = ""
    keep_errors: bool = False


class ServeReport(Record, frozen=True, kw_only=True):
    """What a server leaves behind."""

    log: str = ""
    """Run directory of the request log, if there is one."""
    overlay: str = ""
    """What record mode wrote."""
    recorded: int = 0
    """How many answers of it are new."""
    has_base: bool = False
    """Whether it lies over an archive that was there before."""


def prepare_server(request: ServeRequest) -> ServePlan:
    """Open the archive and check everything that can be wrong before a port is taken.

    Errors:  those of opening; UsageError for options that do not fit; ModelError for a model that is absent.
    """
    file, origins = _read_upstreams(request.upstreams)
    _check(request, file)
    home = Path(request.home) if request.home else None
    paths = _locate(request, home)
    if file:
        _check_upstreams(file, paths.benchmark, request.mode)
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
        read_timeout_s=request.read_timeout_s,
        log=request.log,
        models=tuple(find(name.removeprefix("model:")) for name in request.models),
        simulator=simulator,
        upstreams=origins,
        upstream_file=file,
        out=request.out,
        keep_errors=request.keep_errors,
    )


def serve(
    request: ServeRequest, *, tell: Callable[[dict[str, Json]], None], note: Callable[[str], None]
) -> ServeReport:
    """Serve until SIGINT or SIGTERM.

    tell: called once requests are accepted, with the address and what is served.
    note: told in one line what happens to the server while it serves.
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
    report: ServeReport = work.run(request, prepare_server(request), tell=tell, note=note)
    return report


def _check(request: ServeRequest, file: str) -> None:
    if request.rules not in ("compat", "strict"):
        raise UsageError(f"unknown rules {request.rules!r}", where="--rules", expected="compat or strict")
    if request.mode is Mode.STRICT and request.models:
        raise UsageError(
            "a strict server computes nothing", where="--model", expected="--mode replay with a local model"
        )
    if request.mode is not Mode.RECORD:
        if request.out or request.keep_errors:
            raise UsageError(
                "only a recording server writes answers",
                where="--out" if request.out else "--keep-errors",
                expected="--mode record --upstream FILE.toml --out FOLDER",
            )
    elif not request.out or not (file or request.models):
        missing = (
            "--upstream FILE.toml, or --model NAME, which is asked"
            if request.out
            else "--out FOLDER, where answers are written"
        )
        raise UsageError("a recording server is not whole", where="--mode record", expected=missing)
    elif request.log and Path(request.log).resolve() == Path(request.out).resolve():
        raise UsageError("--log and --out name one folder", where=request.out, expected="a folder for each")
    elif request.workers != 1:
        raise UsageError(
            "one process records: its overlay has one writer", where="--workers", expected="--workers 1"
        )


def _locate(request: ServeRequest, home: Path | None) -> LibraryPaths:
    """Find the archive; record mode may begin one that is not there yet."""
    archive = find_archive(request.archive)
    if request.mode is not Mode.RECORD or archive.exists():
        return locate_stores(archive, home=home, bases=[Path(base) for base in request.bases])[0]
    if not archive.parent.is_dir():
        raise InputError("no such folder", where=str(archive.parent), expected="a folder for the archive")
    facts = check_facts(ArchiveFacts(name=archive.stem, version=_FIRST_VERSION, benchmark=HTTP))
    return LibraryPaths(
        stores=(), root=Digest(""), name=facts.name, version=facts.version, benchmark=facts.benchmark
    )


def _check_upstreams(file: str, benchmark: str, mode: Mode) -> None:
    """Read the file and every secret that it names, before anybody waits for an answer."""
    if mode is not Mode.RECORD and benchmark != HTTP:
        raise UsageError(
            "only a recording server asks upstreams", where=f"--upstream {file}", expected="--mode record"
        )
    found = load_upstreams(Path(file), needs_routes=benchmark != HTTP)
    for upstream in found.values():
        read_sent_always(upstream)
    has_model = any(upstream.kind == OPENAI for upstream in found.values())
    if benchmark not in (HTTP, STABLETOOLBENCH) and not has_model:
        raise UsageError(
            f"requests to a server are not recorded for {benchmark!r}",
            where=f"--upstream {file}",
            expected=f"a model (kind {OPENAI!r}), or an archive of {HTTP} exchanges or of {STABLETOOLBENCH}",
            next_step="replay run ARCHIVE --mode record --upstream FILE.toml plays a candidate",
        )


def _read_upstreams(words: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """Tell the file of live upstreams from the names of recorded origins."""
    file, found = "", {}
    for word in words:
        name, equals, origin = word.partition("=")
        if not equals and not file:
            file = word
            continue
        if not equals or not name or "/" in name or not origin:
            expected = "NAME=ORIGIN, or one TOML file"
            raise InputError(f"upstream {word!r}", where="--upstream", expected=expected)
        found[name] = origin.rstrip("/")
    return file, found
