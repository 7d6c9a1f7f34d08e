"""One turn of the candidate: ask from a node, carry out the calls, grow the tree.

Owns what both protocols share: limits of a step, counters of queries and tokens, thoughts and calls as nodes,
and what an incomplete completion means. Source: Algorithms/single_chain.py and Algorithms/DFS.py at aa4ed9f.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from msgspec.structs import replace

from replay.benchmarks.stabletoolbench.functions import FunctionEntry
from replay.benchmarks.stabletoolbench.naming import standardize
from replay.benchmarks.stabletoolbench.playing.calling import INVALID_NAME, CallingRules, call_function
from replay.benchmarks.stabletoolbench.playing.nodes import (
    ACTION,
    ACTION_INPUT,
    MAX_TREE_DEPTH,
    THOUGHT,
    Node,
    Said,
)
from replay.benchmarks.stabletoolbench.playing.prompts import Prompts
from replay.benchmarks.stabletoolbench.playing.statuses import Observation, Status
from replay.core.protocols import Answer, Ask, ask, note
from replay.core.types import ChatRequest, Completion, Json, Message, Record, Role, Sampling, ToolCall

__all__ = ["Candidate", "IncompleteCompletionError", "StepLimits"]

_COMPLETE: Final = ("stop", "tool_calls")
_STOPS: Final = {"length": "truncated", "refused": "refused", "error": "refused"}


class StepLimits(Record, frozen=True, kw_only=True):
    """How far an attempt may go."""

    max_steps: int = 12
    """Compat counts tree nodes (12 are 6 bare calls, or 4 with text), strict counts turns."""
    max_queries: int = 200
    answers: int = 1
    """How many answers end the episode."""
    dead_end_climb: int = 1
    """Turns that a tree search climbs from a leaf that is no answer and no give-up."""


class IncompleteCompletionError(Exception):
    """A completion that strict rules do not go on from; the tree so far stays."""

    def __init__(self, stop: str) -> None:
        """Keep the named stop."""
        self.stop = stop
        super().__init__(stop)


class Candidate:
    """The agent under evaluation as one episode sees it."""

    def __init__(
        self,
        query: str,
        entries: Sequence[FunctionEntry],
        *,
        prompts: Prompts,
        rules: CallingRules,
        sampling: Sampling,
        tool_choice: str = "auto",
    ) -> None:
        """Fix what every turn of the episode shares."""
        self.query = query
        self.entries = tuple(entries)
        self.queries = 0
        self.tokens = 0
        self.rules = rules
        self._prompts = prompts
        self._sampling = sampling
        self._tool_choice = tool_choice
        self._task = prompts.task_description(_tool_names(self.entries))

    def plant(self) -> Node:
        """Start an attempt: a root with the opening messages."""
        root = Node(ACTION_INPUT, "", None)
        opening = self._prompts.opening(self._task, self.query)
        root.history = [Said(message=message) for message in opening]
        return root

    def is_at_limit(self, node: Node, limits: StepLimits) -> bool:
        """Tell whether an attempt may not go on from a node.

        Source:  single_chain.py, DFS.py: a step is a tree node. Differs in strict: a step is a turn.
        """
        steps = node.turns if self.rules.strict else node.depth
        # An answer file cannot nest deeper, whatever the settings say: two nodes must still fit.
        return steps >= limits.max_steps or node.depth + 2 > MAX_TREE_DEPTH

    def ask(self, node: Node) -> Generator[Ask, Answer, Completion]:
        """Ask for the next turn from a node and count it."""
        return (yield from self._ask(node.shown_messages(), self._tool_choice))

    def ask_vote(self, first: Node, second: Node) -> Generator[Ask, Answer, str]:
        """Ask which of two nodes is better to go on from and return the answer text."""
        completion = yield from self._ask(self._prompts.vote(self._task, first, second), "none")
        return completion.content or ""

    def diversity(self, node: Node) -> Message | None:
        """Write the message that asks for something new at a node."""
        return self._prompts.diversity(node)

    def grow(self, node: Node, completion: Completion) -> Generator[Ask, Answer, Node]:
        """Hang a turn under a node, a thought, then an action and its input for each call; return the last.

        Errors:  IncompleteCompletionError (strict only) after the thought of a cut, refused or failed
                 completion.
        Source:  single_chain.py. A failed model call prunes its thought; a turn with neither text nor calls
                 is appended to the node it was asked from.
        """
        strict = self.rules.strict
        failed = completion.finish == "error"
        text = "" if failed and completion.content is None else completion.content
        current = node
        if text is not None and (text or failed or not strict):
            current = Node(THOUGHT, text, current)
        if failed:
            current.code = Status.NO_COMPLETION
            current.pruned = True
        if completion.finish not in _COMPLETE and (strict or failed):
            yield from note("incomplete-completion", {"finish": completion.finish})
        if strict and completion.finish not in _COMPLETE:
            current.pruned = True
            raise IncompleteCompletionError(_STOPS.get(completion.finish, "refused"))
        if failed or not completion.tool_calls:
            current.turns = node.turns + 1
            current.history.append(Said(message=Message(role="assistant", content=text)))
            return current
        return (yield from self._grow_calls(current, completion))

    def _grow_calls(self, start: Node, completion: Completion) -> Generator[Ask, Answer, Node]:
        current = start
        turns = start.turns + 1
        done: list[tuple[Node, ToolCall, Observation]] = []
        for tool_call in completion.tool_calls:
            if current.depth + 2 > MAX_TREE_DEPTH:
                yield from note("calls-dropped", {"from": tool_call.id, "depth": current.depth})
                current.pruned = not current.terminal
                break
            seen = yield from call_function(tool_call, self.entries, self.rules)
            current = Node(ACTION_INPUT, tool_call.arguments, Node(ACTION, tool_call.name, current))
            current.turns = turns
            _mark(current, seen)
            done.append((current, tool_call, seen))
            if self.rules.strict and seen.code in (Status.ANSWERED, Status.GAVE_UP):
                # Strict: the attempt is over, later calls of the same turn are not carried out.
                break
        _write_histories(start, completion, done)
        return current

    def _ask(self, messages: tuple[Message, ...], tool_choice: str) -> Generator[Ask, Answer, Completion]:
        request = ChatRequest(
            role=Role.CANDIDATE,
            messages=messages,
            tools=tuple(entry.shown for entry in self.entries),
            tool_choice=tool_choice,
            sampling=self._sampling,
            prompt_digest=self._prompts.digest,
        )
        completion = yield from ask(request)
        self.queries += 1
        self.tokens += completion.prompt_tokens + completion.completion_tokens
        return completion


def _mark(node: Node, seen: Observation) -> None:
    node.observation = seen.text
    node.code = seen.code
    if seen.code == Status.GAVE_UP:
        node.pruned = True
    elif seen.code == Status.ANSWERED:
        node.terminal = True


def _write_histories(
    start: Node, completion: Completion, done: Sequence[tuple[Node, ToolCall, Observation]]
) -> None:
    """Give each call's node the conversation up to it: the turn once, then one tool message a call.

    A name that no function has is replaced in the history, so that the candidate does not learn it.
    """
    kept = tuple(
        replace(tool_call, name=INVALID_NAME) if seen.code == Status.NO_FUNCTION else tool_call
        for _, tool_call, seen in done
    )
    spoken = Message(role="assistant", content=completion.content, tool_calls=kept)
    history = [*start.history, Said(message=spoken)]
    for (node, _, seen), written in zip(done, kept, strict=True):
        reply = Message(role="tool", content=seen.text, tool_call_id=written.id, name=written.name)
        history = [*history, Said(message=reply)]
        node.history = history


def _tool_names(entries: Sequence[FunctionEntry]) -> list[tuple[str, str]]:
    """Standardised name and description of each function's tool, in the order of the functions."""
    found: list[tuple[str, str]] = []
    for entry in entries:
        extra: Json = entry.raw.extra if entry.raw is not None else None
        if not isinstance(extra, dict):
            continue
        description = extra.get("tool_description")
        name = standardize(str(extra.get("tool_name", "")))
        found.append((name, description if isinstance(description, str) else ""))
    return found
