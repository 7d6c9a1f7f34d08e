"""Live upstreams asked without a candidate: calls of a want list recorded, recorded answers compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from replay.core.canonical import canonical_bytes, parse_json
from replay.core.errors import CanonicalError, InputError, UpstreamError, UsageError
from replay.core.keys import call_key
from replay.core.protocols import ToolSource
from replay.core.types import (
    CallRequest,
    Json,
    Key,
    Mode,
    Origin,
    Provenance,
    Record,
    Snapshot,
    SnapshotKind,
    ToolSpec,
)
from replay.store.answers import make_api_snapshot
from replay.tools.asking import LiveFailureError
from replay.tools.keys import recipe_for
from replay.tools.recording import answer_of
from replay.tools.upstreams import load_upstreams
from replay.wiring.explaining import list_misses
from replay.wiring.library import Library, LibraryPaths, find_archive, locate_stores, open_library
from replay.wiring.overlays import open_sink
from replay.wiring.requests import RunRequest
from replay.wiring.upstreams import JOURNAL, open_upstreams, plan_upstreams

__all__ = ["Drift", "DriftReport", "WantReport", "check_upstream", "list_uncovered", "record_wants"]

_MAX_LIST_BYTES: Final = 256 * 1024 * 1024
_SHOWN: Final = 120


class WantReport(Record, frozen=True, kw_only=True):
    """What became of a want list."""

    wanted: int
    """Different calls in the list."""
    recorded: dict[str, int]
    """Calls by what became of them: new, same, conflict; `held` when the archive has an answer."""
    failed: tuple[tuple[str, str], ...] = ()
    """Tool and reason of each call that got no answer."""
    not_calls: int = 0
    """Entries that want a completion or a verdict: a run with the model records these."""

    @property
    def new(self) -> int:
        """How many answers are new."""
        return self.recorded.get("new", 0)


class Drift(Record, frozen=True, kw_only=True):
    """One recorded answer and what the upstream says now."""

    key: Key
    tool: str
    state: str
    """same, differs, or failed."""
    where: str = ""
    """JSON path of the first difference, or why there was no answer."""
    recorded: str = ""
    live: str = ""


class DriftReport(Record, frozen=True, kw_only=True):
    """Everything that was compared."""

    items: tuple[Drift, ...]
    left_out: int
    """Recorded answers that no upstream of the file gives, that were made up, or that hold a mask."""

    def count(self, state: str) -> int:
        """Count answers in this state."""
        return sum(1 for item in self.items if item.state == state)


def record_wants(request: RunRequest, want_list: Path) -> WantReport:
    """Ask for every call of a want list and write the answers to the overlay of `request.out`.

    Errors:  InputError for a list that is none; UsageError without an upstream or a folder.
    """
    wants, others = _read_wants(want_list)
    if not request.out:
        raise UsageError("a want list is recorded into a folder", expected="--out FOLDER")
    with open_library(_locate(request)) as library, open_sink(Path(request.out)) as sink:
        source = _open_source(request, library, journal=str(Path(request.out) / JOURNAL))
        recipe, specs = recipe_for(library.paths.benchmark), _specs(library)
        outcomes: Counter[str] = Counter()
        failed: list[tuple[str, str]] = []
        for wanted in wants:
            call = _call(library.paths.benchmark, wanted, specs)
            keyed = recipe.apply(call)
            if library.store.count(call_key(keyed)):
                outcomes["held"] += 1
                continue
            try:
                result = source.answer(call, occurrence=0)
            except UpstreamError as error:
                failed.append((call.tool, error.what))
                continue
            if result is None:
                failed.append((call.tool, "no upstream of the file answers this tool"))
                continue
            sink.write((make_api_snapshot(keyed, answer_of(result)),))
        outcomes.update(sink.outcomes)
    return WantReport(
        wanted=len(wants),
        recorded=dict(sorted(outcomes.items())),
        failed=tuple(failed),
        not_calls=others,
    )


def list_uncovered(run_path: Path, file: Path) -> tuple[str, ...]:
    """List the tools that a run missed and that no upstream of the file is asked for."""
    wants: Any = list_misses(run_path)["wants"]
    found = (want["want"] for want in wants if isinstance(want["want"], dict))
    missed = {want["tool"] for want in found if want.get("kind") == SnapshotKind.API.value}
    upstreams = load_upstreams(file).values()
    return tuple(sorted(tool for tool in missed if not any(upstream.covers(tool) for upstream in upstreams)))


def check_upstream(request: RunRequest) -> DriftReport:
    """Ask for every recorded call again and compare; nothing is written.

    Errors:  UsageError without an upstream.
    """
    with open_library(_locate(request)) as library:
        source = _open_source(request, library)
        specs, left_out = _specs(library), 0
        items: list[Drift] = []
        for snapshot in _recorded(library):
            if request.limit is not None and len(items) >= request.limit:
                break
            item = _compare(snapshot, library.paths.benchmark, specs, source)
            left_out += item is None
            items += [] if item is None else [item]
    return DriftReport(items=tuple(items), left_out=left_out)


def _compare(
    snapshot: Snapshot, benchmark: str, specs: dict[str, ToolSpec], source: ToolSource
) -> Drift | None:
    made_up = snapshot.provenance is Provenance.SIMULATED or snapshot.origin is Origin.SIMULATED
    asked = snapshot.request
    if made_up or snapshot.sequence or not isinstance(asked, dict) or "arguments" not in asked:
        return None
    try:
        result = source.answer(_call(benchmark, asked, specs), occurrence=0)
    except LiveFailureError as error:
        if error.kind == "arguments":
            return None
        return Drift(key=snapshot.key, tool=snapshot.scope, state="failed", where=error.what)
    if result is None:
        return None
    now = answer_of(result).body
    where = _difference(_parsed(snapshot.body), _parsed(now))
    if where is None:
        return Drift(key=snapshot.key, tool=snapshot.scope, state="same")
    return Drift(
        key=snapshot.key,
        tool=snapshot.scope,
        state="differs",
        where=where,
        recorded=snapshot.body[:_SHOWN],
        live=now[:_SHOWN],
    )


def _difference(left: Json, right: Json, path: str = "$") -> str | None:
    """JSON path of the first difference, or None."""
    if isinstance(left, dict) and isinstance(right, dict):
        for name in sorted(left.keys() | right.keys()):
            if name not in left or name not in right:
                return f"{path}.{name}"
            found = _difference(left[name], right[name], f"{path}.{name}")
            if found is not None:
                return found
        return None
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        pairs = enumerate(zip(left, right, strict=True))
        return next(
            (found for i, (a, b) in pairs if (found := _difference(a, b, f"{path}[{i}]")) is not None), None
        )
    return None if canonical_bytes(left) == canonical_bytes(right) else path


def _parsed(text: str) -> Json:
    try:
        return parse_json(text)
    except CanonicalError:
        return text


def _recorded(library: Library) -> Iterator[Snapshot]:
    return iter(library.store.scan(SnapshotKind.API))


def _read_wants(path: Path) -> tuple[list[dict[str, Json]], int]:
    """Return the different calls of a want list, and how many other entries it has."""
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_LIST_BYTES + 1)
        document = parse_json(text[:_MAX_LIST_BYTES]) if len(text) <= _MAX_LIST_BYTES else None
        entries = [entry["want"] for entry in document["wants"]] if document is not None else None
    except OSError as error:
        raise InputError(f"want list cannot be read: {error.strerror}", where=str(path)) from None
    except (CanonicalError, KeyError, TypeError):
        entries = None
    if entries is None:
        raise InputError("not a want list", where=path.name, expected="what replay misses RUN -o FILE writes")
    calls: dict[bytes, dict[str, Json]] = {}
    others = 0
    for want in entries:
        if isinstance(want, dict) and want.get("kind") == "api" and isinstance(want.get("tool"), str):
            asked = {name: want.get(name) for name in ("tool", "arguments", "state")}
            calls.setdefault(canonical_bytes(asked), asked)
        else:
            others += 1
    return list(calls.values()), others


def _call(benchmark: str, asked: dict[str, Json], specs: dict[str, ToolSpec]) -> CallRequest:
    return CallRequest(
        benchmark=benchmark,
        tool=asked["tool"],
        arguments=asked["arguments"],
        state=str(asked.get("state") or ""),
        spec=specs.get(asked["tool"]),
    )


def _specs(library: Library) -> dict[str, ToolSpec]:
    return {spec.identity or spec.name: spec for spec in library.tools().values()}


def _locate(request: RunRequest) -> LibraryPaths:
    home = Path(request.home) if request.home else None
    bases = [Path(base) for base in request.bases]
    paths, _ = locate_stores(find_archive(request.archive), home=home, bases=bases)
    return paths


def _open_source(request: RunRequest, library: Library, *, journal: str = "") -> ToolSource:
    if request.modes.tools is not Mode.RECORD or not request.upstream:
        raise UsageError("nobody to ask", expected="--mode record --upstream FILE.toml")
    plan = plan_upstreams(request.upstream, request.modes)
    opened = open_upstreams(
        None if plan is None else msgspec.structs.replace(plan, journal=journal),
        request.modes,
        library.paths.benchmark,
        keep_errors=request.keep_errors,
    )
    if opened is None or opened.tools is None:
        raise UsageError(
            "no upstream of the file answers tools", where=request.upstream, expected="one of another kind"
        )
    return opened.tools
