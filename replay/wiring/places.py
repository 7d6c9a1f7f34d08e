"""Where things are: what ships with the product, rebuildable stores, the weights of models."""

from __future__ import annotations

from pathlib import Path

from replay.core.determinism import read_environment
from replay.core.errors import InputError
from replay.store.homes import data_home

__all__ = [
    "data_home",
    "expected_roots_file",
    "manifests_folder",
    "shipped_archives",
    "shipped_folder",
    "weights_folder",
]

_PACKAGE = Path(__file__).resolve().parent.parent


def shipped_folder() -> Path:
    """Folder of the archives that ship: package data in a wheel, `snapshots/` in a checkout.

    Errors:  InputError when the installation lost them.
    """
    return _packaged("snapshots", "the shipped archives")


def manifests_folder() -> Path:
    """Folder of the model manifests: package data in a wheel, `models/` in a checkout.

    Errors:  InputError when the installation lost them.
    """
    return _packaged("models", "the model manifests")


def shipped_archives() -> tuple[Path, ...]:
    """All archives that ship, sorted by name."""
    return tuple(sorted(shipped_folder().glob("*.replay")))


def expected_roots_file() -> Path:
    """File with the recorded run roots of the shipped archives."""
    return shipped_folder() / "run-roots.json"


def weights_folder(option: Path | None = None) -> Path:
    """Folder for weights of models: below the option, else $REPLAY_MODELS, else below `data_home`."""
    if option is not None:
        return option / "models"
    named = read_environment("REPLAY_MODELS")
    return Path(named) if named else data_home() / "models"


def _packaged(name: str, what: str) -> Path:
    for folder in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise InputError(
        f"{what} are not there",
        expected=f"the folder {name}/ in the checkout or in the installed package",
        next_step="install the package again",
    )
