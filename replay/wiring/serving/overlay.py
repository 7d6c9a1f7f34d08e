"""What a server reads and, in record mode, writes: an archive's sealed stores and one overlay above them.

The overlay lies where a recording run has it, in the folder that was named; `replay archive freeze` makes an
archive or a layer of it. Each answer is on disk when its client gets it, so a killed server loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from replay.core.errors import InputError, StoreError
from replay.core.types import Json, Mode
from replay.store.archive.manifest import FACTS_NAME, ArchiveFacts
from replay.store.layers import LayeredStore
from replay.store.snapshots import SnapshotStore
from replay.wiring.library import Library
from replay.wiring.overlays import OVERLAY
from replay.wiring.serving.server import ServePlan

__all__ = ["open_served", "overlay_path"]

_BASE: Final = "recorded-over"
"""Name in an overlay's meta: the root of the archive it lies over, empty for none."""


def overlay_path(plan: ServePlan) -> Path:
    """Where a recording server writes."""
    return Path(plan.out) / OVERLAY


@contextmanager
def open_served(plan: ServePlan) -> Iterator[Library]:
    """Open what is served; in record mode new answers go to the overlay of `library.store`.

    Errors:  InputError for an overlay over another archive; StoreError for one that another server writes.
    """
    with ExitStack() as stack:
        frozen = [stack.enter_context(SnapshotStore.open_sealed(Path(path))) for path in plan.library.stores]
        overlay = stack.enter_context(_open_overlay(plan)) if plan.mode is Mode.RECORD else None
        yield Library(plan.library, LayeredStore(frozen, overlay))


def _open_overlay(plan: ServePlan) -> SnapshotStore:
    path = overlay_path(plan)
    if not path.exists():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the folder cannot be made: {error.strerror}", where=plan.out) from None
        return SnapshotStore.create(path, meta=_meta(plan))
    store = SnapshotStore.open_writable(path)
    if store.meta.get(_BASE) != plan.library.root:
        store.close()
        raise InputError(
            "this folder holds a recording over another archive",
            where=plan.out,
            expected=f"one over {plan.library.name} {plan.library.root}".strip(),
            next_step="choose another --out folder",
        )
    return store


def _meta(plan: ServePlan) -> dict[str, Json]:
    """Facts of an archive that stands alone; what lies over another one is frozen with the facts of that."""
    library = plan.library
    if library.stores:
        return {_BASE: library.root}
    facts = ArchiveFacts(name=library.name, version=library.version, benchmark=library.benchmark)
    return {_BASE: "", FACTS_NAME: msgspec.to_builtins(facts)}
