"""What changes a numeric fingerprint, and what was shown to change no answer."""

from __future__ import annotations

from typing import Any

import pytest

from replay.core.types import Json
from replay.llm.llamacpp.fingerprint import make_fingerprint
from replay.llm.llamacpp.jobs import EngineSettings
from replay.llm.llamacpp.schedule import CANONICAL, INVARIANT
from replay.llm.llamacpp.selftest import SelfTestCheck, SelfTestReport

PINNED: Json = {"state": "pinned", "faults": []}


def print_of(
    settings: EngineSettings | None = None, *, runtime: Json = PINNED, ok: bool = True, **changes: Any
) -> str:
    """The digest for a report with some fields changed."""
    fields = {
        "schedule": INVARIANT,
        "canary": "sha256:aa",
        "binding_version": "0.3.36",
        "engine_version": "1",
        "system_info": "CPU : AVX2 = 1 |",
        **changes,
    }
    checks = (SelfTestCheck(name="splits", ok=ok, expected="ab"),)
    report = SelfTestReport(checks=checks, **fields)
    return make_fingerprint(report, settings or EngineSettings(), runtime=runtime).digest


@pytest.mark.parametrize("name", ["canary", "binding_version", "engine_version", "system_info", "schedule"])
def test_whatever_bits_can_depend_on_is_in_it(name: str) -> None:
    """Another library, build, instruction set, schedule, or other logits."""
    changes: dict[str, Any] = {name: CANONICAL}
    assert print_of() != print_of(**changes)


def test_an_unpinned_build_has_a_fingerprint_of_its_own() -> None:
    """Even if it says the same of itself and computes the same; so has a failed check."""
    unpinned: Json = {"state": "unpinned", "faults": ["built with REPACK"]}
    assert 3 == len({print_of(), print_of(runtime=unpinned), print_of(ok=False)})


def test_only_the_context_is_a_setting_of_the_invariant_schedule() -> None:
    """Runs with another number of jobs keep their root; the context decides what overflows."""
    same = EngineSettings(threads=7, sequences=1, batch_tokens=64)
    assert print_of() == print_of(same)
    assert print_of() != print_of(EngineSettings(context_tokens=1024))


def test_under_the_canonical_schedule_threads_and_chunks_count() -> None:
    """Nothing has shown that they do not."""
    found = {
        print_of(settings, schedule=CANONICAL)
        for settings in (EngineSettings(), EngineSettings(threads=7), EngineSettings(batch_tokens=32))
    }
    assert 3 == len(found)
    assert print_of(schedule=CANONICAL) == print_of(EngineSettings(sequences=1), schedule=CANONICAL)
