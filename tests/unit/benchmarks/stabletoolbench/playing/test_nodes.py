"""The tree: depth, inherited marks, walking order, histories of an answer file."""

from __future__ import annotations

from replay.benchmarks.stabletoolbench.playing.nodes import Node, Said, train_histories
from replay.core.types import Message


def _said(role: str, text: str = "", *, shown: bool = True) -> Said:
    return Said(message=Message(role=role, content=text), shown=shown)


def _root() -> Node:
    root = Node("Action Input", "", None)
    root.history = [_said("system"), _said("user")]
    return root


def test_children_inherit_history_and_answer() -> None:
    """A node starts with its parent's conversation, as a copy, and with the answer if it was given."""
    root = _root()
    root.terminal = True
    child = Node("Thought", "hm", root)
    child.history.append(_said("assistant"))
    assert (child.depth, child.terminal, len(root.history), len(child.history)) == (1, True, 2, 3)


def test_walk_is_preorder() -> None:
    """Parents come first, children in order."""
    root = _root()
    first = Node("Thought", "a", root)
    Node("Thought", "c", root)
    Node("Thought", "b", first)
    assert [node.text for node in root.walk()] == ["", "a", "b", "c"]


def test_hidden_messages_are_not_sent() -> None:
    """What is flagged stays in the history and is not shown."""
    root = _root()
    root.history.append(_said("user", "differ", shown=False))
    assert [message.role for message in root.shown_messages()] == ["system", "user"]


def test_only_the_latest_hidden_message_is_filed() -> None:
    """Of several diversity messages on the way, a history keeps the last."""
    node = Node("Action Input", "{}", _root())
    node.history += [
        _said("user", "first", shown=False),
        _said("assistant", "a"),
        _said("user", "second", shown=False),
        _said("assistant", "b"),
        _said("tool", "r"),
    ]
    (history,) = train_histories(node)
    assert [said.message.content for said in history] == ["", "", "a", "second", "b"]


def test_a_thought_gives_a_history_when_it_ended_its_turn() -> None:
    """A thought beside a call leaves no history of its own, a thought alone does."""
    beside = Node("Thought", "hm", _root())
    alone = Node("Thought", "hm", _root())
    alone.history.append(_said("assistant", "hm"))
    assert ([], 1) == (train_histories(beside), len(train_histories(alone)))


def test_action_nodes_give_no_history() -> None:
    """Only thoughts and action inputs are filed; an input without an answered turn files nothing said."""
    action = Node("Action", "look", _root())
    given = Node("Action Input", "{}", action)
    given.history.append(_said("assistant", "a"))
    assert len(train_histories(given)) == 1
