"""The tree an episode grows: thoughts, actions and action inputs, each with the conversation up to it.

Owns structure only: depth, marks (pruned, finished), the history a node was reached by, and the histories
that an answer file shows. Nodes are mutable while an episode runs and never leave it. Source:
toolbench/inference/Tree/Tree.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from replay.core.types import Message, Record

__all__ = ["ACTION", "ACTION_INPUT", "MAX_TREE_DEPTH", "THOUGHT", "Node", "Said", "train_histories"]

NodeKind = Literal["Thought", "Action", "Action Input"]

THOUGHT: Final = "Thought"
ACTION: Final = "Action"
ACTION_INPUT: Final = "Action Input"

MAX_TREE_DEPTH: Final = 90
"""Deepest node: an answer file nests two JSON levels a node, and canonical JSON ends at 200 levels."""


class Said(Record, frozen=True, kw_only=True):
    """One message of a history."""

    message: Message
    shown: bool = True
    """False for a diversity message once its turn is over: kept in files, never sent again."""


class Node:
    """One node of the tree."""

    __slots__ = (
        "children",
        "code",
        "depth",
        "expand_num",
        "finished",
        "history",
        "kind",
        "observation",
        "parent",
        "pruned",
        "terminal",
        "text",
        "turns",
    )

    def __init__(self, kind: NodeKind, text: str, parent: Node | None) -> None:
        """Hang a node under its parent; what was said and whether the answer was given are inherited."""
        self.kind: NodeKind = kind
        self.text = text
        self.parent = parent
        self.children: list[Node] = []
        self.depth: int = parent.depth + 1 if parent else 0
        self.turns: int = parent.turns if parent else 0
        self.observation = ""
        self.code: int | None = None
        self.pruned = False
        self.finished = False
        self.terminal: bool = parent.terminal if parent else False
        self.expand_num = 0
        self.history: list[Said] = list(parent.history) if parent else []
        if parent:
            parent.children.append(self)

    def path(self) -> list[Node]:
        """Nodes from below the root down to this one."""
        found: list[Node] = []
        node = self
        while node.parent is not None:
            found.append(node)
            node = node.parent
        return found[::-1]

    def walk(self) -> Iterator[Node]:
        """This node and all below it, parents first, children in order."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))

    def shown_messages(self) -> tuple[Message, ...]:
        """The conversation as the candidate is sent it."""
        return tuple(said.message for said in self.history if said.shown)

    def mark_finished(self, inputs: int) -> None:
        """Mark this node and its ancestors finished until more than `inputs` action inputs are passed."""
        node: Node | None = self
        while node is not None and inputs >= 0:
            node.finished = True
            if node.kind == ACTION_INPUT:
                inputs -= 1
            node = node.parent


def train_histories(node: Node) -> list[list[Said]]:
    """Histories of an answer file: one for each turn on the way to a node, up to what the candidate said.

    Shape:   the last one is the full conversation. Of hidden diversity messages only the latest stays, as
             upstream.
    Source:  Tree.py, get_train_messages_from_this_node.
    """
    histories: list[list[Said]] = []
    for step in node.path():
        if step.kind == ACTION_INPUT:
            histories.append(_keep_latest_hidden(_cut_after_assistant(step.history)))
        elif step.kind == THOUGHT:
            history = list(step.history)
            while history and history[-1].message.role == "user":
                history.pop()
            if history and history[-1].message.role == "assistant":
                histories.append(_keep_latest_hidden(history))
    return histories


def _cut_after_assistant(history: list[Said]) -> list[Said]:
    end = len(history)
    while end and history[end - 1].message.role != "assistant":
        end -= 1
    return history[:end]


def _keep_latest_hidden(history: list[Said]) -> list[Said]:
    hidden = [index for index, said in enumerate(history) if not said.shown]
    dropped = set(hidden[:-1])
    return [said for index, said in enumerate(history) if index not in dropped]
