"""Prompts of the candidate protocols: our own words in versioned files, or upstream's where a user has them.

Owns the texts in `prompts/`, how they are filled in, and the digest that goes into every chat request. The
structure (persona, reminders, task, tool list; query; list of earlier calls; pairwise vote) follows spec 4.2
and 4.6.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Final

from replay.benchmarks.stabletoolbench.playing.nodes import Node
from replay.benchmarks.stabletoolbench.wording import OWN_WORDING, Wording
from replay.core.canonical import digest
from replay.core.errors import InputError
from replay.core.types import Digest, Json, Message

__all__ = ["PROMPTS_VERSION", "WORDING_NAMES", "Prompts", "load_prompts"]

PROMPTS_VERSION: Final = 1
"""Raised with every change of a file in `prompts/`."""

_FILES: Final = (
    "diversity",
    "former-observation",
    "system",
    "task",
    "user",
    "vote-system",
    "vote-user",
)
_SCORE_NAME: Final = "score-name"
WORDING_NAMES: Final = (*_FILES, _SCORE_NAME)
"""Names a wording may replace. Placeholders are those of upstream's own templates."""

_MAX_TOOL_DESCRIPTION: Final = 512
_MAX_TRAIL_OBSERVATION: Final = 1024
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")


class Prompts:
    """The filled-in texts of one wording."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Keep one text for each name of WORDING_NAMES."""
        self._texts = dict(texts)
        self.digest: Digest = digest("prompts", {"version": PROMPTS_VERSION, "texts": self._texts})
        """What a chat request carries as its prompt digest."""

    def task_description(self, tools: Iterable[tuple[str, str]]) -> str:
        """Describe the task and number its tools, each (standardised name, description) once.

        Source: rapidapi_multithread.py: a name that comes again keeps its place and takes the later
                description.
        """
        lines = [self._texts["task"]]
        for number, (name, description) in enumerate(dict(tools).items(), start=1):
            flat = description[:_MAX_TOOL_DESCRIPTION].replace("\n", "").strip()
            lines.append(f"{number}.{name}: {flat or 'None'}\n")
        return "".join(lines)

    def opening(self, task_description: str, query: str) -> tuple[Message, Message]:
        """Write the system and user message an attempt starts with."""
        system = _fill(self._texts["system"], {"task_description": task_description})
        user = _fill(self._texts["user"], {"input_description": query})
        return Message(role="system", content=system), Message(role="user", content=user)

    def diversity(self, node: Node) -> Message | None:
        """Ask for something else than the calls already made at a node; None when there are none.

        Source: Algorithms/DFS.py: each earlier child is followed along first children to its first action
                input.
        """
        earlier = [self._describe(found) for child in node.children if (found := _first_input(child))]
        if not earlier:
            return None
        listed = json.dumps(earlier, indent=2) + "\n"
        if node.observation:
            listed += _fill(self._texts["former-observation"], {"observation": node.observation})
        return Message(role="user", content=_fill(self._texts["diversity"], {"previous_candidate": listed}))

    def vote(self, task_description: str, first: Node, second: Node) -> tuple[Message, Message]:
        """Ask which of two nodes is the better one to go on from."""
        shared = _shared_ancestor(first, second)
        fields = {
            "task_description": task_description,
            "intersect_trice": _describe_trail(shared, None),
            "candidate_A": _describe_trail(first, shared),
            "candidate_B": _describe_trail(second, shared),
        }
        system = Message(role="system", content=_fill(self._texts["vote-system"], fields))
        return system, Message(role="user", content=self._texts["vote-user"])

    def _describe(self, node: Node) -> dict[str, Json]:
        return {
            "name": node.parent.text if node.parent else "",
            "arguments": node.text,
            "function_output": node.observation,
            # Upstream meant a tree-search value here and never computed one: it is 0.0 for every child.
            self._texts[_SCORE_NAME]: 0.0,
        }


def load_prompts(imported: Wording = OWN_WORDING, wording: Json = None) -> Prompts:
    """Read our prompt files; upstream's wording or a setting (name -> template) replaces some of them.

    Errors:  InputError for a setting that is no mapping of known names to texts; the known names are listed.
    """
    folder = resources.files("replay.benchmarks.stabletoolbench.playing") / "prompts"
    texts = {name: (folder / f"{name}.txt").read_text(encoding="utf-8") for name in _FILES}
    texts[_SCORE_NAME] = "score"
    if imported.system:
        # Upstream's message is one text up to the tool list, persona and task together.
        texts.update(system="{task_description}", task=imported.system)
    if imported.user:
        texts["user"] = imported.user.replace("{query}", "{input_description}")
    if wording is None:
        return Prompts(texts)
    if not isinstance(wording, dict):
        raise InputError("the wording is not a mapping", where="option wording", expected=_expected())
    for name in sorted(wording):
        if name not in texts or not isinstance(wording[name], str):
            raise InputError(f"unusable wording {name!r}", where="option wording", expected=_expected())
    return Prompts({**texts, **wording})


def _expected() -> str:
    return f"texts under the names {', '.join(WORDING_NAMES)}"


def _fill(template: str, fields: Mapping[str, str]) -> str:
    """Fill placeholders in one pass, so that braces inside a filled-in text stay what they are."""
    return _PLACEHOLDER.sub(lambda found: fields.get(found.group(1), found.group(0)), template)


def _first_input(child: Node) -> Node | None:
    node = child
    while not node.terminal and node.kind != "Action Input" and node.children:
        node = node.children[0]
    return node if node.kind == "Action Input" else None


def _shared_ancestor(first: Node, second: Node) -> Node:
    while first is not second:
        if first.depth > second.depth and first.parent:
            first = first.parent
        elif second.parent:
            second = second.parent
        elif first.parent:
            first = first.parent
    return first


def _describe_trail(node: Node, end: Node | None) -> str:
    """List what happened from below `end` (or the root) down to a node, one numbered entry each."""
    entries: list[str] = []
    for step in node.path():
        if end is not None and step.depth <= end.depth:
            continue
        entries.append(f"{step.kind}: {step.text}\n")
        if step.observation:
            entries.append(f"Observation: {_shorten(step.observation)}\n")
    return "".join(f"step_{number}: {entry}\n" for number, entry in enumerate(entries, start=1)) or "None"


def _shorten(observation: str) -> str:
    if len(observation) <= _MAX_TRAIL_OBSERVATION:
        return observation
    return f"{observation[:_MAX_TRAIL_OBSERVATION]}...(len={len(observation)})"
