"""What stops the official evaluator, and what makes a scenario's own definition unusable."""

from __future__ import annotations

__all__ = ["DefinitionError", "OfficialCrashError"]


class OfficialCrashError(Exception):
    """The official evaluator would raise here; its runner then records similarity 0 and 30 turns."""

    def __init__(self, kind: str, text: str, *, kills_worker: bool = False) -> None:
        """Name the exception; kills_worker: its runner does not catch this kind, and the worker is lost."""
        super().__init__(f"{kind}: {text}")
        self.kind = kind
        self.text = text
        self.kills_worker = kills_worker


class DefinitionError(Exception):
    """The scenario cannot be scored as it is defined."""
