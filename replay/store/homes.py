"""The folder for everything that can be rebuilt: stores, weights of models, built wheels."""

from __future__ import annotations

from pathlib import Path

import platformdirs

from replay.core.determinism import read_environment

__all__ = ["data_home"]


def data_home(option: Path | None = None) -> Path:
    """Return the folder: the option, else $REPLAY_HOME, else the user's cache folder."""
    if option is not None:
        return option
    named = read_environment("REPLAY_HOME")
    return Path(named) if named else Path(platformdirs.user_cache_dir("replay-bench", appauthor=False))
