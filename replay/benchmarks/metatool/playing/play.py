"""One episode: one question, one completion.

Awareness and selection are separate questions, so that a list of tools cannot tell that tools are needed.
Source: paper, section 3; spec 2. Tools are never carried out: there is nothing else to ask.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from replay.benchmarks.metatool.playing.prompts import PromptBook, tool_lines
from replay.benchmarks.metatool.records import AWARENESS, BENCHMARK, MULTI, Sample, sample_of
from replay.benchmarks.metatool.settings import FIVE_SHOT
from replay.core.canonical import digest
from replay.core.determinism import Stream, derive_seed
from replay.core.errors import InputError
from replay.core.protocols import EpisodeContext, EpisodeEnd, EpisodePlay, ask
from replay.core.types import ChatRequest, Json, Role, Sampling, Task, ToolSpec

__all__ = ["play_task", "show_order"]

_STOPS: Final = {"length": "truncated", "refused": "refused", "error": "refused"}
_MULTI_PROMPTS: Final = {"at-most-two": "choose-up-to-two", "exactly-two": "choose-two"}


def play_task(
    task: Task, tools: tuple[ToolSpec, ...], context: EpisodeContext, prompts: PromptBook
) -> EpisodePlay:
    """Ask the task's one question and keep what was said.

    Shape:   the outcome holds the answer, how it ended, the order of the tools and the seed it was drawn by,
             and the digest of the messages.
    """
    sample, options = sample_of(task), context.settings.options
    order, seed = show_order(task, sample, context)
    name = _prompt_name(sample, options)
    # The multi-tool question has no few-shot form (spec 2), so there the protocol changes nothing.
    examples = sample.examples if context.settings.protocol == FIVE_SHOT and sample.subtask != MULTI else ()
    if sample.subtask == AWARENESS:
        messages = prompts.ask_thought(sample.query, examples)
    else:
        lines = tool_lines(_in_order(task, tools, order), as_lists=options["descriptions"] == "list")
        messages = prompts.ask_action(name, sample.query, tools=lines, examples=examples)
    completion = yield from ask(
        ChatRequest(
            role=Role.CANDIDATE,
            messages=messages,
            tool_choice="none",
            sampling=Sampling(temperature=options["temperature"], max_tokens=options["max_tokens"]),
            prompt_digest=prompts.get(name).digest,
        )
    )
    said: dict[str, Json] = {
        "answer": completion.content or "",
        "finish": completion.finish,
        "prompt": digest("prompt-text", [message.content for message in messages]),
    }
    if order:
        said["order"] = list(order)
    if seed is not None:
        said["order_seed"] = seed
    return EpisodeEnd(stop=_STOPS.get(completion.finish, "finished"), outcome=said)


def show_order(task: Task, sample: Sample, context: EpisodeContext) -> tuple[tuple[str, ...], int | None]:
    """Order in which the tools are shown, and the seed of a shuffled one.

    The order of a task depends on the run's seed and the task alone: every candidate and trial sees the same.
    """
    if context.settings.options["order"] == "original":
        return sample.candidates, None
    seed = derive_seed(context.settings.seed, BENCHMARK, "tool-order", task.id)
    order = list(sample.candidates)
    Stream("tool-order", seed).shuffle(order)
    return tuple(order), seed


def _prompt_name(sample: Sample, options: Json) -> str:
    if sample.subtask == AWARENESS:
        return "thought"
    return _MULTI_PROMPTS[options["multi"]] if sample.subtask == MULTI else "choose-one"


def _in_order(task: Task, tools: Sequence[ToolSpec], order: Sequence[str]) -> list[ToolSpec]:
    by_name = {spec.name: spec for spec in tools}
    missing = [name for name in order if name not in by_name]
    if missing:
        raise InputError(
            f"no tool spec of {missing[0]!r}", where=f"task {task.id}", expected="one a candidate"
        )
    return [by_name[name] for name in order]
