"""Where upstream data for differential tests lies; never a part of this repository."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["CHECKOUT", "GOLDEN", "find_shared_data"]

CHECKOUT = Path(__file__).resolve().parents[2]
"""Top folder of this checkout."""

GOLDEN = CHECKOUT / "tests" / "golden"
"""Reviewed expected files."""


def find_shared_data() -> Path | None:
    """Return the folder named by REPLAY_TEST_DATA, else `../shared/data` beside the checkout, else None."""
    named = os.environ.get("REPLAY_TEST_DATA")
    if named:
        return Path(named)
    beside = CHECKOUT.parent / "shared" / "data"
    return beside if beside.is_dir() else None
