"""The fixed sentences around function schemas and prompts: our own, or upstream's from the user's checkout.

Byte-compatible functions need upstream's sentences. They are not written here: `read_wording` finds them in
the answer files of the user's own checkout, next to the names and descriptions they were put around, and
the importer stores them with the tasks (`Task.data["wording"]`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from replay.benchmarks.stabletoolbench.naming import FINISH, function_name, standardize
from replay.core.types import Json, Record

__all__ = ["OWN_WORDING", "Wording", "read_wording", "wording_of"]

_SENTENCE_END: Final = "."
_LIST_START: Final = "\n1."


class Wording(Record, frozen=True, kw_only=True):
    """Sentences with their places marked `{tool}`, `{description}` and `{query}`."""

    tool_sentence: str
    """First sentence of a function's description; `{tool}` is the standardised tool name."""
    description_sentence: str
    """What follows when the API has a description; `{description}` is that text."""
    finish: str
    """Description of the Finish function."""
    final_answer: str
    """Description of Finish's parameter `final_answer`."""
    system: str = ""
    """System message up to the numbered tool list; empty when unknown."""
    user: str = ""
    """User message with `{query}`; empty when unknown."""


OWN_WORDING: Final = Wording(
    tool_sentence='One of the functions of the tool "{tool}".',
    description_sentence=' What it does: "{description}"',
    finish=(
        "Ends the task. Call it with give_answer once the results are enough to answer the user, or with"
        " give_up_and_restart when this attempt leads nowhere. The user sees the final answer and nothing"
        " else, so it must be complete."
    ),
    final_answer="The complete answer for the user; needed with give_answer.",
)
"""Used whenever the archive holds no upstream wording, and always under strict rules."""


def wording_of(data: Json) -> Wording:
    """Take the wording that an import stored in a task's data, or our own."""
    stored = data.get("wording") if isinstance(data, dict) else None
    return OWN_WORDING if stored is None else msgspec.convert(stored, Wording)


def read_wording(
    entries: Iterable[Json], functions: Iterable[Json], *, messages: Json, query: str
) -> Wording | None:
    """Find upstream's sentences in one raw answer; None when the answer does not show all of them.

    Shape:   entries are the upstream API entries of the query, functions the flat or nested function objects
             of the answer, messages one message history (may be empty).
    """
    shown = {item["name"]: item for item in map(_flat, functions) if item is not None}
    finish = _finish_texts(shown.get(FINISH))
    sentences = next(filter(None, (_sentences(entry, shown) for entry in entries)), None)
    if finish is None or sentences is None:
        return None
    system, user = _prompt_texts(messages, query)
    return Wording(
        tool_sentence=sentences[0],
        description_sentence=sentences[1],
        finish=finish[0],
        final_answer=finish[1],
        system=system,
        user=user,
    )


def _flat(function: Json) -> dict[str, Json] | None:
    """A function object without its `function` wrapper, when it is one."""
    inner = function.get("function", function) if isinstance(function, dict) else None
    return inner if isinstance(inner, dict) and isinstance(inner.get("name"), str) else None


def _finish_texts(function: Json) -> tuple[str, str] | None:
    try:
        texts = (function["description"], function["parameters"]["properties"]["final_answer"]["description"])
    except (KeyError, TypeError):
        return None
    return texts if all(isinstance(text, str) for text in texts) else None


def _sentences(entry: Json, shown: dict[str, dict[str, Json]]) -> tuple[str, str] | None:
    """Cut one described function's text at its tool name and its description.

    The border between the two sentences is the first full stop after the tool name; their join counts.
    """
    tool = standardize(entry["tool_name"])
    text = shown.get(function_name(entry["api_name"], entry["tool_name"]), {}).get("description")
    described = entry.get("api_description", "").strip()
    if not isinstance(text, str) or not described or entry["api_name"] in described or len(described) > 256:
        return None
    head, found_tool, rest = text.partition(f'"{tool}"')
    middle, found_text, tail = rest.rpartition(described)
    first, found_stop, second = middle.partition(_SENTENCE_END)
    if not (found_tool and found_text and found_stop):
        return None
    return f'{head}"{{tool}}"{first}{found_stop}', f"{second}{{description}}{tail}"


def _prompt_texts(messages: Json, query: str) -> tuple[str, str]:
    """System text before the tool list and user text around the query; empty where they are not found."""
    texts: dict[str, str] = {}
    for message in messages if isinstance(messages, list) else []:
        if isinstance(message, dict) and isinstance(message.get("content"), str):
            texts.setdefault(str(message.get("role")), message["content"])
    # The tool list is the last numbered list: descriptions in it have lost their line breaks.
    head, found, _ = texts.get("system", "").rpartition(_LIST_START)
    user = texts.get("user", "")
    return (
        f"{head}\n" if found else "",
        user.replace(query, "{query}", 1) if query and query in user else "",
    )
