"""Prompts: our own texts, upstream's where they are supplied, filled in once, identified by a digest."""

from __future__ import annotations

import pytest

from replay.benchmarks.stabletoolbench.playing.nodes import Node
from replay.benchmarks.stabletoolbench.playing.prompts import WORDING_NAMES, load_prompts
from replay.benchmarks.stabletoolbench.wording import Wording
from replay.core.errors import InputError
from replay.core.types import Json
from tests.unit.benchmarks.stabletoolbench.player import finish, make_context, play_episode


def _imported(**texts: str) -> Wording:
    return Wording(tool_sentence="", description_sentence="", finish="", final_answer="", **texts)


def _make_call(parent: Node, city: str, observation: str = "sunny") -> Node:
    node = Node("Action Input", city, Node("Action", "look", parent))
    node.observation = observation
    return node


def test_tools_are_listed_once_numbered_and_cut() -> None:
    """A tool that comes twice keeps its place; descriptions lose line ends and end after 512 characters."""
    text = load_prompts().task_description([("b", "old"), ("a", " \n"), ("b", "x\ny" + "z" * 600)])
    listed = text.splitlines()[-2:]
    assert listed == ["1.b: xy" + "z" * 509, "2.a: None"]


def test_opening_holds_task_and_query() -> None:
    """The system message ends in the task, the user message holds the query between its lines."""
    system, user = load_prompts().opening("TASK", "QUERY")
    assert (system.role, user.role) == ("system", "user")
    assert "TASK" in (system.content or "")
    assert "\nQUERY\n" in (user.content or "")


def test_braces_in_what_is_filled_in_stay() -> None:
    """A query that looks like a placeholder is not filled in again."""
    _, user = load_prompts().opening("TASK", "{task_description} {input_description}")
    assert "{task_description} {input_description}" in (user.content or "")


def test_imported_wording_replaces_both_opening_messages() -> None:
    """Upstream's system text comes before the tool list, its user text around the query."""
    prompts = load_prompts(_imported(system="Persona. Tools:\n", user="Q: {query}!"))
    system, user = prompts.opening(prompts.task_description([("a", "d")]), "why?")
    assert (system.content, user.content) == ("Persona. Tools:\n1.a: d\n", "Q: why?!")


def test_a_setting_replaces_any_text() -> None:
    """The option `wording` wins over our own and the imported text."""
    _, user = load_prompts(_imported(user="Q: {query}!"), {"user": "Just {input_description}"}).opening(
        "", "x"
    )
    assert user.content == "Just x"


@pytest.mark.parametrize("wording", [[], "x", {"system": 5}, {"persona": "x"}])
def test_unusable_wording_lists_the_names(wording: Json) -> None:
    """A wording must be a mapping of known names to texts."""
    with pytest.raises(InputError, match="diversity, former-observation, system"):
        load_prompts(wording=wording)


def test_every_text_changes_the_digest() -> None:
    """Two wordings that differ in any one text have two digests; equal ones have one."""
    digests = {load_prompts(wording={name: "other"}).digest for name in WORDING_NAMES}
    digests.add(load_prompts().digest)
    assert len(digests) == len(WORDING_NAMES) + 1
    assert load_prompts().digest == load_prompts().digest


def test_requests_carry_the_digest_and_the_functions() -> None:
    """Each chat request names its prompts and offers all functions, Finish last."""
    request = play_episode(make_context(), [finish()]).chats[0]
    assert request.prompt_digest == load_prompts().digest
    assert [tool.name for tool in request.tools] == ["current_for_weather_desk", "Finish"]


def test_strict_rules_ignore_imported_wording() -> None:
    """Strict speaks in our own words."""
    assert "Your task" in (
        play_episode(make_context("", "strict"), [finish()]).chats[0].messages[0].content or ""
    )


def test_diversity_follows_first_children_to_the_call() -> None:
    """A child that begins with a thought is listed by the call below it, a child without a call is not."""
    root = Node("Action Input", "", None)
    _make_call(Node("Thought", "hm", root), "Oslo")
    Node("Thought", "only words", root)
    message = load_prompts().diversity(root)
    assert message is not None
    assert (message.content or "").count('"name"') == 1
    assert '"arguments": "Oslo"' in (message.content or "")


def test_diversity_repeats_the_last_observation() -> None:
    """Below the root, what was last shown is repeated."""
    node = _make_call(Node("Action Input", "", None), "Oslo", "sunny in Oslo")
    assert load_prompts().diversity(node) is None
    _make_call(node, "Rome")
    message = load_prompts().diversity(node)
    assert message is not None
    assert "sunny in Oslo" in (message.content or "")


def test_votes_show_common_and_separate_steps() -> None:
    """Steps before the fork are shown once, long observations shortened with their length."""
    root = Node("Action Input", "", None)
    fork = _make_call(root, "fork")
    left, right = _make_call(fork, "left", "l" * 2000), _make_call(Node("Thought", "hm", fork), "right")
    system, _ = load_prompts().vote("TASK", left, right)
    text = system.content or ""
    assert [text.count(word) for word in ("fork", "left", "right", "(len=2000)")] == [1, 1, 1, 1]
    assert text.index("fork") < text.index("left") < text.index("right")


def test_votes_at_the_root_have_nothing_in_common() -> None:
    """Without common steps the prompt says None."""
    root = Node("Action Input", "", None)
    system, _ = load_prompts().vote("TASK", _make_call(root, "a"), _make_call(root, "b"))
    assert "\nNone\n" in (system.content or "")
