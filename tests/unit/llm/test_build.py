"""The build of the pinned library: its flags, its progress, reuse of what was built, how it fails."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from replay.core.errors import ModelError
from replay.llm.build import Progress, build_wheel, find_built, is_installed, main, pinned_flags, plan_build

PLAN = plan_build()


def keep_wheel(root: Path, *, data: bytes = b"a wheel", sha256: str = "") -> Path:
    """Put a wheel where a build would."""
    folder = root / PLAN.folder
    folder.mkdir(parents=True)
    (folder / "x.whl").write_bytes(data)
    built = {"wheel": "x.whl", "sha256": sha256 or hashlib.sha256(data).hexdigest(), "plan": PLAN}
    (folder / "built.json").write_bytes(msgspec.json.encode(built))
    return folder / "x.whl"


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_no_kernel_that_switches_on_the_batch_is_built(machine: str) -> None:
    """The four switches and the two extra libraries are off everywhere."""
    off = {"NATIVE", "OPENMP", "LLAMAFILE", "CPU_REPACK", "CPU_KLEIDIAI", "BLAS", "ACCELERATE"}
    assert {f"-DGGML_{name}=OFF" for name in off} <= set(pinned_flags(machine))


def test_x86_is_one_instruction_set() -> None:
    """Every x86-64 build is x86-64-v3, whatever the machine has."""
    assert {f"-DGGML_{name}=ON" for name in ("AVX", "AVX2", "FMA", "F16C", "BMI2")} <= set(
        pinned_flags("AMD64")
    )


def test_arm_has_no_paired_rows() -> None:
    """On arm64 the instruction set stops before i8mm and SVE."""
    (arch,) = [flag for flag in pinned_flags("arm64") if "ARM_ARCH" in flag]
    assert "-DGGML_CPU_ARM_ARCH=armv8.2-a+dotprod" == arch


def test_an_unknown_processor_has_no_pinned_build() -> None:
    """The families with a pinned build are listed."""
    with pytest.raises(
        ModelError, match=r"no pinned llama.cpp build for 'riscv64'; expected one of: aarch64, "
    ):
        pinned_flags("riscv64")


def test_other_flags_are_another_folder() -> None:
    """A change of version, platform or flags never meets an old wheel."""
    changes: list[dict[str, Any]] = [{}, {"version": "1"}, {"platform": "other"}, {"flags": ("-DX=ON",)}]
    assert 4 == len({msgspec.structs.replace(PLAN, **change).folder for change in changes})


def test_a_built_wheel_is_used_again(tmp_path: Path) -> None:
    """The wheel of the same plan is found; nothing is built."""
    wheel = keep_wheel(tmp_path)
    assert wheel == find_built(PLAN, tmp_path)


def test_a_built_wheel_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints its path on standard output and nothing else."""
    wheel = keep_wheel(tmp_path)
    assert 0 == main(["--wheels", str(tmp_path)])
    assert (f"{wheel}\n", "") == tuple(capsys.readouterr())


@pytest.mark.parametrize("harm", ["flipped", "gone", "no note", "other plan"])
def test_a_harmed_wheel_is_not_used(tmp_path: Path, harm: str) -> None:
    """A wheel that is not what was built is built again."""
    wheel = keep_wheel(tmp_path, sha256="00" if harm == "flipped" else "")
    if harm == "gone":
        wheel.unlink()
    if harm == "no note":
        wheel.with_name("built.json").write_text("{", "utf-8")
    plan = msgspec.structs.replace(PLAN, version="9") if harm == "other plan" else PLAN
    assert None is find_built(plan, tmp_path)


def test_progress_is_a_line_each_tenth(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal the numbers of the build's own output become ten lines, other output none."""
    progress = Progress()
    for number in range(1, 201):
        progress.line(f"  [{number}/200] /usr/bin/c++ -c file.cpp")
        progress.line("a warning")
        progress.line("[0/0] odd")
    lines = capsys.readouterr().err.splitlines()
    assert 11 == len(lines)
    assert lines[-1].startswith("[llama] 100 %, 200 of 200 files, ")


def test_without_a_compiler_it_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No compiler on the PATH is said before anything is fetched, with the way around it; nothing is left."""
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(
        ModelError, match=r"no compiler: none of cc, gcc, clang.*copy .*wheels/llama-0.* from a machine"
    ):
        build_wheel(PLAN, tmp_path / "wheels", Progress())
    assert not (tmp_path / "wheels").exists()


def test_the_command_without_a_compiler_is_exit_6(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As make llama runs it: the reason, what to install or to copy, and nothing on standard output."""
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert 6 == main(["--wheels", str(tmp_path / "wheels")])
    said = capsys.readouterr()
    last = said.err.splitlines()[-1]
    assert "" == said.out
    assert last.startswith("replay: no compiler: none of cc, gcc, clang is on the PATH; expected "), last
    assert "copy " in last
    assert not (tmp_path / "wheels").exists()


@pytest.mark.slow
def test_without_the_source_it_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An index without the source is one line with exit 6, and no half-made wheel stays."""
    for name in ("cc", "c++"):
        (tmp_path / name).write_text("#!/bin/sh\n", "utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    wheels = tmp_path / "wheels"
    assert 6 == main(["--wheels", str(wheels)])
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("replay: llama-cpp-python could not be built: ERROR: No matching distribution"), (
        last
    )
    assert ["build.log"] == [path.name for path in wheels.iterdir()]


def write_installed(folder: Path) -> Path:
    """Install a package of the runtime's name into a folder, and return the wheel it came in."""
    body = b"answer = 42\n"
    told = base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()
    info = "llama_cpp_python-0.3.36.dist-info"
    rows = (
        f"llama_cpp/core.py,sha256={told},12",
        f'"llama_cpp/a, b.py",sha256={told},12',
        f"{info}/RECORD,,",
    )
    files = {
        "llama_cpp/core.py": body,
        "llama_cpp/a, b.py": body,
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: llama-cpp-python\nVersion: 0.3.36\n",
        f"{info}/RECORD": "\n".join(rows).encode(),
    }
    with zipfile.ZipFile(folder / "toy.whl", "w") as wheel:
        for name, data in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
            wheel.writestr(name, data)
    return folder / "toy.whl"


def test_a_build_is_installed_when_its_files_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file by its hash: an altered or a missing one is installed again."""
    wheel = write_installed(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert is_installed(wheel)
    (tmp_path / "llama_cpp" / "core.py").write_bytes(b"answer = 43\n")
    assert not is_installed(wheel)
    (tmp_path / "llama_cpp" / "core.py").unlink()
    assert not is_installed(wheel)
