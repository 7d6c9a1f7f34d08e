"""Builds the pinned llama.cpp once and keeps the wheel: `python -m replay.llm.build` (`make llama`).

What is pinned and why is in `models/README.md`. The wheel lies in a folder named by version, platform and the
digest of the flags, so another set of flags is another folder, and a wheel that is there is used again after
its hash was checked: by every checkout and environment of this user, for the folders are in the user's cache.
pip's own cache of built wheels is kept out: it does not know the flags, and would hand a default build to
whoever asks next.

Writes to standard error, because it is a tool of the Makefile; `main` returns an exit code.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import importlib.metadata
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from replay.core.canonical import canonical_bytes, digest
from replay.core.determinism import Stopwatch, building_environment, read_environment
from replay.core.errors import ModelError, ReplayError, StoreError
from replay.core.types import Record
from replay.llm.pip_words import explain_pip
from replay.llm.runtime import BINDING_VERSION
from replay.store.archive.atomic import write_whole
from replay.store.homes import data_home

__all__ = [
    "BuildPlan",
    "Progress",
    "build_wheel",
    "default_wheels",
    "find_built",
    "is_installed",
    "main",
    "pinned_flags",
    "plan_build",
    "say",
]

_SDIST_SHA256: Final = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
_PACKAGE: Final = "llama-cpp-python"

# Flags of every platform: no kernels that switch on the size of a batch, no second library that computes.
_COMMON: Final = (
    "-DGGML_NATIVE=OFF",
    "-DGGML_OPENMP=OFF",
    "-DGGML_LLAMAFILE=OFF",
    "-DGGML_CPU_REPACK=OFF",
    "-DGGML_CPU_KLEIDIAI=OFF",
    "-DGGML_BLAS=OFF",
    "-DGGML_ACCELERATE=OFF",
    "-DMTMD_BUILD=OFF",
    "-DLLAVA_BUILD=OFF",
)
# llama.cpp's library for its own programs, an HTTP client among them: a third of the files, and nothing calls
# it. The binding forces it in, so only a variable of the inner project can leave it out.
_INNER: Final = ("LLAMA_BUILD_COMMON", "OFF")
_X86: Final = ("-DGGML_AVX=ON", "-DGGML_AVX2=ON", "-DGGML_FMA=ON", "-DGGML_F16C=ON", "-DGGML_BMI2=ON")
# Dot products, but neither i8mm (its kernels take rows in pairs) nor SVE (its width differs by processor).
_ARM: Final = ("-DGGML_CPU_ARM_ARCH=armv8.2-a+dotprod",)
_FLAGS: Final = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}

_STEP: Final = re.compile(r"\[(\d{1,6})/(\d{1,6})\]")
_SAID_PERCENT: Final = 10  # without a terminal, a line of progress is written when so much more is done
_COMPILERS: Final = (("cc", "gcc", "clang"), ("c++", "g++", "clang++"))


class BuildPlan(Record, frozen=True, kw_only=True):
    """What is built: the version, for which platform, with which flags."""

    version: str
    platform: str
    """System, processor and the kind of C library, as far as wheels differ by it."""
    flags: tuple[str, ...]

    @property
    def folder(self) -> str:
        """Name of the folder its wheel lies in."""
        short = digest("llama-flags", [self.version, self.platform, list(self.flags)])[7:19]
        return f"llama-{self.version}-{self.platform}-{short}"


class _Built(Record, frozen=True, kw_only=True):
    """What lies beside a wheel."""

    wheel: str
    sha256: str
    plan: BuildPlan


class Progress:
    """Tells on one stream how far a build is, from the `[n/m]` of its output."""

    def __init__(self) -> None:
        """Start the clock."""
        self._watch = Stopwatch()
        self._said = -_SAID_PERCENT
        self._draws = sys.stderr.isatty()

    def line(self, text: str) -> None:
        """Look at one line of the build's output."""
        found = _STEP.search(text)
        if found is None or not int(found.group(2)):
            return
        done, total = int(found.group(1)), int(found.group(2))
        percent = min(100, 100 * done // total)
        if self._draws:
            sys.stderr.write(f"\r[llama] {self._state(percent, done, total)}\x1b[K")
            sys.stderr.flush()
        elif percent >= self._said + _SAID_PERCENT:
            self._said = percent
            say(self._state(percent, done, total))

    def end(self, text: str) -> None:
        """Write the last line."""
        if self._draws:
            sys.stderr.write("\r\x1b[K")
        say(f"{text} after {self._watch.elapsed_s():.0f} s")

    def _state(self, percent: int, done: int, total: int) -> str:
        return f"{percent:3d} %, {done} of {total} files, {self._watch.elapsed_s():.0f} s"


def say(text: str) -> None:
    """Write one line of progress."""
    sys.stderr.write(f"[llama] {text}\n")
    sys.stderr.flush()


def pinned_flags(machine: str) -> tuple[str, ...]:
    """Return the flags for a processor family. Errors: ModelError for one without a pinned build."""
    own = _FLAGS.get(machine.lower())
    if own is None:
        raise ModelError(
            f"there is no pinned llama.cpp build for {machine!r}",
            expected=f"one of: {', '.join(sorted(_FLAGS))}",
            next_step="frozen answers replay without a model on every machine",
        )
    return (*_COMMON, f"-D{'='.join(_INNER)}", *own)


def plan_build() -> BuildPlan:
    """Plan the build for this machine."""
    machine = platform.machine().lower()
    name = "-".join(part for part in (platform.system().lower(), machine, platform.libc_ver()[0]) if part)
    return BuildPlan(version=BINDING_VERSION, platform=name, flags=pinned_flags(machine))


def default_wheels() -> Path:
    """Return the folder for built wheels: $REPLAY_WHEELS, else one beside stores and weights of this user."""
    named = read_environment("REPLAY_WHEELS")
    return Path(named) if named else data_home() / "wheels"


def find_built(plan: BuildPlan, root: Path) -> Path | None:
    """Return a wheel that was built before by the same plan and is unharmed."""
    folder = root / plan.folder
    try:
        built = msgspec.json.decode((folder / "built.json").read_bytes(), type=_Built)
        wheel = folder / Path(built.wheel).name
        if built.plan == plan and hashlib.sha256(wheel.read_bytes()).hexdigest() == built.sha256:
            return wheel
    except (OSError, msgspec.MsgspecError):
        return None
    return None


def build_wheel(plan: BuildPlan, root: Path, progress: Progress) -> Path:
    """Build the wheel into its folder, whole or not at all.

    Errors:  ModelError without a compiler, without the source, or when the build fails, with its last words.
    """
    _check_compilers(root / plan.folder)
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root, prefix=".build-") as name:
        work = Path(name)
        source = work / "source.txt"
        source.write_text(f"{_PACKAGE}=={plan.version} --hash=sha256:{_SDIST_SHA256}\n", "utf-8")
        command = [
            sys.executable, "-P", "-m", "pip", "wheel", "--verbose", "--no-deps", "--no-cache-dir",
            "--require-hashes", "--no-binary", _PACKAGE, "--disable-pip-version-check", "--no-input",
            "--wheel-dir", str(work / "wheel"), "--requirement", str(source),
        ]  # fmt: skip
        inner = work / "inner.cmake"
        inner.write_text(f"set({' '.join(_INNER)})\n", "utf-8")
        log = root / "build.log"
        if _run(command, (*plan.flags, f"-DCMAKE_PROJECT_llama.cpp_INCLUDE={inner}"), log, progress):
            raise _failed(log, root / plan.folder)
        (wheel,) = sorted((work / "wheel").glob("*.whl"))
        return _keep(plan, wheel, root)


