"""Where things are: archives that ship with the product, and stores that can be rebuilt at any time."""

from __future__ import annotations

from pathlib import Path

import platformdirs

from replay.core.determinism import read_environment
from replay.core.errors import InputError

__all__ = ["data_home", "expected_roots_file", "shipped_archives", "shipped_folder"]

_PACKAGE = Path(__file__).resolve().parent.parent


def shipped_folder() -> Path:
    """Folder of the archives that ship: package data in a wheel, `snapshots/` in a checkout.

    Errors:  InputError when the installation lost them.
    """
    for folder in (_PACKAGE / "_data" / "snapshots", _PACKAGE.parent / "snapshots"):
        if folder.is_dir():
            return folder
    raise InputError(
        "the shipped archives are not there",
        expected="the folder snapshots/ in the checkout or in the installed package",
        next_step="install the package again",
    )


def shipped_archives() -> tuple[Path, ...]:
    """All archives that ship, sorted by name."""
    return tuple(sorted(shipped_folder().glob("*.replay")))


def expected_roots_file() -> Path:
    """File with the recorded run roots of the shipped archives."""
    return shipped_folder() / "run-roots.json"


def data_home(option: Path | None = None) -> Path:
    """Folder for rebuildable stores: the option, else $REPLAY_HOME, else the user's cache folder."""
    if option is not None:
        return option
    named = read_environment("REPLAY_HOME")
    return Path(named) if named else Path(platformdirs.user_cache_dir("replay-bench", appauthor=False))
