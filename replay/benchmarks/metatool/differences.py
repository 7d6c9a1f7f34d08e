"""Where the official rules, our default reading and the strict one part, each with its reason."""
from __future__ import annotations
from typing import Final
from replay.core.protocols import KnownDifference
__all__ = ["DIFFERENCES"]
DIFFERENCES: Final[tuple[KnownDifference, ...]] = ()
