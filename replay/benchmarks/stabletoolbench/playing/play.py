"""The candidate protocols of StableToolBench as episodes: settings in, raw and converted answer out.

Owns the protocol names, the play options with their defaults and bounds, and what an episode's outcome is.
The benchmark class hands `play` to the engine. Source: qa_pipeline_multithread.py, rapidapi_multithread.py at
aa4ed9f.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from replay.benchmarks.stabletoolbench.functions import FunctionEntry, build_functions
from replay.benchmarks.stabletoolbench.playing.calling import CallingRules
from replay.benchmarks.stabletoolbench.playing.convert import convert_answer
from replay.benchmarks.stabletoolbench.playing.cot import ChainSearch
from replay.benchmarks.stabletoolbench.playing.dfsdt import TreeSearch
from replay.benchmarks.stabletoolbench.playing.nodes import MAX_TREE_DEPTH, Node
from replay.benchmarks.stabletoolbench.playing.prompts import load_prompts
from replay.benchmarks.stabletoolbench.playing.raw_answer import chain_answer, tree_answer
from replay.benchmarks.stabletoolbench.playing.statuses import UpstreamFailureError
from replay.benchmarks.stabletoolbench.playing.turns import Candidate, StepLimits
from replay.benchmarks.stabletoolbench.wording import OWN_WORDING, Wording, wording_of
from replay.core.determinism import Stream
from replay.core.errors import InputError
from replay.core.protocols import EpisodeContext, EpisodeEnd, EpisodePlay, Settings, note
from replay.core.types import Json, Record, Sampling, Task, ToolSpec

__all__ = [
    "DEFAULT_PROTOCOL",
    "PLAY_DEFAULTS",
    "Protocol",
    "check_play_settings",
    "parse_protocol",
    "play",
    "play_entries",
]

DEFAULT_PROTOCOL: Final = "CoT@1"

PLAY_DEFAULTS: Final[Mapping[str, Json]] = {
    # 12 as in every shipped example; one upstream pipeline defaults to 50.
    "max_steps": 12,
    "max_queries": 200,
    "max_observation": 1024,
    "answers": 1,
    # 1 as in StableToolBench; ToolBench's first release climbed 2 turns from every leaf.
    "dead_end_climb": 1,
    "max_tokens": 1024,
    # Greedy. Upstream sends none, so that the provider's default holds (1.0).
    "temperature": 0.0,
    # Upstream leaves calls to the candidate; `required` holds every turn of a model too small to start one.
    "tool_choice": "auto",
    "wording": None,
}
"""Options of an episode by name."""

_BOUNDS: Final = {
    "max_steps": (1, MAX_TREE_DEPTH - 10),
    "max_queries": (1, 10_000),
    "max_observation": (1, 1_000_000),
    "answers": (1, 100),
    "dead_end_climb": (1, 2),
    "max_tokens": (1, 100_000),
}
_MAX_TEMPERATURE: Final = 2.0
_TOOL_CHOICES: Final = ("auto", "required")
_PROTOCOL: Final = re.compile(r"CoT@([1-9]\d{0,2})|DFS(_woFilter)?_w([1-9]\d{0,2})")


class Protocol(Record, frozen=True, kw_only=True):
    """A candidate protocol by its upstream method name."""

    name: str
    tries: int = 0
    """CoT: how often a chain may be tried; 0 for a tree search."""
    width: int = 0
    """Tree search: turns from one node."""
    with_filter: bool = False


def parse_protocol(name: str) -> Protocol:
    """Read a method name; empty is the default. Raises InputError listing the allowed forms."""
    name = name or DEFAULT_PROTOCOL
    found = _PROTOCOL.fullmatch(name)
    if found is None:
        raise InputError(
            f"unknown protocol {name!r}",
            where="settings.protocol",
            expected="CoT@<tries>, DFS_woFilter_w<width> or DFS_w<width>, numbers 1 to 999",
        )
    if found.group(1):
        return Protocol(name=name, tries=int(found.group(1)))
    return Protocol(name=name, width=int(found.group(3)), with_filter=not found.group(2))


def check_play_settings(settings: Settings) -> dict[str, Json]:
    """Fill the play options with their defaults and refuse what is out of bounds; leave other options alone.

    Errors:  InputError naming the option, its value and what is allowed.
    """
    parse_protocol(settings.protocol)
    given = settings.options if isinstance(settings.options, dict) else {}
    options = {name: given.get(name, default) for name, default in PLAY_DEFAULTS.items()}
    for name, (low, high) in _BOUNDS.items():
        value = options[name]
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise _bad_option(name, value, f"a whole number from {low} to {high}")
    heat = options["temperature"]
    if not isinstance(heat, (int, float)) or isinstance(heat, bool) or not 0 <= heat <= _MAX_TEMPERATURE:
        raise _bad_option("temperature", heat, f"a number from 0 to {_MAX_TEMPERATURE}")
    if options["tool_choice"] not in _TOOL_CHOICES:
        raise _bad_option("tool_choice", options["tool_choice"], " or ".join(_TOOL_CHOICES))
    load_prompts(wording=options["wording"])
    return options


def play(task: Task, tools: tuple[ToolSpec, ...], context: EpisodeContext) -> EpisodePlay:
    """Run the chosen protocol on one task.

    Shape:   outcome {"converted", "raw"}; None where upstream's program stops without an answer file.
    Stops:   finished, gave-up, step-limit, query-limit, and under strict rules truncated or refused (a failed
             or refused completion). Compat goes on from incomplete completions as upstream does: a cut one is
             taken as it is, a failed one prunes its branch. tool-error where upstream stops (compat only).
    """
    wording = wording_of(task.data)
    entries = build_functions(tools, rules=context.settings.rules, wording=wording)
    return (yield from play_entries(task, entries, context, wording=wording))


def play_entries(
    task: Task,
    entries: Sequence[FunctionEntry],
    context: EpisodeContext,
    *,
    wording: Wording = OWN_WORDING,
) -> EpisodePlay:
    """Run the chosen protocol on one task with functions that are already built."""
    settings = context.settings
    options = check_play_settings(settings)
    protocol = parse_protocol(settings.protocol)
    candidate = _make_candidate(task, entries, options, strict=settings.rules == "strict", wording=wording)
    limits = StepLimits(**{name: options[name] for name in StepLimits.__struct_fields__})
    try:
        if protocol.tries:
            chain = ChainSearch(candidate, limits, tries=protocol.tries)
            yield from chain.run()
            raw, stop = chain_answer(chain, candidate), chain.stop
        else:
            tree = TreeSearch(candidate, limits, width=protocol.width, with_filter=protocol.with_filter)
            yield from tree.run()
            chosen = _choose(tree, context)
            raw, stop = tree_answer(tree, candidate, chosen), _tree_stop(tree)
    except UpstreamFailureError as error:
        yield from note("upstream-failure", {"place": error.name, "detail": error.detail})
        return EpisodeEnd(stop="tool-error", outcome=None)
    converted = convert_answer(raw, method=protocol.name, query_id=task.id)
    return EpisodeEnd(stop=stop, outcome={"converted": converted, "raw": raw})


def _make_candidate(
    task: Task,
    entries: Sequence[FunctionEntry],
    options: Mapping[str, Json],
    *,
    strict: bool,
    wording: Wording,
) -> Candidate:
    return Candidate(
        str(task.data["query"]),
        entries,
        # Strict rules speak in our own words, whatever the archive holds.
        prompts=load_prompts(OWN_WORDING if strict else wording, options["wording"]),
        rules=CallingRules(strict=strict, max_observation=options["max_observation"]),
        sampling=Sampling(temperature=float(options["temperature"]), max_tokens=options["max_tokens"]),
        tool_choice=options["tool_choice"],
    )


def _choose(tree: TreeSearch, context: EpisodeContext) -> Node | None:
    """Take the first answer, else one of the give-ups by the episode's seed.

    Source:  DFS.py, to_json. Differs: upstream draws the give-up from a generator that all threads share.
    """
    kept = [node for node in tree.answered if not node.pruned]
    if kept:
        return kept[0]
    return Stream("give-up", context.seed).choice(tree.gave_up) if tree.gave_up else None


def _tree_stop(tree: TreeSearch) -> str:
    if tree.answered:
        return "finished"
    return tree.stop or ("gave-up" if tree.gave_up else "step-limit")


def _bad_option(name: str, value: Json, expected: str) -> InputError:
    return InputError(
        f"unusable option {name}={value!r}", where=f"settings.options.{name}", expected=expected
    )
