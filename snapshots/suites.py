"""The suites that ship, as plain data: what is imported, who plays it, and which runs have a recorded root.

A suite is a folder below `sources/` in its benchmark's own upstream layout, with beside it

    scripts/NAME.json      what a scripted candidate says
    users/NAME.json        what a scripted user says to it (benchmarks with conversations)
    judge/RUBRIC.json      verdicts written by hand (benchmarks with a judge)
    models/NAME.replay     what a local model said, recorded by snapshots/record.py
"""

from __future__ import annotations

from typing import Final

import msgspec

from replay.core.types import Json, Record

__all__ = ["SUITES", "ModelPlay", "Play", "Suite", "find_suite"]


class Play(Record, frozen=True, kw_only=True):
    """One scripted candidate: it is played against the recorded answers, and its run gets a recorded root."""

    candidate: str
    """Name of `scripts/NAME.json`."""
    user: str = ""
    """Name of `users/NAME.json`; empty where nobody speaks to the candidate."""
    protocol: str = ""
    options: dict[str, Json] = msgspec.field(default_factory=dict)
    reference: str = ""
    """Candidate, played before, that this one is compared with."""


class ModelPlay(Record, frozen=True, kw_only=True):
    """One run of a local model that is recorded and ships."""

    model: str
    """Its name in models/*.toml, and in the archive."""
    protocol: str = ""
    options: dict[str, Json] = msgspec.field(default_factory=dict)
    select: tuple[str, ...] = ()
    trials: int = 1
    simulates: bool = False
    """The model also answers calls that nothing recorded answers."""
    judges: bool = False
    """The model also judges."""
    judge_runs: int = 1
    speaks_as_user: bool = False
    """The model also plays the user."""
    without: tuple[str, ...] = ()
    """Tools whose recorded answers are not served, as if their APIs had gone."""
    live: tuple[str, ...] = ()
    """Tasks that `replay shipped --live` plays live; frozen answers of all tasks are replayed either way."""


class Suite(Record, frozen=True, kw_only=True):
    """One shipped archive."""

    name: str
    version: str
    benchmark: str
    options: dict[str, Json] = msgspec.field(default_factory=dict)
    """Options of the importer."""
    plays: tuple[Play, ...] = ()
    models: tuple[ModelPlay, ...] = ()


_SMALL: Final[dict[str, Json]] = {"tool_choice": "required", "max_tokens": 64, "max_steps": 4}
"""Two turns of one call: the default model is too small to start one by itself, and repeats what it did."""

_GONE: Final = ("Weather/skyline_forecast_for_Weather/*", "Food/pantry_pal_for_Food/*")

SUITES: Final = (
    Suite(
        name="stabletoolbench-mini",
        version="1.0",
        benchmark="stabletoolbench",
        plays=(
            Play(candidate="cot", protocol="CoT@1"),
            Play(candidate="dfs", protocol="DFS_woFilter_w2", reference="cot"),
            Play(candidate="weak", protocol="CoT@1"),
        ),
        models=(
            ModelPlay(
                model="smollm2-135m",
                protocol="CoT@1",
                options=_SMALL,
                simulates=True,
                judges=True,
                without=_GONE,
                live=("1001", "1003", "1004"),
            ),
            ModelPlay(
                model="smollm2-135m",
                protocol="DFS_woFilter_w2",
                options=_SMALL | {"max_queries": 4},
                simulates=True,
                judges=True,
                without=_GONE,
                live=("1003",),
            ),
        ),
    ),
    Suite(
        name="metatool-mini",
        version="1.0",
        benchmark="metatool",
        plays=(
            Play(candidate="gold"),
            Play(
                candidate="near-gold",
                protocol="five-shot",
                options={"order": "shuffled", "descriptions": "list"},
            ),
        ),
        models=(
            ModelPlay(
                model="smollm2-135m",
                options={"max_tokens": 24},
                select=(
                    "awareness-000[0-5]",
                    "similar-00[0-5]0",
                    "scenario-harbour-crew-00[0-4]",
                    "reliability-000[0-4]",
                    "multi-tool-000[0-4]",
                ),
                live=("awareness-0000", "multi-tool-0000"),
            ),
        ),
    ),
    Suite(
        name="toolsandbox-mini",
        version="1.0",
        benchmark="toolsandbox",
        plays=(
            Play(candidate="gold", user="plain"),
            Play(candidate="talker", user="plain"),
        ),
        models=(
            ModelPlay(
                model="smollm2-135m",
                options={"max_tokens": 40, "user_max_tokens": 160, "max_messages": 3},
                select=(
                    "wifi_goes_off",
                    "is_cellular_on",
                    "battery_saving_on",
                    "location_goes_off",
                    "add_a_contact",
                    "who_has_this_number",
                    "text_a_number",
                    "days_in_between",
                    "miles_to_kilometres",
                    "stock_of_a_company",
                    "crowns_to_euros",
                    "holiday_this_year",
                    "text_a_person",
                    "remove_a_reminder",
                    "where_am_i",
                    "warmth_now",
                    "text_without_cellular",
                    "holiday_without_wifi",
                    "text_in_two_steps",
                    "wifi_back_and_forth",
                    "no_way_to_know_the_place",
                    "no_tool_to_remove",
                    "no_clock",
                    "no_number_and_no_book",
                ),
                speaks_as_user=True,
                live=("wifi_goes_off", "no_clock"),
            ),
        ),
    ),
    Suite(
        name="acebench-mini",
        version="1.0",
        benchmark="acebench",
        plays=(
            Play(candidate="gold", user="townsfolk"),
            Play(candidate="near-gold", user="townsfolk"),
        ),
        models=(
            ModelPlay(
                model="smollm2-135m",
                options={
                    "max_tokens": 12,
                    "agent_max_tokens": 12,
                    "user_max_tokens": 12,
                    "max_messages": 4,
                },
                select=("*_0",),
                speaks_as_user=True,
                live=("en/normal_atom_bool_0",),
            ),
        ),
    ),
    Suite(
        name="codexomics-mini",
        version="1.0",
        benchmark="codexomics",
        plays=(
            Play(candidate="gold", options={"mode": "clean-parity", "tier": "real-tool-execution"}),
            Play(candidate="wrong", options={"mode": "clean-parity", "tier": "task-completion-execution"}),
            Play(
                candidate="recovering",
                options={"mode": "production-parity", "tier": "task-completion-execution"},
            ),
        ),
        models=(
            ModelPlay(
                model="smollm2-135m",
                # The oracle's budget keeps a small model from going round in circles.
                options={
                    "mode": "oracle-assisted",
                    "expected_tools": "always-present",
                    "candidates": 4,
                    "max_tokens": 64,
                },
                select=(
                    "automatic_simple/nav_0[1-9]",
                    "automatic_simple/tab_01",
                    "automatic_simple/track_01",
                    "automatic_simple/find_0[1-5]",
                    "automatic_simple/seq_0[1-4]",
                ),
                live=("automatic_simple/tab_01", "automatic_simple/find_05"),
            ),
        ),
    ),
)


def find_suite(name: str) -> Suite | None:
    """Return the suite of that name."""
    return next((suite for suite in SUITES if suite.name == name), None)
