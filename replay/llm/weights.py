"""The weights folder: GGUF files under their SHA-256, outside git, each with what was found out about it.

    <sha256>.gguf                     the weights, read-only; put there whole or not at all
    <sha256>.model.json               facts of registration: name, digests, kind, template
    <sha256>.selftest-<build>.json    what the self-test said, for one build and one set of settings

Two names never mean one file by accident, and a file is never replaced by another: its name is its content.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from replay.core.canonical import canonical_bytes, parse_json
from replay.core.errors import DamagedError, InputError, ModelError, ReplayError, StoreError
from replay.core.types import Digest, Json, Record
from replay.llm.gguf import file_sha256, read_gguf, tensor_digest
from replay.llm.manifest import ModelManifest
from replay.llm.model_kinds import check_generates, survey_model
from replay.llm.template_scan import find_clock_use
from replay.store.archive.atomic import write_whole

__all__ = ["ModelFacts", "ModelLibrary", "ModelRow"]

_CHUNK_BYTES: Final = 1 << 20
_READ_ONLY: Final = 0o444
_MAX_FACTS_BYTES: Final = 1 << 20
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_SHORTEST_DIGEST: Final = 8  # hex digits that may stand for a whole digest


class ModelFacts(Record, frozen=True, kw_only=True):
    """What is known about one file, found out when it was registered."""

    name: str
    file_sha256: str
    tensor_digest: Digest
    size_bytes: int
    architecture: str
    kind: str
    title: str = ""
    """What the file calls itself; for eyes only."""
    context_tokens: int = 0
    sliding_window: int = 0
    weight_types: tuple[str, ...] = ()
    has_chat_template: bool = False
    clock_names: tuple[str, ...] = ()
    """Names with which its template asks for the time; it gets the frozen clock."""
    manifest: str = ""
    """Name of the manifest that pins this file; empty for any other file."""
    source: str = ""
    """Packages it came from, or `file`."""


class ModelRow(NamedTuple):
    """One registered model and where its weights lie."""

    path: Path
    facts: ModelFacts

    @property
    def name(self) -> str:
        """Name it is called by."""
        return self.facts.name

    @property
    def file_sha256(self) -> str:
        """SHA-256 of the file: 64 hex digits."""
        return self.facts.file_sha256

    @property
    def tensor_digest(self) -> Digest:
        """Digest of the weights alone: the model's identity in keys."""
        return self.facts.tensor_digest


