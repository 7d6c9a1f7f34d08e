"""Where answers came from."""

from __future__ import annotations

from replay.core.trajectory import CallStep, CompletionStep, Step, make_trajectory
from replay.core.types import Completion, Digest, Provenance, Role, ToolCall, ToolResult
from replay.evaluate.provenance import count_provenance, provenance_shares


def completion() -> Step:
    """One scripted turn."""
    return CompletionStep(
        role=Role.CANDIDATE,
        request_digest=Digest("sha256:0"),
        completion=Completion(provenance=Provenance.SCRIPTED),
    )


def call(provenance: Provenance) -> Step:
    """One call that came from there."""
    return CallStep(
        call=ToolCall(id="1", name="f", arguments="{}"),
        tool="f",
        result=ToolResult(content="", provenance=provenance),
    )


def test_counts_by_who_was_asked() -> None:
    """Tools and candidate are counted apart."""
    steps = (completion(), call(Provenance.IMPORTED), call(Provenance.SIMULATED), call(Provenance.IMPORTED))
    trajectory = make_trajectory(
        benchmark="b", task="1", split="s", trial=0, seed=1, steps=steps, stop="finished"
    )
    expected = {"candidate": {"scripted": 1}, "tools": {"imported": 2, "simulated": 1}}
    assert expected == count_provenance([trajectory])


def test_shares_add_up() -> None:
    """Shares are fractions of the total."""
    assert {"imported": 0.75, "simulated": 0.25} == provenance_shares({"simulated": 1, "imported": 3})


def test_no_answers_no_shares() -> None:
    """Nothing counted, nothing shared."""
    assert {} == provenance_shares({})
