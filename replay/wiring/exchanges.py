"""Archives of HTTP exchanges, opened for a client or a test in one of the three modes."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from replay.core.errors import InputError, MissError, RecordMissError, StoreError
from replay.core.types import Key, Mode, Record, SnapshotKind
from replay.store.archive.manifest import FACTS_NAME, ArchiveFacts
from replay.store.archive.reader import read_manifest
from replay.store.layers import LayeredStore
from replay.store.snapshots import SnapshotStore
from replay.tools.exchange import HTTP, HttpKeys
from replay.tools.exchanges import Exchanges
from replay.tools.misses import MissReporter
from replay.wiring.freezing import Below, freeze_folder
from replay.wiring.library import locate_stores

__all__ = ["ExchangeBook", "ExchangePlan", "SealedStores", "open_exchanges"]

_OVERLAY_SUFFIX: Final = ".recording"
_VERSION: Final = "1"
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9._+-]+")


class ExchangePlan(Record, frozen=True, kw_only=True):
    """What is opened, and how."""

    archive: str
    """Path of the archive; record mode makes it."""
    mode: Mode = Mode.REPLAY
    left_out: tuple[str, ...] = ()
    """Globs of header names that say nothing of what is asked, beside the declared ones."""
    keep_errors: bool = False
    home: str = ""
    """Folder of rebuildable stores; empty for the user's own."""


class SealedStores:
    """The sealed stores that are open: archives of equal content have one in common."""

    def __init__(self) -> None:
        """Start with none."""
        self._open: dict[Path, SnapshotStore] = {}
        self._users: Counter[Path] = Counter()

    @contextmanager
    def holding(self, path: Path) -> Iterator[SnapshotStore]:
        """Open a store, or use the one that is open; close it when its last user is done."""
        if path not in self._open:
            self._open[path] = SnapshotStore.open_sealed(path)
        self._users[path] += 1
        try:
            yield self._open[path]
        finally:
            self._users[path] -= 1
            if not self._users[path]:
                self._open.pop(path).close()


class ExchangeBook:
    """An opened archive of exchanges."""

    def __init__(
        self,
        plan: ExchangePlan,
        store: LayeredStore,
        overlay: SnapshotStore | None,
        *,
        release: Callable[[], None],
    ) -> None:
        """Keep what was opened; `release` closes it."""
        self.plan = plan
        self.exchanges = _make_exchanges(plan, store, overlay)
        self._store = store
        self._overlay = overlay
        self.release = release
        """Closes the stores before the block ends, for whoever freezes several archives one after another."""

    def beside(self, *, left_out: tuple[str, ...], keep_errors: bool) -> ExchangeBook:
        """Look at the same opened archive in another way."""
        plan = msgspec.structs.replace(self.plan, left_out=left_out, keep_errors=keep_errors)
        return ExchangeBook(plan, self._store, self._overlay, release=self.release)

    def usage(self) -> tuple[dict[Key, str], frozenset[Key]]:
        """Return all recorded requests by key, named as in misses, and the keys that were answered."""
        scan = self._store.scan(SnapshotKind.API)
        return {snapshot.key: snapshot.scope for snapshot in scan}, self.exchanges.used


@contextmanager
def open_exchanges(plan: ExchangePlan, sealed: SealedStores | None = None) -> Iterator[ExchangeBook]:
    """Open an archive of exchanges; in record mode it is frozen anew when the block ends well.

    What was recorded before a crash lies in a folder beside the archive and is gone on with.

    sealed: shared by all that are open at the same time.
    Errors:  InputError when there is no archive to replay, or when a recording stayed empty; those of opening
             and freezing.
    """
    archive = Path(plan.archive)
    overlay = archive.with_suffix(_OVERLAY_SUFFIX)
    if not archive.exists() and plan.mode is not Mode.RECORD:
        raise InputError(
            f"no archive {archive.name}",
            where=str(archive.parent),
            expected="an archive of recorded exchanges",
            next_step="record it: run once in record mode with the upstream at hand",
        )
    with ExitStack() as stack:
        frozen = _open_frozen(stack, archive, plan, sealed or SealedStores())
        written = _open_overlay(stack, overlay, archive, plan)
        yield ExchangeBook(plan, LayeredStore(frozen, written), written, release=stack.close)
    if plan.mode is Mode.RECORD:
        _freeze(archive, overlay, plan)


def _open_frozen(
    stack: ExitStack, archive: Path, plan: ExchangePlan, sealed: SealedStores
) -> list[SnapshotStore]:
    if not archive.exists():
        return []
    paths, _ = locate_stores(archive, home=Path(plan.home) if plan.home else None)
    return [stack.enter_context(sealed.holding(Path(path))) for path in paths.stores]


def _open_overlay(stack: ExitStack, overlay: Path, archive: Path, plan: ExchangePlan) -> SnapshotStore | None:
    if plan.mode is not Mode.RECORD:
        return None
    if overlay.exists():
        return stack.enter_context(SnapshotStore.open_writable(overlay))
    try:
        overlay.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the folder of the archive cannot be made: {error.strerror}", where=str(overlay.parent)
        ) from None
    name = _NOT_IN_NAMES.sub("-", archive.stem) or HTTP
    facts = msgspec.to_builtins(ArchiveFacts(name=name, version=_VERSION, benchmark=HTTP))
    return stack.enter_context(SnapshotStore.create(overlay, meta={FACTS_NAME: facts}))


def _make_exchanges(plan: ExchangePlan, store: LayeredStore, overlay: SnapshotStore | None) -> Exchanges:
    error: type[MissError] = MissError if overlay is None else RecordMissError
    tools: Iterable[str] = store.scopes(SnapshotKind.API)
    reporter = MissReporter(
        store, archive=Path(plan.archive).name, tools=tools, command="run it in record mode", error=error
    )
    keys = HttpKeys(left_out=plan.left_out)
    return Exchanges(store, keys, reporter, overlay=overlay, keep_errors=plan.keep_errors)


def _freeze(archive: Path, overlay: Path, plan: ExchangePlan) -> None:
    """Freeze what was recorded into the archive, then let the recording go."""
    with SnapshotStore.open_reader(overlay) as store:
        is_empty = not any(store.scopes(SnapshotKind.API))
    if is_empty and not archive.exists():
        shutil.rmtree(overlay)
        raise InputError(
            "nothing was recorded",
            where=archive.name,
            expected="at least one answer of a live upstream",
            next_step="check that the client uses the recording transport",
        )
    if not is_empty:
        home = Path(plan.home) if plan.home else None
        exists = archive.exists()
        label = (read_manifest(archive).name, read_manifest(archive).version) if exists else ("", "")
        below = Below(bases=(archive,), merge=True, home=home) if exists else None
        freeze_folder(overlay, archive, label=label, below=below, overwrite=exists)
    shutil.rmtree(overlay)
