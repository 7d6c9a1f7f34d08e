"""Files of served stores that are cut short are seen before they are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.core.errors import DamagedError
from replay.store.marker import DATA_NAME
from replay.wiring.serving.watch import StoreWatch


def make_store(folder: Path) -> Path:
    """A folder with a file of a store's name."""
    folder.mkdir()
    (folder / DATA_NAME).write_bytes(b"x" * 8192)
    return folder


def test_whole_files_pass_and_short_ones_do_not(tmp_path: Path) -> None:
    """The store is named; one that is whole again passes again."""
    stores = [make_store(tmp_path / "one"), make_store(tmp_path / "two")]
    with StoreWatch(map(str, stores)) as watch:
        watch.check()
        (stores[1] / DATA_NAME).write_bytes(b"x")
        with pytest.raises(DamagedError, match=r"cut short while it was served .*two"):
            watch.check()
        (stores[1] / DATA_NAME).write_bytes(b"x" * 8192)
        watch.check()


def test_a_file_that_was_replaced_is_not_the_one_that_is_read(tmp_path: Path) -> None:
    """Whoever opened a store reads the file that was there, so another at its place says nothing."""
    store = make_store(tmp_path / "one")
    with StoreWatch([str(store)]) as watch:
        (tmp_path / "new").write_bytes(b"x")
        (tmp_path / "new").rename(store / DATA_NAME)
        watch.check()
