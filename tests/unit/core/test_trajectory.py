"""Chained digests and the first difference of two trajectories."""

from __future__ import annotations

import msgspec
import pytest

from replay.core.trajectory import (
    CallStep,
    CompletionStep,
    Difference,
    NoteStep,
    Step,
    Trajectory,
    find_broken_link,
    find_difference,
    make_trajectory,
)
from replay.core.types import Completion, Digest, Json, Provenance, Role, ToolCall, ToolResult


def make_call(*, body: Json = None, content: str = "2 degrees") -> CallStep:
    """Build a tool call step."""
    return CallStep(
        call=ToolCall(id="call_1", name="now", arguments='{"city": "Oslo"}'),
        tool="Weather/now",
        result=ToolResult(content=content, provenance=Provenance.RECORDED, body=body),
    )


def make_completion(*, calls: int = 1) -> CompletionStep:
    """Build a completion step with some tool calls."""
    tool_calls = tuple(ToolCall(id=f"call_{n}", name="now", arguments="{}") for n in range(calls))
    return CompletionStep(
        role=Role.CANDIDATE, request_digest=Digest("sha256:1"), completion=Completion(tool_calls=tool_calls)
    )


def make_episode(*steps: Step, seed: int = 7, stop: str = "finished", outcome: Json = None) -> Trajectory:
    """Build a trajectory of these steps."""
    return make_trajectory(
        benchmark="demo",
        task="t",
        split="s",
        trial=0,
        seed=seed,
        steps=steps,
        stop=stop,
        outcome=outcome,
    )


def _difference(left: Trajectory, right: Trajectory) -> Difference:
    found = find_difference(left, right)
    assert found is not None
    return found


def test_equal_episodes_have_one_root() -> None:
    """The same steps give the same digests and root, and no difference."""
    left, right = make_episode(make_completion(), make_call()), make_episode(make_completion(), make_call())
    assert (left.digests, left.root) == (right.digests, right.root)
    assert find_difference(left, right) is None


def test_root_is_what_it_was() -> None:
    """A known episode has a known root; it changes only with a format version."""
    episode = make_episode(make_completion(), make_call(body={"a": 1.0}), NoteStep(name="restart"))
    assert "sha256:267b29517679d80568e8f803adc909a3a4bd110305604abe215350b8f8b15bb1" == episode.root


@pytest.mark.parametrize(
    "other",
    [
        make_episode(make_call(), seed=8),
        make_episode(make_call(), stop="truncated"),
        make_episode(make_call(), outcome=0),
        make_episode(make_call(content="3 degrees")),
        make_episode(make_call(), make_call()),
        make_episode(),
    ],
)
def test_root_covers_start_steps_and_end(other: Trajectory) -> None:
    """Another seed, stop, outcome, step or number of steps is another root, and a difference."""
    episode = make_episode(make_call())
    assert episode.root != other.root
    assert find_difference(episode, other) is not None


@pytest.mark.parametrize(
    ("path", "left", "right"),
    [
        ("$.result.body", True, 1),
        ("$.result.body.a[1]", {"a": [0, 1]}, {"a": [0, True]}),
        ("$.result.body.a", {"a": 1}, {"a": "1"}),
        ("$.result.body.b", {"a": 1}, {"a": 1, "b": None}),
        ("$.result.body[1]", [1], [1, 2]),
        ("$.result.body", [], {}),
        ('$.result.body["two words"]', {"two words": 0}, {"two words": False}),
    ],
)
def test_the_first_differing_leaf_is_named(path: str, left: Json, right: Json) -> None:
    """The path leads to the leaf that differs as JSON, where Python would call True and 1 equal."""
    found = _difference(make_episode(make_call(body=left)), make_episode(make_call(body=right)))
    assert (0, path) == (found.index, found.path)


def test_records_inside_a_step_are_searched() -> None:
    """A difference in the second tool call of a completion is placed there."""
    found = _difference(make_episode(make_completion(calls=1)), make_episode(make_completion(calls=2)))
    assert "$.completion.tool_calls[1]" == found.path


def test_numbers_that_are_one_value_are_no_difference() -> None:
    """25 and 25.0 are one value in digests and in differences."""
    assert find_difference(make_episode(make_call(body=25)), make_episode(make_call(body=25.0))) is None


def test_a_prefix_differs_where_it_ends() -> None:
    """The index is the number of common steps, the missing side is None."""
    short, long = make_episode(make_call()), make_episode(make_call(), NoteStep(name="limit"))
    found = _difference(short, long)
    assert (1, None, "$") == (found.index, found.left, found.path)
    assert {"type": "note", "name": "limit", "data": None} == found.right


def test_episodes_of_two_seeds_differ_where_they_really_part() -> None:
    """Chained digests differ from the start, but the first step that says something else is named."""
    left = make_episode(make_call(), make_call(content="a"), seed=1)
    right = make_episode(make_call(), make_call(content="b"), seed=2)
    found = _difference(left, right)
    assert (1, "$.result.content") == (found.index, found.path)


def test_equal_steps_with_another_end_differ_past_the_last() -> None:
    """When every step agrees, the ends are compared."""
    left, right = make_episode(make_call(), outcome={"a": 1}), make_episode(make_call(), outcome={"a": 2})
    found = _difference(left, right)
    assert (1, "$.outcome.a") == (found.index, found.path)


def test_a_chain_that_holds_has_no_broken_link() -> None:
    """A trajectory as it was made is whole, empty ones too."""
    assert find_broken_link(make_episode()) is None
    assert find_broken_link(make_episode(make_call(), make_completion())) is None


def test_a_changed_step_breaks_its_link() -> None:
    """A step that was edited afterwards is found by its index."""
    episode = make_episode(make_completion(), make_call(), make_completion())
    edited = msgspec.structs.replace(
        episode, steps=(episode.steps[0], make_call(content="9 degrees"), episode.steps[2])
    )
    assert 1 == find_broken_link(edited)


def test_missing_and_surplus_digests_are_broken_links() -> None:
    """A digest too few or too many is found at the step where the two lists part."""
    episode = make_episode(make_completion(), make_call())
    short = msgspec.structs.replace(episode, digests=episode.digests[:1])
    long = msgspec.structs.replace(episode, digests=(*episode.digests, Digest("sha256:0")))
    assert (1, 2) == (find_broken_link(short), find_broken_link(long))
