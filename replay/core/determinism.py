"""The only door to seeds, clock, identifiers, environment and the network guard."""

from __future__ import annotations

import hashlib
from typing import Final

__all__ = ["FROZEN_TIME", "derive_seed", "deterministic_id"]

FROZEN_TIME: Final = "2024-01-01T00:00:00Z"


def derive_seed(*parts: str | int) -> int:
    """Derive a seed in 1..2^31-1 from named parts, never from order or time."""
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % (2**31 - 2) + 1


def deterministic_id(prefix: str, *parts: str | int) -> str:
    """A short identifier made of its parts."""
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in parts)
    return f"{prefix}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
