"""Settings of an episode: protocols, options, bounds; one play is a pure function of its answers."""

from __future__ import annotations

import pytest

from replay.benchmarks.stabletoolbench.playing.play import PLAY_DEFAULTS, check_play_settings, parse_protocol
from replay.core.canonical import digest
from replay.core.errors import InputError
from replay.core.protocols import Settings
from replay.core.types import Json
from tests.unit.benchmarks.stabletoolbench.player import finish, give_up, look, make_context, play_episode


@pytest.mark.parametrize(
    ("name", "tries", "width", "with_filter"),
    [
        ("CoT@1", 1, 0, False),
        ("CoT@12", 12, 0, False),
        ("DFS_woFilter_w2", 0, 2, False),
        ("DFS_w3", 0, 3, True),
    ],
)
def test_method_names_are_read(name: str, tries: int, width: int, *, with_filter: bool) -> None:
    """Upstream's method names say which protocol and how wide."""
    found = parse_protocol(name)
    assert (found.tries, found.width, found.with_filter) == (tries, width, with_filter)


def test_the_default_protocol_is_one_chain() -> None:
    """An empty name is CoT@1."""
    assert parse_protocol("").name == "CoT@1"


@pytest.mark.parametrize(
    "name", ["CoT", "CoT@0", "cot@1", "DFS", "DFS_w0", "DFS_woFilter", "BFS_w2", "CoT@1\n"]
)
def test_other_names_are_refused_with_the_forms(name: str) -> None:
    """The message shows the three forms."""
    with pytest.raises(InputError, match="CoT@<tries>, DFS_woFilter_w<width> or DFS_w<width>"):
        parse_protocol(name)


def test_defaults_are_those_of_the_examples() -> None:
    """12 steps, 200 queries, 1,024 characters, one answer."""
    options = check_play_settings(Settings())
    assert options == dict(PLAY_DEFAULTS)
    assert [options[name] for name in ("max_steps", "max_queries", "max_observation", "answers")] == [
        12,
        200,
        1024,
        1,
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_steps", 0),
        ("max_steps", 81),
        ("max_steps", True),
        ("max_steps", "12"),
        ("max_steps", 12.0),
        ("max_queries", 10_001),
        ("max_observation", None),
        ("answers", -1),
        ("temperature", 3),
        ("temperature", float("nan")),
        ("temperature", True),
        ("dead_end_climb", 3),
    ],
)
def test_values_out_of_bounds_are_named(name: str, value: Json) -> None:
    """The message names the option, its value and what is allowed."""
    with pytest.raises(InputError, match=f"unusable option {name}=.*settings.options.{name}.*expected"):
        check_play_settings(Settings(options={name: value}))


def test_options_of_other_parts_are_left_alone() -> None:
    """The judge's options are not the play's affair."""
    assert "judge" not in check_play_settings(Settings(options={"judge": "x"}))


def test_sampling_follows_the_options() -> None:
    """Temperature and token limit reach the request; the default is greedy."""
    request = play_episode(make_context("", temperature=0.5, max_tokens=9), [finish()]).chats[0]
    assert (request.sampling.temperature, request.sampling.max_tokens) == (0.5, 9)
    assert play_episode(make_context(""), [finish()]).chats[0].sampling.temperature == 0.0


@pytest.mark.parametrize("rules", ["compat", "strict"])
@pytest.mark.parametrize("protocol", ["CoT@2", "DFS_woFilter_w2"])
def test_equal_answers_give_equal_episodes(rules: str, protocol: str) -> None:
    """Requests, notes and outcome of two plays with the same answers are equal to the last byte."""
    ends = []
    for _ in range(2):
        played = play_episode(make_context(protocol, rules), [look(), give_up(), look("B"), finish()])
        ends.append((played.chats, played.calls, played.notes, digest("outcome", played.end.outcome)))
    assert ends[0] == ends[1]
