"""Makers of answers for tests of modes: each tells that it was built, and what it was asked.

Named to a run as `tests.support.makers:make_...`, as any live source, simulator or judge is.
"""

from __future__ import annotations

import socket

from replay.core.errors import UpstreamError
from replay.core.types import (
    CallRequest,
    Json,
    JudgeRequest,
    JudgeVerdict,
    Origin,
    Provenance,
    ToolResult,
)

__all__ = [
    "BUILT",
    "make_failing_live",
    "make_judge",
    "make_live",
    "make_networked_simulator",
    "make_simulator",
    "make_unsteady_live",
    "named",
]

BUILT: list[str] = []
"""Names of what was built in this process, in order; a test empties it first."""


def named(maker: str) -> str:
    """Name one of the makers as a run wants it."""
    return f"tests.support.makers:{maker}"


class InventedSource:
    """Answers every call with the same words."""

    def __init__(self, name: str, provenance: Provenance, origin: Origin | None) -> None:
        self.name = name
        self._provenance = provenance
        self._origin = origin

    def answer(self, request: CallRequest, *, occurrence: int) -> ToolResult | None:
        """Say who speaks."""
        body = {"error": "", "response": f"{self.name} says so"}
        text = f'{{"error": "", "response": "{self.name} says so"}}'
        return ToolResult(content=text, body=body, provenance=self._provenance, origin=self._origin)


class UnsteadySource(InventedSource):
    """Never says the same twice."""

    asked = 0

    def answer(self, request: CallRequest, *, occurrence: int) -> ToolResult | None:
        """Count the calls."""
        self.asked += 1
        text = f'{{"error": "", "response": "answer {self.asked}"}}'
        body = {"error": "", "response": f"answer {self.asked}"}
        return ToolResult(content=text, body=body, provenance=self._provenance, origin=self._origin)


class FailingSource:
    """A live upstream that is down."""

    name = "live"

    def answer(self, request: CallRequest, *, occurrence: int) -> ToolResult | None:
        """Fail."""
        raise UpstreamError("503 from the gateway")


class NetworkedSource:
    """A simulator that has not understood that it must stay at home."""

    name = "simulator"

    def answer(self, request: CallRequest, *, occurrence: int) -> ToolResult | None:
        """Look a name up."""
        socket.getaddrinfo("replay.invalid", 443)
        return None


class ContentJudge:
    """Finds everything solved."""

    @property
    def identity(self) -> Json:
        """A judge by name."""
        return {"name": "content", "kind": "test"}

    def decide(self, request: JudgeRequest) -> JudgeVerdict | None:
        """Be content, in the words of the rubric."""
        label = "solved" if request.rubric in {"fac", "completeness"} else "Solved"
        return JudgeVerdict(
            label=label, raw=label, reason="content", judge="content", provenance=Provenance.GENERATED
        )


def make_simulator(benchmark: str) -> InventedSource:
    """Build the simulator."""
    BUILT.append("simulator")
    return InventedSource("simulator", Provenance.SIMULATED, Origin.SIMULATED)


def make_live(benchmark: str) -> InventedSource:
    """Build the live upstream."""
    BUILT.append("live")
    return InventedSource("live", Provenance.RECORDED, Origin.REAL)


def make_unsteady_live(benchmark: str) -> UnsteadySource:
    """Build a live upstream whose answers change from call to call."""
    BUILT.append("live")
    return UnsteadySource("live", Provenance.RECORDED, Origin.REAL)


def make_failing_live(benchmark: str) -> FailingSource:
    """Build a live upstream that is down."""
    BUILT.append("live")
    return FailingSource()


def make_networked_simulator(benchmark: str) -> NetworkedSource:
    """Build a simulator that reaches for the network."""
    BUILT.append("simulator")
    return NetworkedSource()


def make_judge(benchmark: str) -> ContentJudge:
    """Build the judge."""
    BUILT.append("judge")
    return ContentJudge()
