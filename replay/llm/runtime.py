"""The llama.cpp build in this environment: is there one, is it the pinned one, and how to repair it.

llama.cpp's answers depend on how it was compiled: several of its kernels switch on the number of rows in a
batch, and `GGML_NATIVE` makes every processor family another program (`models/README.md` lists every switch
with its line and what pins it). A pinned build is recognised by what the library says of itself, before a
model is loaded; the self-test of each model then proves it.

This module never imports the binding (`llm/llamacpp/binding.py` does, with the environment that the kernels
read pinned first); it looks at the installation and judges the text that the loaded library gives.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import re
from typing import Final

from replay.core.canonical import digest
from replay.core.errors import ModelError
from replay.core.types import Digest, Record

__all__ = [
    "BINDING_VERSION",
    "REPAIR",
    "RuntimeReport",
    "check_pinned",
    "find_binding",
    "inspect_build",
    "require_binding",
]

BINDING_VERSION: Final = "0.3.36"
"""The llama-cpp-python release whose kernels were read and measured."""

REPAIR: Final = "make llama (in an environment of your own: python -m replay.llm.build --install)"
"""Builds and installs the pinned library: into the checkout's .venv, or where that Python is."""

_PACKAGE: Final = "llama-cpp-python"
_MODULE: Final = "llama_cpp"

_X86: Final = frozenset({"SSE3", "SSSE3", "AVX", "AVX2", "F16C", "FMA", "BMI2"})
_ARM: Final = frozenset({"NEON", "ARM_FMA", "DOTPROD"})
_EXPECTED: Final = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}

# Why a feature that the pinned build does not have makes another program of it.
_FAULTS: Final = {
    "LLAMAFILE": "its matrix kernels start at 2 rows (GGML_LLAMAFILE)",
    "REPACK": "its matrix kernels start at 4 rows (GGML_CPU_REPACK)",
    "OPENMP": "another thread pool (GGML_OPENMP)",
    "KLEIDIAI": "it has other kernels for 1 row (GGML_CPU_KLEIDIAI)",
    "AMX_INT8": "it has other kernels for 1 row (GGML_AMX_INT8)",
    "ACCELERATE": "Apple's vector library (GGML_ACCELERATE)",
    "MATMUL_INT8": "its kernels take rows in pairs (i8mm)",
}

_FEATURE: Final = re.compile(r"([A-Z0-9_]{1,40}) = (\d{1,9})\b")
_BACKEND: Final = re.compile(r"([A-Za-z0-9_]{1,40}) : ")
_MAX_INFO: Final = 10_000  # characters of the library's own description that are looked at


class RuntimeReport(Record, frozen=True, kw_only=True):
    """What is known of the library in this environment."""

    state: str
    """pinned, unpinned or missing."""
    version: str = ""
    """Of llama-cpp-python; empty when it is missing."""
    machine: str = ""
    """Processor family as Python names it."""
    features: tuple[str, ...] = ()
    """What the CPU part of the library was built with, sorted."""
    backends: tuple[str, ...] = ()
    """Other parts that compute (a GPU, a BLAS), sorted."""
    faults: tuple[str, ...] = ()
    """Why it is not the pinned build."""
    next_step: str = ""

    @property
    def is_pinned(self) -> bool:
        """True when this build may generate answers that are kept."""
        return self.state == "pinned"

    @property
    def build(self) -> Digest:
        """Digest of the build as far as it can be seen; a part of the numeric fingerprint."""
        return digest(
            "llama-build", [self.version, self.machine, list(self.features), list(self.backends), self.state]
        )


def find_binding() -> str:
    """Return the installed version of the binding without importing it; empty when there is none."""
    if importlib.util.find_spec(_MODULE) is None:
        return ""
    try:
        return importlib.metadata.version(_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def require_binding() -> str:
    """Return the installed version of the binding.

    Errors:  ModelError when there is none, with the command that builds it.
    """
    version = find_binding()
    if not version:
        raise ModelError(
            "the local model needs llama-cpp-python, which is not installed",
            expected=f"{_PACKAGE} {BINDING_VERSION} in its pinned build",
            next_step=f"{REPAIR}; a replay of frozen answers needs no model at all",
        )
    return version


def inspect_build(
    system_info: str, *, version: str | None = None, machine: str | None = None
) -> RuntimeReport:
    """Judge a loaded library by its own description (`llama_print_system_info`)."""
    installed = find_binding() if version is None else version
    family = (platform.machine() if machine is None else machine).lower()
    parts = _parse_info(system_info[:_MAX_INFO])
    features = frozenset(name for name, value in parts.get("CPU", {}).items() if value)
    backends = tuple(sorted(parts.keys() - {"CPU"}))
    faults = (
        *_version_faults(installed),
        *_feature_faults(features, family),
        *(f"it also computes on {name}" for name in backends),
    )
    return RuntimeReport(
        state="unpinned" if faults else "pinned",
        version=installed,
        machine=family,
        features=tuple(sorted(features)),
        backends=backends,
        faults=faults,
        next_step=REPAIR if faults else "",
    )


def check_pinned(report: RuntimeReport, *, allow_unpinned: bool = False) -> None:
    """Refuse to generate with a build that is not the pinned one, unless a person said so.

    Errors:  ModelError that names every difference and the command that repairs it.
    """
    if report.is_pinned or (allow_unpinned and report.state == "unpinned"):
        return
    raise ModelError(
        f"this llama-cpp-python {report.version} is not the pinned build: {'; '.join(report.faults)}",
        expected=f"{_PACKAGE} {BINDING_VERSION} built with the flags of models/README.md",
        next_step=f"{REPAIR}; or --allow-unpinned, which marks the run and changes the fingerprint",
    )


def _parse_info(text: str) -> dict[str, dict[str, int]]:
    """Read `CPU : AVX = 1 | AVX2 = 1 | BLAS : ...` into backend -> feature -> value."""
    parts: dict[str, dict[str, int]] = {}
    names = list(_BACKEND.finditer(text))
    ends = [*(found.start() for found in names[1:]), len(text)]
    for found, end in zip(names, ends, strict=False):
        features = {name: int(value) for name, value in _FEATURE.findall(text[found.end() : end])}
        parts.setdefault(found.group(1), {}).update(features)
    return parts


def _version_faults(installed: str) -> tuple[str, ...]:
    return () if installed == BINDING_VERSION else (f"version {installed}, not {BINDING_VERSION}",)


def _feature_faults(features: frozenset[str], family: str) -> tuple[str, ...]:
    expected = _EXPECTED.get(family)
    if expected is None:
        return (f"no pinned build is defined for {family}",)
    extra = sorted(features - expected)
    missing = sorted(expected - features)
    return (
        *(f"built with {name}: {_FAULTS.get(name, 'other vector instructions')}" for name in extra),
        *(f"built without {name}" for name in missing),
    )
