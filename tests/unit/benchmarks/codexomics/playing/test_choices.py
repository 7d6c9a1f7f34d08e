"""What a user may choose, and what cannot hold together."""

from __future__ import annotations

import pytest

from replay.benchmarks.codexomics.playing.choices import check_settings, read_choices
from replay.benchmarks.codexomics.playing.play import make_world
from replay.benchmarks.codexomics.records import Tier
from replay.core.errors import InputError
from replay.core.protocols import EpisodeContext, Settings
from replay.core.types import Json
from tests.unit.benchmarks.codexomics.builders import make_task, single


def test_defaults_written_out_are_the_same_settings() -> None:
    """Left out or written out, a default gives one run root."""
    assert check_settings(Settings()) == check_settings(check_settings(Settings()))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"mode": "parity"}, "options.mode"),
        ({"tier": "completion"}, "options.tier"),
        ({"candidates": 25}, "options.candidates"),
        ({"candidates": True}, "options.candidates"),
        ({"moed": "x"}, "did you mean mode"),
        ({"tier": "real-tool-execution", "results": "synthetic"}, "over synthetic results"),
    ],
)
def test_unusable_options_are_refused(options: Json, match: str) -> None:
    """The message names the option and what is allowed."""
    with pytest.raises(InputError, match=match):
        check_settings(Settings(options=options))


@pytest.mark.parametrize(("genome", "results"), [("", "synthetic"), ("demo-genome-1", "world")])
def test_the_fixture_decides_who_answers(genome: str, results: str) -> None:
    """A suite with a genome of ours is executed; another gets synthetic results, by that name."""
    assert results == read_choices(Settings()).results_for(genome)


def test_a_world_without_a_genome_is_refused() -> None:
    """Nothing is made up: a session needs a genome that ships with the product."""
    context = EpisodeContext(trial=0, seed=1, settings=Settings(options={"results": "world"}))
    with pytest.raises(InputError, match="results=world without a genome"):
        make_world(make_task(single("a")), context)


def test_recorded_results_have_no_world() -> None:
    """With results=recorded only snapshots answer."""
    context = EpisodeContext(trial=0, seed=1, settings=Settings(options={"results": "recorded"}))
    assert make_world(make_task(single("a")), context) is None


def test_the_default_tier_is_offline_completion() -> None:
    """Execution tiers are asked for by name."""
    assert Tier.COMPLETION is read_choices(Settings()).tier