def _keep(plan: BuildPlan, wheel: Path, root: Path) -> Path:
    theirs = find_built(plan, root)
    if theirs is not None:
        # Another checkout built the same meanwhile, and may be installing it.
        return theirs
    folder = root / plan.folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    kept = wheel.rename(folder / wheel.name)
    sha256 = hashlib.sha256(kept.read_bytes()).hexdigest()
    built = _Built(wheel=kept.name, sha256=sha256, plan=plan)
    with write_whole(folder / "built.json", overwrite=True) as file:
        file.write(canonical_bytes(msgspec.to_builtins(built)))
    return kept


def _check_compilers(place: Path) -> None:
    for names in _COMPILERS:
        if not any(shutil.which(name) for name in names):
            raise ModelError(
                f"no compiler: none of {', '.join(names)} is on the PATH",
                expected="a C and a C++ compiler (on Debian: apt install g++)",
                next_step=f"install one and run make llama; or copy {place} from a machine that has built it",
            )


def _run(command: Sequence[str], flags: Sequence[str], log: Path, progress: Progress) -> int:
    """Run pip and follow its output; everything also goes to the log."""
    environment = building_environment() | {"CMAKE_ARGS": shlex.join(flags)}
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(  # noqa: S603  our own interpreter, a fixed command, no shell
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            encoding="utf-8",
            errors="replace",
        ) as child,
    ):
        try:
            for line in child.stdout or ():
                file.write(line)
                progress.line(line)
            return child.wait()
        finally:
            if child.poll() is None:
                child.kill()


