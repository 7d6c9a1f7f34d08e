"""How StableToolBench turns raw names into folder, file, function and parameter names.

Every rule is bit-exact, because cache files and recorded calls are found by these names only. This module
owns the rules and nothing else: no files, no records. Source: server/utils.py, server/main.py and
toolbench/utils.py at aa4ed9f; the old API-name rule is the one before commit 06d2acf (2024-09-10).
"""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "FINISH",
    "FUNCTION_NAME_LIMIT",
    "api_file_name",
    "change_name",
    "cut_tool_name",
    "full_function_name",
    "function_name",
    "old_api_file_name",
    "old_tool_identity",
    "parameter_name",
    "standardize",
    "standardize_category",
    "tool_folder",
    "tool_identity",
]

FINISH: Final = "Finish"
"""Name of the function that ends an episode."""
FUNCTION_NAME_LIMIT: Final = 64
"""Upstream keeps the last 64 characters of a function name (the limit of the OpenAI API)."""

_RESERVED: Final = frozenset({"from", "class", "return", "false", "true", "id", "and"})
# The caret survives upstream: it stands inside the character class, where it is a literal.
_FOREIGN: Final = re.compile(r"[^\u4e00-\u9fa5^a-zA-Z0-9_]")
_RUNS: Final = re.compile(r"_+")
_FOR: Final = "_for_"


def standardize_category(category: str) -> str:
    """Turn a raw category into its folder name; case is kept and `__` becomes `_` in one pass only."""
    flat = category.replace(" ", "_").replace(",", "_").replace("/", "_")
    return flat.replace("__", "_")


def standardize(name: str) -> str:
    """Turn a raw name into a lower-case identifier; may be empty; a leading digit gets `get_`."""
    flat = _RUNS.sub("_", _FOREIGN.sub("_", name)).lower().strip("_")
    # Only ASCII digits can be left at this point, so isdigit() and upstream's test agree.
    return f"get_{flat}" if flat[:1].isdigit() else flat


def change_name(name: str) -> str:
    """Move the seven names that Python reserves out of the way (`id` becomes `is_id`)."""
    return f"is_{name}" if name in _RESERVED else name


def parameter_name(name: str) -> str:
    """Name of a parameter as the candidate writes it and as cache keys hold it."""
    return change_name(standardize(name))


def api_file_name(api_name: str, tool_name: str) -> str:
    """Name of an API's cache file: cut before the first `_for_` followed by the tool name as it was sent."""
    return parameter_name(api_name).split(f"{_FOR}{tool_name}")[0]


def old_api_file_name(api_name: str) -> str:
    """Name of an API's cache file before 2024-09-10: cut before the first `_for_` of any kind."""
    return parameter_name(api_name).split(_FOR)[0]


def tool_folder(tool_name: str, category: str) -> str:
    """Folder of a tool inside its category; a name ending in `_for_<category>` is kept as it is."""
    folder = standardize_category(category)
    if tool_name.endswith(f"{_FOR}{folder}"):
        return tool_name
    return f"{standardize(tool_name)}{_FOR}{folder}"


def cut_tool_name(tool_name: str) -> str:
    """Tool name of the real call and of the document look-up: cut before the first `_for_`."""
    return standardize(tool_name.split(_FOR, maxsplit=1)[0])


def tool_identity(category: str, tool_name: str, api_name: str) -> str:
    """Identity of an API under the current rule: `<category>/<tool folder>/<api>`, where its cache file is.

    The tool name is standardised first because the candidate's client sends it so; hence raw and standardised
    names give one identity.
    """
    folder, tool = standardize_category(category), standardize(tool_name)
    return f"{folder}/{tool_folder(tool, folder)}/{api_file_name(api_name, tool)}"


def old_tool_identity(category: str, tool_name: str, api_name: str) -> str:
    """Identity of an API under the rule before 2024-09-10; two APIs of one tool may share it."""
    folder = standardize_category(category)
    return f"{folder}/{tool_folder(standardize(tool_name), folder)}/{old_api_file_name(api_name)}"


def full_function_name(api_name: str, tool_name: str) -> str:
    """Name of the function that stands for an API, at its full length."""
    return f"{parameter_name(api_name)}{_FOR}{standardize(tool_name)}"


def function_name(api_name: str, tool_name: str) -> str:
    """Name of the function that stands for an API, as shown: the last 64 characters."""
    return full_function_name(api_name, tool_name)[-FUNCTION_NAME_LIMIT:]
