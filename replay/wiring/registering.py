"""What a model computes with here: the build is judged, the self-test is run once, the fingerprint is made.

A self-test belongs to one file, one build and one set of settings, and is kept beside the weights; whoever
generates asks here first and gets the schedule that it decided for.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from replay.core.canonical import digest
from replay.core.errors import ModelError
from replay.core.types import Digest, Json, Record
from replay.llm.llamacpp.binding import load_library
from replay.llm.llamacpp.fingerprint import make_fingerprint
from replay.llm.llamacpp.jobs import EngineSettings
from replay.llm.llamacpp.schedule import INVARIANT
from replay.llm.llamacpp.selftest import RECIPE, REFUSED, SelfTestReport, run_selftest
from replay.llm.runtime import (
    REPAIR,
    RuntimeReport,
    check_pinned,
    find_binding,
    inspect_build,
    require_binding,
)
from replay.llm.weights import ModelFacts, ModelLibrary, ModelRow
from replay.wiring.models import open_library

__all__ = ["ModelCard", "RuntimeReport", "fingerprint_model", "inspect_runtime", "make_card", "try_model"]


class ModelCard(Record, frozen=True, kw_only=True):
    """One model on this machine: what it is, what it runs on, what that was found to do."""

    facts: ModelFacts
    runtime: RuntimeReport
    settings: EngineSettings
    selftest: SelfTestReport
    """Its checks, and the schedule they decided for."""
    fingerprint: Digest
    """Digest of everything that the bits of its answers depend on here."""
    document: Json
    """What the fingerprint is a digest of."""


def inspect_runtime() -> RuntimeReport:
    """Look at the llama.cpp build of this environment; a missing one is a state, not an error."""
    if not find_binding():
        faults = ("llama-cpp-python is not installed",)
        return RuntimeReport(state="missing", faults=faults, next_step=REPAIR)
    library = load_library()
    return inspect_build(library.system_info(), version=library.version())


def fingerprint_model(
    word: str,
    *,
    settings: EngineSettings | None = None,
    allow_unpinned: bool = False,
    home: Path | None = None,
) -> ModelCard:
    """Find a model and make its card. Errors: ModelError as make_card, and for an unknown model."""
    library = open_library(home)
    return make_card(library.find(word), library, settings=settings, allow_unpinned=allow_unpinned)


def try_model(word: str, *, keep: bool, home: Path | None = None) -> ModelCard:
    """Make the card of a model that was just registered; unless `keep`, one that cannot be used goes again.

    Errors:  ModelError as make_card.
    """
    library = open_library(home)
    row = library.find(word)
    try:
        return make_card(row, library)
    except ModelError:
        if not keep:
            library.remove(row)
        raise


def make_card(
    row: ModelRow,
    library: ModelLibrary,
    *,
    settings: EngineSettings | None = None,
    allow_unpinned: bool = False,
) -> ModelCard:
    """Judge the build, take or run the self-test, make the fingerprint.

    Errors:  ModelError without a build, with another build that was not allowed, and for a model that failed
    its self-test under every schedule.
    """
    chosen = settings or EngineSettings()
    require_binding()
    runtime = inspect_runtime()
    check_pinned(runtime, allow_unpinned=allow_unpinned)
    report = _selftest(row, library, runtime=runtime, settings=chosen)
    if report.schedule == REFUSED:
        raise ModelError(
            f"{row.name} gives other bits for the same request on this build, under every schedule",
            where=f"self-test, architecture {row.facts.architecture!r}",
            expected="logits that do not depend on what was computed before",
            next_step="choose another model; its frozen answers replay all the same",
        )
    judged = {"state": runtime.state, "faults": list(runtime.faults)}
    made = make_fingerprint(report, chosen, runtime=judged)
    return ModelCard(
        facts=row.facts,
        runtime=runtime,
        settings=chosen,
        selftest=report,
        fingerprint=made.digest,
        document=made.document,
    )


def _selftest(
    row: ModelRow, library: ModelLibrary, *, runtime: RuntimeReport, settings: EngineSettings
) -> SelfTestReport:
    """Return the kept self-test of this file, build and settings; run it when there is none.

    Another recipe of the checks tests again. An invariant model was shown not to care about any setting, so
    its result holds for all of them.
    """
    whatever = digest("selftest", [RECIPE, runtime.build])
    exactly = digest("selftest", [RECIPE, runtime.build, msgspec.to_builtins(settings)])
    for key in (whatever, exactly):
        kept = _read(library.selftest(row, key))
        if kept is not None:
            return kept
    report = run_selftest(row.path, settings)
    key = whatever if report.schedule == INVARIANT else exactly
    library.store_selftest(row, key, msgspec.to_builtins(report))
    return report


def _read(kept: Json) -> SelfTestReport | None:
    """Read a kept result; one that an earlier version wrote in another form is made again."""
    try:
        return None if kept is None else msgspec.convert(kept, SelfTestReport)
    except msgspec.ValidationError:
        return None