def _failed(log: Path, place: Path) -> ModelError:
    return ModelError(
        f"llama-cpp-python could not be built: {explain_pip(log.read_text('utf-8', 'replace'))}",
        where=str(log),
        expected=f"{_PACKAGE} {BINDING_VERSION} as source and CMake (3.21 or later), from the package index",
        next_step=f"read the log; or copy {place} from a machine that has built it",
    )


def is_installed(wheel: Path) -> bool:
    """Say whether this very build is installed: every file of the wheel is there with its hash."""
    try:
        installed = importlib.metadata.distribution(_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return False
    with zipfile.ZipFile(wheel) as archive:
        (record,) = (name for name in archive.namelist() if name.endswith(".dist-info/RECORD"))
        rows = [row for row in csv.reader(archive.read(record).decode().splitlines()) if row[1]]
    return all(_recorded_hash(Path(str(installed.locate_file(name)))) == told for name, told, _ in rows)


def _recorded_hash(path: Path) -> str:
    """Hash a file as a wheel's RECORD does; nothing when it is not there."""
    try:
        found = hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        return ""
    return "sha256=" + base64.urlsafe_b64encode(found).rstrip(b"=").decode()


def _install(wheel: Path) -> None:
    say(f"installing {wheel.name}")
    command = [
        sys.executable,
        "-P",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
    ]
    # Twice: the first brings what it needs from the index, the second replaces a default build of the same
    # version, which pip would take for the same thing.
    for extra in ([], ["--force-reinstall", "--no-deps"]):
        done = subprocess.run(  # noqa: S603  our own interpreter, a fixed command, no shell
            [*command, *extra, str(wheel)],
            check=False,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=building_environment(),
        )
        if done.returncode:
            raise ModelError(
                f"{wheel.name} is built but could not be installed: {explain_pip(done.stderr)}",
                expected="numpy, jinja2, diskcache and typing-extensions from the package index",
                next_step=(
                    "without an index copy the wheels of these and of what they need into a folder and run "
                    f"{sys.executable} -m pip install --no-index --find-links FOLDER {wheel}"
                ),
            )


def main(arguments: Iterable[str] | None = None) -> int:
    """Build the pinned wheel unless it is there, install it if asked, and print its path."""
    parser = argparse.ArgumentParser(prog="python -m replay.llm.build", description=__doc__)
    parser.add_argument(
        "--wheels", type=Path, help="folder for built wheels [default: $REPLAY_WHEELS or cache]"
    )
    parser.add_argument("--install", action="store_true", help="install it into this environment")
    options = parser.parse_args(None if arguments is None else list(arguments))
    try:
        plan = plan_build()
        wheels = options.wheels or default_wheels()
        wheel = find_built(plan, wheels)
        if wheel is None:
            say(f"building {_PACKAGE} {plan.version} for {plan.platform}: some minutes, once")
            progress = Progress()
            wheel = build_wheel(plan, wheels, progress)
            progress.end("built")
        if options.install and not is_installed(wheel):
            _install(wheel)
    except (ReplayError, OSError) as error:
        sys.stderr.write(f"replay: {error}\n")
        return getattr(error, "exit_code", StoreError.exit_code)
    sys.stdout.write(f"{wheel}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