class ModelLibrary:
    """The models of one weights folder."""

    def __init__(self, home: Path, manifests: Sequence[ModelManifest] = ()) -> None:
        """Look at a folder, which need not exist yet; manifests give names to files they pin."""
        self.home = home
        self._manifests = {manifest.name: manifest for manifest in manifests}

    def list(self) -> tuple[ModelRow, ...]:
        """All registered models, sorted by name. Errors: DamagedError for facts that cannot be read."""
        rows = [self._load(path) for path in sorted(self.home.glob("*.model.json"))]
        return tuple(sorted(rows, key=lambda row: (row.name, row.file_sha256)))

    def find(self, word: str) -> ModelRow:
        """Find a model by name, or by at least eight hex digits of the file's or the weights' digest.

        Errors:  ModelError when there is none, more than one, or its weights are gone.
        """
        rows = self.list()
        found = [row for row in rows if row.name == word] or [row for row in rows if _has_digest(row, word)]
        if len(found) > 1:
            raise ModelError(
                f"{word!r} is {len(found)} models",
                expected="more digits of the digest; see replay models list",
            )
        if not found:
            raise self._missing(word, rows)
        row = found[0]
        if not row.path.is_file() or row.path.stat().st_size != row.facts.size_bytes:
            raise ModelError(
                f"the weights of {row.name} are gone or cut",
                where=row.path.name,
                expected=f"{row.facts.size_bytes} bytes",
                next_step=self._way_to(row.name),
            )
        return row

    def add(self, path: Path, *, name: str = "", source: str = "file") -> ModelRow:
        """Copy a GGUF file into the folder and register it; a file that is there is only looked at.

        Errors:  InputError for a broken file or a name that is taken; ModelError for a file that generates no
        text, or that is not the model its name stands for; StoreError when the folder cannot be written.
        """
        check_generates(survey_model(read_gguf(path)), path.name)
        sha256 = file_sha256(path)
        chosen = self._choose_name(name, sha256, path)
        known = next((row for row in self.list() if row.file_sha256 == sha256), None)
        if not self._has_weights(sha256):
            self.put(_read_chunks(path), sha256=sha256, size_bytes=path.stat().st_size)
        elif known is not None and known.name == chosen:
            return known
        return self.register(sha256, name=chosen, source=source)

    def put(self, chunks: Iterable[bytes], *, sha256: str, size_bytes: int) -> Path:
        """Write weights under their digest, whole or not at all.

        Errors:  ModelError when the bytes are not those of the digest; StoreError when the disk is full.
        """
        self._make_home()
        target = self._weights(sha256)
        state, size = hashlib.sha256(), 0
        with write_whole(target, overwrite=True) as file:
            for chunk in chunks:
                state.update(chunk)
                size += len(chunk)
                file.write(chunk)
            if (size, state.hexdigest()) != (size_bytes, sha256):
                raise ModelError(
                    f"{size} bytes with SHA-256 {state.hexdigest()} came",
                    where=target.name,
                    expected=f"{size_bytes} bytes with SHA-256 {sha256}",
                    next_step="get the file again; nothing was kept",
                )
        target.chmod(_READ_ONLY)
        return target

    def register(self, sha256: str, *, name: str, source: str) -> ModelRow:
        """Find out what weights in the folder are and write it beside them."""
        path = self._weights(sha256)
        survey = survey_model(read_gguf(path))
        check_generates(survey, path.name)
        manifest = self._pinned(sha256)
        facts = ModelFacts(
            name=name,
            file_sha256=sha256,
            tensor_digest=tensor_digest(path),
            size_bytes=path.stat().st_size,
            architecture=survey.architecture,
            kind=survey.kind.value,
            title=survey.name,
            context_tokens=survey.context_tokens,
            sliding_window=survey.sliding_window,
            weight_types=survey.weight_types,
            has_chat_template=bool(survey.chat_template),
            clock_names=find_clock_use(survey.chat_template),
            manifest=manifest.name if manifest else "",
            source=source,
        )
        _write_json(self.home / f"{sha256}.model.json", msgspec.to_builtins(facts))
        return ModelRow(path, facts)

    def remove(self, row: ModelRow) -> None:
        """Forget a model: its facts first, so that it is never there without weights."""
        for path in (self.home / f"{row.file_sha256}.model.json", row.path):
            path.unlink(missing_ok=True)
        for path in sorted(self.home.glob(f"{row.file_sha256}.selftest-*.json")):
            path.unlink(missing_ok=True)

    def verify(self, row: ModelRow) -> tuple[str, ...]:
        """Re-hash the weights of a model and return what is wrong with them; nothing when all is well."""
        try:
            found = file_sha256(row.path)
            weights = tensor_digest(row.path)
        except ReplayError as error:
            return (str(error),)
        manifest = self._manifests.get(row.facts.manifest)
        wrong = []
        if found != row.file_sha256:
            wrong.append(f"the file has SHA-256 {found}, not {row.file_sha256}")
        if weights != row.tensor_digest:
            wrong.append(f"the weights have the digest {weights}, not {row.tensor_digest}")
        if manifest is not None and manifest.tensor_digest != row.tensor_digest:
            wrong.append(
                f"the manifest {manifest.name} says {manifest.tensor_digest}, not {row.tensor_digest}"
            )
        return tuple(wrong)

    def selftest(self, row: ModelRow, build: Digest) -> Json | None:
        """Return what the self-test said under a build digest; None when it was never run there."""
        path = self._selftest_file(row, build)
        return _read_json(path) if path.is_file() else None

    def store_selftest(self, row: ModelRow, build: Digest, result: Json) -> None:
        """Keep what the self-test said under a build digest."""
        _write_json(self._selftest_file(row, build), result)

    def _make_home(self) -> None:
        try:
            self.home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"cannot make the weights folder: {error.strerror}",
                where=str(self.home),
                next_step="name a folder that can be written: --home or $REPLAY_MODELS",
            ) from None

    def _selftest_file(self, row: ModelRow, build: Digest) -> Path:
        return self.home / f"{row.file_sha256}.selftest-{build.removeprefix('sha256:')[:32]}.json"

    def _weights(self, sha256: str) -> Path:
        return self.home / f"{sha256}.gguf"

    def _has_weights(self, sha256: str) -> bool:
        path = self._weights(sha256)
        return path.is_file() and file_sha256(path) == sha256

    def _load(self, path: Path) -> ModelRow:
        try:
            facts = msgspec.convert(_read_json(path), ModelFacts)
        except msgspec.ValidationError as error:
            raise DamagedError(
                f"not the facts of a model: {error}",
                where=path.name,
                next_step="delete it and add the model again",
            ) from None
        return ModelRow(self._weights(facts.file_sha256), facts)

    def _pinned(self, sha256: str) -> ModelManifest | None:
        return next((found for found in self._manifests.values() if found.file_sha256 == sha256), None)

    def _choose_name(self, name: str, sha256: str, path: Path) -> str:
        """Take the name asked for, else the one known, else one made of the file's."""
        known = next((row.name for row in self.list() if row.file_sha256 == sha256), "")
        pinned = self._pinned(sha256)
        chosen = name or (pinned.name if pinned else "") or known or _name_of(path)
        if not _NAME.fullmatch(chosen):
            raise InputError(
                f"not a name for a model: {chosen!r}",
                where="--name",
                expected="small letters, digits, dots, hyphens and underscores, at most 64",
            )
        wanted = self._manifests.get(chosen)
        if wanted is not None and wanted.file_sha256 != sha256:
            raise ModelError(
                f"{path.name} is not {chosen}: its SHA-256 is {sha256}",
                where="--name",
                expected=wanted.file_sha256,
                next_step="get the right file, or give this one another --name",
            )
        if any(row.name == chosen and row.file_sha256 != sha256 for row in self.list()):
            raise InputError(
                f"another model is named {chosen!r}", where="--name", next_step="choose another --name"
            )
        return chosen

    def _missing(self, word: str, rows: Sequence[ModelRow]) -> ModelError:
        here = ", ".join(row.name for row in rows) or "none"
        return ModelError(
            f"there is no model {word!r}",
            expected=f"one of those here ({here})",
            next_step=self._way_to(word),
        )

    def _way_to(self, word: str) -> str:
        if word in self._manifests:
            return f"replay models fetch {word}"
        known = ", ".join(self._manifests) or "none"
        return f"replay models add FILE.gguf --name {word}; by name can be fetched: {known}"


def _has_digest(row: ModelRow, word: str) -> bool:
    digits = word.removeprefix("sha256:")
    if len(digits) < _SHORTEST_DIGEST:
        return False
    return row.file_sha256.startswith(digits) or row.tensor_digest.removeprefix("sha256:").startswith(digits)


def _name_of(path: Path) -> str:
    return re.sub(r"[^a-z0-9._-]+", "-", path.stem.lower()).strip("-._")[:64]


def _read_chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk


def _read_json(path: Path) -> Json:
    if path.stat().st_size > _MAX_FACTS_BYTES:
        raise DamagedError("too large for the facts of a model", where=path.name, next_step="delete it")
    return parse_json(path.read_bytes(), where=path.name)


def _write_json(path: Path, value: Json) -> None:
    with write_whole(path, overwrite=True) as file:
        file.write(canonical_bytes(value))
