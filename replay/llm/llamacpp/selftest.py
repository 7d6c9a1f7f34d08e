"""The self-test of a model on this build: does any way to compute the same tokens give the same bits?

Each check computes the logits of one prompt in two ways and compares them as bytes. When all of them agree,
the model is batch-invariant here and the invariant schedule is safe. When not, the canonical schedule is put
to the test as it is used: jobs before, between and after others against a fresh start. A model that fails
that too is refused.

`run_selftest` works in a process of its own, because native code that meets a crafted or unknown file may end
its process.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import msgspec

from replay.core.determinism import child_environment
from replay.core.errors import InputError, MissingExtraError, ModelError
from replay.core.types import Record
from replay.llm.llamacpp.jobs import EngineSettings, check_settings

__all__ = ["RECIPE", "REFUSED", "SelfTestCheck", "SelfTestReport", "run_selftest"]

REFUSED: Final = "refused"

RECIPE: Final = 3
"""Of the checks: what another recipe found is not taken for a result of this one."""

_MODULE: Final = "replay.llm.llamacpp.selftest_process"
_MAX_REPORT_BYTES: Final = 1 << 20


class SelfTestCheck(Record, frozen=True, kw_only=True):
    """One comparison."""

    name: str
    ok: bool
    expected: str
    """Start of the SHA-256 of the logits computed at once, from a fresh start."""
    differing: tuple[str, ...] = ()
    """The ways that gave other bits."""


class SelfTestReport(Record, frozen=True, kw_only=True):
    """What the self-test found."""

    schedule: str
    """invariant, canonical or refused."""
    checks: tuple[SelfTestCheck, ...]
    canary: str
    """`sha256:` over the logits of the test prompt and of the tokens generated after it."""
    binding_version: str
    engine_version: str
    system_info: str
    """What the library says it was compiled with."""


class Failure(Record, frozen=True, kw_only=True):
    """An error of the process that ran the self-test."""

    kind: str
    what: str
    where: str = ""
    expected: str = ""
    next_step: str = ""


class Outcome(Record, frozen=True, kw_only=True):
    """What the process that ran the self-test writes."""

    report: SelfTestReport | None = None
    failure: Failure | None = None


def run_selftest(weights: Path, settings: EngineSettings) -> SelfTestReport:
    """Test a model in a process of its own and decide its schedule.

    Errors:  ModelError when the file cannot be run, also when native code ends on it; MissingExtraError
             without the binding; InputError for settings out of range.
    """
    check_settings(settings)
    asked = msgspec.json.encode(settings).decode()
    try:
        done = subprocess.run(  # noqa: S603  this program itself, no shell
            [sys.executable, "-m", _MODULE, str(weights), asked],
            env=child_environment("PYTHONPATH"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise ModelError(f"the self-test cannot be started: {error.strerror}") from None
    if done.returncode != 0 or len(done.stdout) > _MAX_REPORT_BYTES:
        ending = _ending(done.returncode, done.stderr)
        raise ModelError(
            f"the self-test of {weights.name} ended without a result ({ending})",
            where=str(weights),
            expected="a complete GGUF file of a model that generates text",
        )
    outcome = msgspec.json.decode(done.stdout, type=Outcome)
    if outcome.report is None:
        raise _error_of(outcome.failure)
    return outcome.report


def _ending(code: int, stderr: bytes) -> str:
    """Say how a process ended: by which signal, or with which last words."""
    said = stderr.decode("utf-8", "replace").strip().splitlines()
    last = next((line for line in said if "GGML_ASSERT" in line), said[-1] if said else "")
    last = last.rpartition("/")[2][:200]
    try:
        how = signal.Signals(-code).name if code < 0 else f"code {code}"
    except ValueError:
        how = f"signal {-code}"
    return f"{how}: {last}" if last else how


def _error_of(failure: Failure | None) -> Exception:
    if failure is None:
        return ModelError("the self-test gave neither a report nor a reason")
    kinds = {"MissingExtraError": MissingExtraError, "InputError": InputError}
    return kinds.get(failure.kind, ModelError)(
        failure.what, where=failure.where, expected=failure.expected, next_step=failure.next_step
    )
