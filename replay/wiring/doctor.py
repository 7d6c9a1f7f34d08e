"""Everything a run will need, checked before it is needed."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

from replay.core.canonical import digest
from replay.core.errors import NetworkBlockedError, ReplayError
from replay.core.network import NetworkGuard
from replay.core.selftest import check_keys
from replay.core.types import Record
from replay.store.archive.verify import verify_archive
from replay.store.snapshots import SnapshotStore
from replay.wiring.models import known_models
from replay.wiring.places import data_home, shipped_archives
from replay.wiring.registering import inspect_runtime

__all__ = ["Check", "run_checks"]

_NEEDED = ("msgspec", "lmdb", "zstandard", "jsonschema", "typer", "rich", "platformdirs")
_WORLD = ("rapidfuzz", "phonenumbers", "pint", "holidays", "geographiclib")
"""What ToolSandbox's world rests on."""
_OPTIONAL = {"cryptography": "signatures: pip install 'replay-bench[sign]'"}
_ROOM_BYTES = 1 << 30


class Check(Record, frozen=True, kw_only=True):
    """One thing that was looked at."""

    name: str
    state: str
    """ok, note (works, but know this) or failed."""
    found: str
    next_step: str = ""


def run_checks(*, home: Path | None = None) -> Iterator[Check]:
    """Look at everything; a check that cannot be made is a failed one, with the reason."""
    for name, check in _checks(home):
        try:
            yield check()
        except ReplayError as error:
            yield Check(name=name, state="failed", found=str(error), next_step=error.next_step)
        except OSError as error:
            yield Check(name=name, state="failed", found=error.strerror or str(error))


def _checks(home: Path | None) -> Iterator[tuple[str, Callable[[], Check]]]:
    yield "python", _check_python
    for package in (*_NEEDED, *_WORLD):
        yield package, lambda package=package: _check_package(package)  # type: ignore[misc]
    for package, use in _OPTIONAL.items():
        yield package, lambda package=package, use=use: _check_optional(package, use)  # type: ignore[misc]
    yield "keys", _check_keys
    yield "network guard", _check_guard
    yield "stores", lambda: _check_home(data_home(home))
    yield "local model", _check_runtime
    yield "models", lambda: _check_models(home)
    for archive in shipped_archives():
        yield archive.name, lambda archive=archive: _check_archive(archive)  # type: ignore[misc]


def _check_python() -> Check:
    found = f"{platform.python_implementation()} {platform.python_version()} on {platform.machine()}"
    return Check(name="python", state="ok", found=found)


def _check_package(name: str) -> Check:
    try:
        return Check(name=name, state="ok", found=importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Check(name=name, state="failed", found="not installed", next_step=f"pip install {name}")


def _check_optional(name: str, use: str) -> Check:
    if importlib.util.find_spec(name) is None:
        return Check(name=name, state="note", found=f"not installed; needed for {use}")
    return _check_package(name)


def _check_keys() -> Check:
    """Flip every field of sample requests: each must be another key, or declared to be left out."""
    checks = check_keys()
    faults = [f"{check.kind} {check.field}: {check.fault}" for check in checks if check.fault]
    if faults:
        return Check(
            name="keys", state="failed", found="; ".join(faults), next_step="this is our bug: report it"
        )
    changes = sum(check.changes for check in checks)
    left_out = [f"{check.kind} {check.field}" for check in checks if not check.in_key]
    found = f"{changes} single changes of {len(checks)} fields, every one in a key is a miss"
    return Check(name="keys", state="ok", found=f"{found}; declared left out: {len(left_out)}")


def _check_guard() -> Check:
    """Try to reach an address that nobody has; the guard must refuse before anything is sent."""
    with NetworkGuard() as guard:
        try:
            socket.getaddrinfo("replay.invalid", 80)
        except NetworkBlockedError:
            pass
        except OSError:
            return Check(name="network guard", state="failed", found="a look-up went out")
    if guard.attempts != 1:
        return Check(name="network guard", state="failed", found=f"counted {guard.attempts} attempts, not 1")
    return Check(name="network guard", state="ok", found="refuses and counts")


def _check_home(home: Path) -> Check:
    """Write, read and remove a small store where stores will live."""
    home.mkdir(parents=True, exist_ok=True)
    trial = home / ".doctor"
    shutil.rmtree(trial, ignore_errors=True)
    with SnapshotStore.create(trial, meta={"doctor": digest("doctor", True)}) as store:  # noqa: FBT003
        faults = store.fsck()
    shutil.rmtree(trial, ignore_errors=True)
    free = shutil.disk_usage(home).free
    if faults:
        return Check(name="stores", state="failed", found=f"{home}: {faults[0].what}")
    if free < _ROOM_BYTES:
        return Check(
            name="stores", state="note", found=f"{home} has {free >> 20} MiB free", next_step="make room"
        )
    return Check(name="stores", state="ok", found=f"{home} can be written, {free >> 30} GiB free")


def _check_runtime() -> Check:
    """Look at the llama.cpp build; only generating needs one."""
    report = inspect_runtime()
    found = f"llama-cpp-python {report.version}, {report.state}" if report.version else "not installed"
    if report.is_pinned:
        return Check(name="local model", state="ok", found=found)
    why = f"{found}; needed only to generate"
    if report.version:
        why = f"{found}: {'; '.join(report.faults)}"
    return Check(name="local model", state="note", found=why, next_step=report.next_step)


def _check_models(home: Path | None) -> Check:
    """Name the models that are here, without hashing them."""
    models = known_models(home)
    here = [model.name for model in models if model.state == "here"]
    if here:
        return Check(name="models", state="ok", found=", ".join(here))
    known = ", ".join(model.name for model in models)
    return Check(
        name="models", state="note", found=f"none here; known: {known}", next_step="replay models fetch"
    )


def _check_archive(path: Path) -> Check:
    report = verify_archive(path)
    if report.ok:
        return Check(name=path.name, state="ok", found=f"{report.rows_total} rows, {report.root}")
    first = report.findings[0]
    return Check(
        name=path.name,
        state="failed",
        found=f"{first.member} {first.record}: {first.what}",
        next_step="install the package again",
    )
