"""The self-test: what passes it, what it finds, and what it makes of files that cannot be run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from replay.core.determinism import child_environment
from replay.core.errors import InputError, ModelError
from replay.llm.llamacpp.jobs import EngineSettings
from replay.llm.llamacpp.schedule import CANONICAL, INVARIANT
from replay.llm.llamacpp.selftest import SelfTestReport, run_selftest
from tests.support.data import CHECKOUT
from tests.support.tiny_gguf import (
    KINDS,
    write_doubled_word,
    write_tiny_embedder,
    write_tiny_llama,
    write_tiny_mamba,
    write_tiny_sliding,
    write_vocabulary_only,
)
from tests.support.weights import need_binding, need_model

pytestmark = pytest.mark.model

SETTINGS = EngineSettings(threads=1)
CHECKS = [
    "decode, then continue",
    "splits",
    "1 and 8 sequences",
    "threads",
    "context size",
    "warm prefix",
    "jobs, invariant schedule",
]
FAST = ("Q4_K",)


def examine(weights: Path, settings: EngineSettings = SETTINGS) -> SelfTestReport:
    """Run the checks in this process."""
    need_binding()
    from replay.llm.llamacpp.examination import examine_model

    return examine_model(weights, settings)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind in FAST else pytest.mark.slow) for kind in KINDS]
)
def test_every_type_of_weights_is_invariant(tmp_path: Path, kind: str) -> None:
    """On the pinned build, by every check."""
    report = examine(write_tiny_llama(tmp_path / "tiny.gguf", kind))
    assert [(name, True) for name in CHECKS] == [(check.name, check.ok) for check in report.checks]
    assert INVARIANT == report.schedule


@pytest.mark.slow
@pytest.mark.parametrize("write", [write_tiny_sliding, write_tiny_mamba])
def test_windows_and_recurrent_states_pass_too(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    """A recurrent state that cannot go back is computed anew."""
    assert INVARIANT == examine(write(tmp_path / "tiny.gguf")).schedule


@pytest.mark.slow
@pytest.mark.parametrize("name", ["smollm2-135m", "gemma3-270m"])
def test_both_models_of_the_manifests_pass(name: str) -> None:
    """In the process that registration uses."""
    need_binding()
    assert INVARIANT == run_selftest(need_model(name).path, SETTINGS).schedule


@pytest.mark.slow
def test_equal_files_have_equal_canaries(tmp_path: Path) -> None:
    """Whatever the settings; another weight has another."""
    one, same, other = (
        write_tiny_llama(tmp_path / f"{name}.gguf", seed=seed)
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    settings = EngineSettings(threads=2, sequences=1, context_tokens=256, batch_tokens=64)
    assert examine(one).canary == examine(same, settings).canary != examine(other).canary


_TILED = """
import sys
from pathlib import Path
import llama_cpp, msgspec
warm = llama_cpp.Llama(sys.argv[1], n_ctx=64, verbose=False)
warm.eval([1, 5, 6, 7])  # the library reads its variables at the first product, and once
warm.close()
from replay.llm.llamacpp.examination import examine_model
from replay.llm.llamacpp.jobs import EngineSettings
sys.stdout.buffer.write(msgspec.json.encode(examine_model(Path(sys.argv[1]), EngineSettings(threads=1))))
"""


@pytest.mark.parametrize(
    "kind", ["Q6_K", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("Q2_K", "Q4_K", "IQ3_S"))]
)
def test_kernels_that_switch_on_the_batch_lead_to_the_canonical_schedule(tmp_path: Path, kind: str) -> None:
    """With the tiled kernels of K-quants, which start at 8 rows: calls matter, jobs come out alike anyway."""
    need_binding()
    weights = write_tiny_llama(tmp_path / "tiny.gguf", kind)
    done = subprocess.run(
        [sys.executable, "-c", _TILED, weights],
        env={**child_environment(), "GGML_CPU_TILED_MM": "1"},
        cwd=CHECKOUT,
        capture_output=True,
        check=True,
    )
    report = msgspec.json.decode(done.stdout, type=SelfTestReport)
    failed = {check.name: check.differing for check in report.checks if not check.ok}
    assert CANONICAL == report.schedule
    assert {f"sequence {place}" for place in range(8)} == {*failed["1 and 8 sequences"]}
    assert ("jobs, canonical schedule", True) == (report.checks[-1].name, report.checks[-1].ok)
    if kind == "Q6_K":
        assert {f"tail {size}" for size in range(1, 8)} <= {*failed["splits"]}


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (write_doubled_word, r"tiny\.gguf ended without a result \(SIGABRT: .*GGML_ASSERT"),
        (write_tiny_embedder, r"tiny\.gguf is an embedding model; expected a model that generates text"),
        (write_vocabulary_only, r"tiny\.gguf cannot be loaded: "),
        (lambda path: path.write_bytes(b"GGUF") and path, r"tiny\.gguf cannot be loaded: "),
        (lambda path: path, r"no model file tiny\.gguf"),
    ],
    ids=["aborts", "embedder", "vocabulary", "truncated", "missing"],
)
def test_what_cannot_be_run_is_one_line(tmp_path: Path, write: Callable[[Path], Path], message: str) -> None:
    """Also when native code ends its process, which is not this one."""
    need_binding()
    with pytest.raises(ModelError, match=message) as caught:
        run_selftest(write(tmp_path / "tiny.gguf"), SETTINGS)
    assert 1 == len(str(caught.value).splitlines())
    assert 6 == caught.value.exit_code


def test_settings_are_checked_before_a_process_is_started(tmp_path: Path) -> None:
    """Like those of the engine."""
    with pytest.raises(InputError, match="engine setting threads = 0"):
        run_selftest(tmp_path / "none.gguf", EngineSettings(threads=0))
