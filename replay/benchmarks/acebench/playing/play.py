"""Episodes of all categories: one request for normal and special ones, a dialogue in the sandbox for agents.

Owns what an episode's outcome is (see `records`). The benchmark class hands `play` and `make_world` to the
engine.
"""

from __future__ import annotations

from replay.benchmarks.acebench.playing.candidate import Candidate, SilentError
from replay.benchmarks.acebench.playing.dialogues import Dialogue, StepDialogue, TurnDialogue
from replay.benchmarks.acebench.playing.execution import Executor
from replay.benchmarks.acebench.playing.options import PlayOptions, play_options
from replay.benchmarks.acebench.playing.prompts import PromptBook
from replay.benchmarks.acebench.records import AGENT, AceTask, read_task
from replay.benchmarks.acebench.world.sandbox import Sandbox, tool_names
from replay.core.protocols import EpisodeContext, EpisodeEnd, EpisodePlay, read_state
from replay.core.types import Task

__all__ = ["make_world", "play"]


def make_world(task: Task, context: EpisodeContext) -> Sandbox | None:
    """Make the sandbox of an agent task; other categories have none.

    Errors:  InputError for a class that the sandbox does not have.
    """
    if task.data.get("category") not in AGENT:
        return None
    record = read_task(task)
    clean = context.settings.rules == "strict"
    return Sandbox(record.language, record.involved_classes, record.initial_config, clean=clean)


def play(task: Task, context: EpisodeContext) -> EpisodePlay:
    """Run the candidate protocol of a task's category.

    Stops:   finished; step-limit, user-failed (agents); refused, and under strict rules truncated, when the
             candidate gave nothing to go on from.
    """
    record = read_task(task)
    options = play_options(context.settings)
    strict = context.settings.rules == "strict"
    book = PromptBook(
        record,
        wording=options.wording,
        tool_format=options.tool_format,
        step_language=options.step_language,
    )
    if record.category not in AGENT:
        return (yield from _play_single(book, options, strict=strict))
    known = tool_names(record.language, record.involved_classes, clean=strict)
    executor = Executor(task.id, context.trial, known)
    dialogue = _make_dialogue(record, book, executor, options, strict=strict)
    return (yield from _play_dialogue(dialogue))


def _play_single(book: PromptBook, options: PlayOptions, *, strict: bool) -> EpisodePlay:
    candidate = Candidate(options, max_tokens=options.max_tokens, strict=strict)
    try:
        output = yield from candidate.say(book.single())
    except SilentError as silent:
        outcome = None if silent.text is None else {"output": silent.text}
        return EpisodeEnd(stop=silent.stop, outcome=outcome)
    return EpisodeEnd(stop="finished", outcome={"output": output})


def _make_dialogue(
    record: AceTask, book: PromptBook, executor: Executor, options: PlayOptions, *, strict: bool
) -> Dialogue:
    candidate = Candidate(options, max_tokens=options.agent_max_tokens, strict=strict)
    if record.category == "agent_multi_turn":
        return TurnDialogue(book, candidate, executor, options, clean=strict)
    return StepDialogue(book, candidate, executor, options, clean=strict, question=record.question)


def _play_dialogue(dialogue: Dialogue) -> EpisodePlay:
    """Upstream saves no state when nothing was ever executed; clean rules always look at it."""
    stop = yield from dialogue.run()
    state = yield from read_state("end-state")
    result = state.state["saved"] if dialogue.has_executed or dialogue.clean else []
    return EpisodeEnd(stop=stop, outcome={"result": result, "process": dialogue.process})
