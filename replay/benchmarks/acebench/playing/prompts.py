"""What candidate and simulated user are told: our own versioned prompt files, or upstream's texts.

Owns which file belongs to which category, class and language, how a request is filled in, and the digest that
goes into it. Upstream's texts are here only when the user's import read them from a checkout of their own
(`Task.data["wording"]`); they are filled in by name and never formatted by Python.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Final

from replay.benchmarks.acebench.records import SPECIAL, AceTask
from replay.core.canonical import digest
from replay.core.errors import InputError
from replay.core.prompts import Prompt, parse_prompt
from replay.core.types import Digest, Json, Message

__all__ = ["PROMPT_NAMES", "Opening", "PromptBook", "render_functions"]

PROMPT_NAMES: Final = (
    "normal",
    "policy-phone",
    "policy-travel",
    "preference",
    "special",
    "step-agent",
    "turn-agent",
    "user-phone",
    "user-travel",
)
"""Prompt files; each is there in both languages."""

Opening = tuple[tuple[Message, ...], Digest]
"""Messages of a request and the digest of the prompt they were made of."""

_PLACE: Final = re.compile(r"\{\{|\}\}|\{(\w+)\}")

_USER_OPENING: Final = "user-phone"
"""Upstream's fixed opening question is no constant of its checkout; ours stands in its place."""


class PromptBook:
    """The prompts of one task in one language, in one wording."""

    def __init__(self, task: AceTask, *, wording: str, tool_format: str, step_language: str) -> None:
        """Choose `own` or `upstream` wording.

        Errors:  InputError when upstream's wording is asked for and the task does not carry it.
        """
        if wording == "upstream" and not task.wording:
            raise InputError(
                "the task carries no upstream wording",
                where=f"task {task.language}/{task.id}",
                expected="an archive imported from a checkout with its model_inference folder",
                next_step="import that checkout, or set the option wording to own",
            )
        self._task = task
        self._texts: Mapping[str, str] = task.wording if wording == "upstream" else {}
        self._functions = render_functions(task.function, tool_format)
        self._step_language = step_language or task.language
        self._loaded: dict[str, Prompt] = {}

    def single(self) -> Opening:
        """Fill in the one request of a normal or special category."""
        task = self._task
        kind = "special" if task.category in SPECIAL else "normal"
        fill = {"functions": self._functions, "question": task.question}
        if task.category == "normal_preference":
            kind = "preference"
            fill["profile"] = task.profile
        else:
            fill["time"] = task.time
        if self._texts:
            fill["function"] = fill["functions"]
            system = self._upstream(f"SYSTEM_PROMPT_FOR_{kind.upper()}_DATA")
            return self._fill_upstream((system, self._upstream("USER_PROMPT")), fill)
        return _fill(self._load(kind), fill)

    def turn(self, history: str) -> Opening:
        """Fill in a request to the multi-turn agent."""
        fill = {"functions": self._functions, "history": history}
        classes = self._task.involved_classes
        policies = [name for name, found in (("TRAVEL", "Travel"), ("BASE", "BaseApi")) if found in classes]
        if self._texts:
            user = self._upstream("MULTI_TURN_AGENT_PROMPT_USER")
            parts = [self._upstream("MULTI_TURN_AGENT_PROMPT_SYSTEM")]
            parts += [self._upstream(f"{name}_PROMPT") for name in policies]
            texts = ("".join(parts), user)
            system = Message(role="system", content=texts[0])
            said = Message(role="user", content=_fill_places(user, fill))
            return (system, said), digest("upstream-prompt", list(texts))
        rules = [self._load("policy-travel" if name == "TRAVEL" else "policy-phone") for name in policies]
        prompt = self._load("turn-agent")
        policy = "\n\n".join(rule.system for rule in rules)
        messages = prompt.fill({**fill, "policy": policy})
        return messages, digest("prompts", [prompt.digest, *(rule.digest for rule in rules)])

    def step(self, history: str) -> Opening:
        """Fill in a request to the multi-step agent."""
        fill = {"functions": self._functions, "history": history}
        if self._texts:
            names = ("MULTI_TURN_AGENT_PROMPT_SYSTEM", "MULTI_TURN_AGENT_PROMPT_USER")
            system, user = (self._upstream(name) for name in names)
            return self._fill_upstream((system, user), {**fill, "time": self._task.time})
        return _fill(self._load("step-agent", self._step_language), fill)

    def user(self) -> Opening:
        """Fill in how the simulated user's conversation begins: instruction and opening question."""
        is_phone = "BaseApi" in self._task.involved_classes
        fill = {"instruction": self._task.question}
        if self._texts:
            system = self._upstream("SYSTEM_PROMPT_BASE" if is_phone else "SYSTEM_PROMPT_TRAVEL")
            return self._fill_upstream((system, self._load(_USER_OPENING).user), fill)
        return _fill(self._load("user-phone" if is_phone else "user-travel"), fill)

    def _load(self, name: str, language: str = "") -> Prompt:
        file = f"{name}-{language or self._task.language}.txt"
        if file not in self._loaded:
            path = resources.files("replay.benchmarks.acebench.playing") / "prompts" / file
            text = path.read_text(encoding="utf-8")
            self._loaded[file] = parse_prompt(text, where=f"benchmarks/acebench/playing/prompts/{file}")
        return self._loaded[file]

    def _upstream(self, name: str) -> str:
        if name not in self._texts:
            raise InputError(
                f"upstream's wording lacks {name}",
                where=f"task {self._task.language}/{self._task.id}",
                expected=f"one of {', '.join(sorted(self._texts))}",
                next_step="set the option wording to own",
            )
        return self._texts[name]

    def _fill_upstream(self, texts: tuple[str, str], fill: Mapping[str, str]) -> Opening:
        system, user = (_fill_places(text, fill) for text in texts)
        messages = (Message(role="system", content=system), Message(role="user", content=user))
        return messages, digest("upstream-prompt", list(texts))


def render_functions(functions: tuple[Json, ...], tool_format: str) -> str:
    """Write the tools out: `python` as upstream inserts them (the text of a Python list), or `json`."""
    if tool_format == "python":
        return str(list(functions))
    return json.dumps(list(functions), ensure_ascii=False)


def _fill(prompt: Prompt, values: Mapping[str, str]) -> Opening:
    return prompt.fill(values), prompt.digest


def _fill_places(text: str, values: Mapping[str, str]) -> str:
    """Fill `{name}` in and halve doubled braces, as Python's formatting would; unknown names stay."""
    doubled = {"{{": "{", "}}": "}"}
    return _PLACE.sub(lambda found: doubled.get(found[0]) or values.get(found[1], found[0]), text)
