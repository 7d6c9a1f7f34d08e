"""All tools by name, their scrambled names, and how near other tools are to those a scenario needs.

Source: upstream common/tool_discovery.py at 165848b.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from replay.benchmarks.toolsandbox.libraries import load_library
from replay.benchmarks.toolsandbox.tools import (
    clock,
    contact,
    messaging,
    reminder,
    setting,
    user_tools,
    utilities,
    web,
)
from replay.benchmarks.toolsandbox.tools.tool import Tool
from replay.core.errors import InputError

__all__ = ["END_CONVERSATION", "SCRAMBLED", "TOOLS", "rank_distractors"]

END_CONVERSATION: Final = "end_conversation"

_MODULES: Final = (
    ("contact", contact.TOOLS),
    ("messaging", messaging.TOOLS),
    ("rapid_api_search_tools", web.TOOLS),
    ("reminder", reminder.TOOLS),
    ("setting", setting.TOOLS),
    ("user_tools", user_tools.TOOLS),
    ("utilities", (*clock.TOOLS, *utilities.TOOLS)),
)


def _by_name() -> Mapping[str, Tool]:
    return {tool.name: tool for _, tools in _MODULES for tool in sorted(tools, key=lambda tool: tool.name)}


def _scrambled() -> Mapping[str, str]:
    return {
        tool.name: f"{module}_{number}"
        for module, tools in _MODULES
        for number, tool in enumerate(sorted(tools, key=lambda tool: tool.name))
    }


TOOLS: Final = _by_name()
"""All 34 tools by their true names, by module and name."""

SCRAMBLED: Final = _scrambled()
"""Scrambled name of each tool: its module and its rank by name there."""


def rank_distractors(needed: Collection[str], discovery: Collection[str]) -> tuple[str, ...]:
    """List the tools that are not needed, nearest first: tools of a needed tool's module, then the rest.

    discovery: all tools in the order upstream finds them, in which equally near ones stay.
    Errors:    InputError for a needed tool that does not exist.
    """
    unknown = sorted(set(needed) - set(TOOLS))
    if unknown:
        raise InputError(f"unknown tool {unknown[0]!r}", expected=f"some of {', '.join(TOOLS)}")
    fuzz, plain = load_library("rapidfuzz.fuzz"), load_library("rapidfuzz.utils").default_process
    modules = {TOOLS[name].module for name in needed}

    def nearness(name: str) -> tuple[bool, float]:
        best = max(fuzz.WRatio(name, other, processor=plain) for other in needed)
        return TOOLS[name].module not in modules, -best

    return tuple(sorted((name for name in discovery if name not in needed), key=nearness))
