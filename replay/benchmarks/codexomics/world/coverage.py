"""Which tools a session executes, and which need recorded or synthetic results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from replay.benchmarks.codexomics.world import annotations as features
from replay.benchmarks.codexomics.world import (
    bench,
    databases,
    editing,
    exports,
    interface,
    navigation,
    sequences,
)
from replay.benchmarks.codexomics.world.session import Handler
from replay.core.types import Record

__all__ = ["HANDLERS", "ToolCoverage", "cover_tools"]

HANDLERS: Final[Mapping[str, Handler]] = {
    **navigation.HANDLERS,
    **interface.HANDLERS,
    **features.HANDLERS,
    **sequences.HANDLERS,
    **bench.HANDLERS,
    **editing.HANDLERS,
    **exports.HANDLERS,
    **databases.HANDLERS,
}
"""Every tool the session executes."""


class ToolCoverage(Record, frozen=True, kw_only=True):
    """Tools by who can answer them; every tool also has a synthetic contract result, where asked for."""

    executed: tuple[str, ...]
    """By the genome session, in process."""
    recorded_only: tuple[str, ...]
    """Networks, renderings, installed programs: a recorded answer, a synthetic one, or a miss."""


def cover_tools(tools: Iterable[str]) -> ToolCoverage:
    """Divide tools by who can answer them."""
    names = sorted(set(tools))
    return ToolCoverage(
        executed=tuple(name for name in names if name in HANDLERS),
        recorded_only=tuple(name for name in names if name not in HANDLERS),
    )
