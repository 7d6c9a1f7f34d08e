"""Models for tests marked `model`: found where `replay models fetch` puts them, or the test is skipped.

The folder is looked up when this module is imported, before the environment of a test is scrubbed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

from replay.core.errors import ModelError
from replay.llm.manifest import load_manifests
from replay.llm.runtime import find_binding
from replay.llm.weights import ModelLibrary, ModelRow
from replay.wiring.places import manifests_folder, weights_folder

__all__ = ["SITE", "WEIGHTS", "need_binding", "need_model"]

SITE: Final = {
    name: value
    for name, value in os.environ.items()
    if name.startswith(("PIP_", "SSL_", "XDG_CONFIG_")) or name.lower().endswith("_proxy")
}
"""How this site's package client finds its index, as whoever runs the tests has it."""

WEIGHTS: Final[Path] = weights_folder()
"""$REPLAY_MODELS, else the default home of whoever runs the tests."""


def need_binding() -> str:
    """Return the version of the llama binding; skip the test without one."""
    version = find_binding()
    if not version:
        pytest.skip("llama-cpp-python is not installed: make llama")
    return version


def need_model(name: str) -> ModelRow:
    """Return a registered model; skip the test when its weights are not here."""
    try:
        return ModelLibrary(WEIGHTS, load_manifests(manifests_folder())).find(name)
    except ModelError as error:
        pytest.skip(f"{error.what}: {error.next_step}")
