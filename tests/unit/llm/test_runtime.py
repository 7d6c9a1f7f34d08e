"""A llama.cpp build is judged by what it says of itself."""

from __future__ import annotations

import pytest

from replay.core.errors import ModelError
from replay.llm.runtime import BINDING_VERSION, REPAIR, RuntimeReport, check_pinned, inspect_build

X86 = "CPU : SSE3 = 1 | SSSE3 = 1 | AVX = 1 | AVX2 = 1 | F16C = 1 | FMA = 1 | BMI2 = 1 | "
ARM = "CPU : NEON = 1 | ARM_FMA = 1 | DOTPROD = 1 | "
DEFAULT = X86 + "AVX512 = 1 | AVX512_VNNI = 1 | LLAMAFILE = 1 | OPENMP = 1 | REPACK = 1 | "


def inspect(info: str, *, version: str = BINDING_VERSION, machine: str = "x86_64") -> RuntimeReport:
    """Judge a build of the pinned version."""
    return inspect_build(info, version=version, machine=machine)


@pytest.mark.parametrize(
    ("info", "machine"), [(X86, "x86_64"), (X86, "AMD64"), (ARM, "aarch64"), (ARM, "arm64")]
)
def test_the_pinned_build_is_recognised(info: str, machine: str) -> None:
    """Exactly the features of the pinned flags, on either processor family."""
    report = inspect(info, machine=machine)
    assert ("pinned", (), "") == (report.state, report.faults, report.next_step)


def test_a_default_build_is_named_fault_by_fault() -> None:
    """Every kernel set that switches on the batch size is named, with the command that repairs it."""
    report = inspect(DEFAULT)
    assert ("unpinned", REPAIR) == (report.state, report.next_step)
    assert [
        "built with AVX512: other vector instructions",
        "built with AVX512_VNNI: other vector instructions",
        "built with LLAMAFILE: its matrix kernels start at 2 rows (GGML_LLAMAFILE)",
        "built with OPENMP: another thread pool (GGML_OPENMP)",
        "built with REPACK: its matrix kernels start at 4 rows (GGML_CPU_REPACK)",
    ] == list(report.faults)


@pytest.mark.parametrize(
    ("info", "version", "machine", "fault"),
    [
        (X86, "0.3.35", "x86_64", "version 0.3.35, not 0.3.36"),
        (X86, "unknown", "x86_64", "version unknown, not 0.3.36"),
        (X86.replace("FMA = 1 | ", ""), "0.3.36", "x86_64", "built without FMA"),
        (X86.replace("BMI2 = 1", "BMI2 = 0"), "0.3.36", "x86_64", "built without BMI2"),
        (X86 + "CUDA : ARCHS = 900 | ", "0.3.36", "x86_64", "it also computes on CUDA"),
        (X86, "0.3.36", "riscv64", "no pinned build is defined for riscv64"),
        (
            ARM + "MATMUL_INT8 = 1 | ",
            "0.3.36",
            "aarch64",
            "built with MATMUL_INT8: its kernels take rows in pairs (i8mm)",
        ),
        (ARM + "SVE = 1 | ", "0.3.36", "aarch64", "built with SVE: other vector instructions"),
    ],
)
def test_each_difference_is_a_fault(info: str, version: str, machine: str, fault: str) -> None:
    """Another version, a missing or an extra feature, a second device, an unknown processor."""
    report = inspect(info, version=version, machine=machine)
    assert ("unpinned", (fault,)) == (report.state, report.faults)


@pytest.mark.parametrize("info", ["", "nothing like it", "CPU", " : = | " * 10_000, "CPU : \x1b[31m"])
def test_any_text_can_be_judged(info: str) -> None:
    """What the library says is text from outside; without features it is not the pinned build."""
    assert "unpinned" == inspect(info).state


def test_a_wrong_build_does_not_generate() -> None:
    """Generation with it is refused, with exit 6, the differences and the repair."""
    with pytest.raises(
        ModelError,
        match=r"not the pinned build: .*REPACK.*next: make llama .*llm\.build.*; or --allow-unpinned",
    ) as caught:
        check_pinned(inspect(DEFAULT))
    assert 6 == caught.value.exit_code


def test_a_wrong_build_may_be_allowed_by_name() -> None:
    """A person may say so; the report still says unpinned, and its digest is another."""
    report = inspect(DEFAULT)
    check_pinned(report, allow_unpinned=True)
    check_pinned(inspect(X86))
    assert report.build != inspect(X86).build


def test_a_missing_build_cannot_be_allowed() -> None:
    """Nothing generates without a library."""
    with pytest.raises(ModelError, match=r"not the pinned build"):
        check_pinned(RuntimeReport(state="missing"), allow_unpinned=True)


def test_every_part_of_a_build_is_in_its_digest() -> None:
    """Version, processor family and features make another build."""
    builds = [
        inspect(X86),
        inspect(X86, version="1"),
        inspect(X86, machine="amd64"),
        inspect(X86 + "AVX512 = 1 | "),
    ]
    assert 4 == len({report.build for report in builds})
