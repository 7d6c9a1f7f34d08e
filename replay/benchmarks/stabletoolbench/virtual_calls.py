"""How the virtual API server reads a call: names, argument text, and the lookup that comes of them.

This is the server's side of a call; `playing/calling.py` has the client's. Source: server/main.py at aa4ed9f
(spec 1.3 to 1.6). Differs: the one API that the server knows by name gets the answer that was meant, where
upstream fails; what cannot be hashed honestly is refused by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from replay.benchmarks.stabletoolbench.cache_keys import COMPACT_JSON, OLD_NAME, PYTHON_REPR
from replay.benchmarks.stabletoolbench.evidence import BENCHMARK
from replay.benchmarks.stabletoolbench.naming import (
    api_file_name,
    old_api_file_name,
    standardize_category,
    tool_folder,
)
from replay.benchmarks.stabletoolbench.playing.arguments import (
    PARSE_ERROR,
    ParsedArguments,
    compact_json_text,
    parse_arguments,
    python_repr_text,
)
from replay.core.types import CallAlias, CallRequest, Json, ToolCall, ToolSpec

__all__ = ["VirtualCalls"]

_NAMES: Final = ("category", "tool_name", "api_name")
_MAX_NAMES: Final = 16_384
"""Names that are remembered with what they come to; a benchmark has some thousands."""
_LONGEST_NAMES: Final = 512
_USER_API: Final = "chat_with_user"
_USER_ANSWER: Final = {"error": "", "response": "Chat with user."}

Fields = Mapping[str, str | dict[str, Json]]


class VirtualCalls:
    """Reads calls; knows the APIs of one archive. Safe to share."""

    def __init__(self, specs: Iterable[ToolSpec], *, strict: bool = False) -> None:
        """Know these APIs.

        strict: ask for the canonical key first and take JSON objects only; else upstream's key text first.
        """
        self._specs = {spec.identity or spec.name: spec for spec in specs}
        self._strict = strict
        self._identities: dict[tuple[str, str, str], tuple[str, str]] = {}

    def read(self, fields: Fields) -> CallRequest | dict[str, Json]:
        """Make the lookup of a call, or the answer where the rules themselves answer it."""
        identity, old = self._identify(*(_text(fields, name) for name in _NAMES))
        if not identity:
            return dict(_USER_ANSWER)
        given = fields["tool_input"]
        # An object is kept as it is upstream; it goes through its own text, so that the same checks hold.
        text = given if isinstance(given, str) else json.dumps(given)
        parsed = parse_arguments(text, objects_only=self._strict)
        if parsed.fault:
            return _refuse(parsed)
        return self._make_request(identity, old, parsed.value, text=text)

    def _identify(self, category: str, tool: str, api: str) -> tuple[str, str]:
        """Name the API under the current and the old rule; no name stands for the one the server knows."""
        asked = (category, tool, api)
        found = self._identities.get(asked)
        if found is None:
            found = _identify(category, tool, api)
            if len(self._identities) < _MAX_NAMES and sum(map(len, asked)) <= _LONGEST_NAMES:
                self._identities[asked] = found
        return found

    def _make_request(self, identity: str, old: str, arguments: Json, *, text: str) -> CallRequest:
        shown = python_repr_text(arguments)
        by_repr = CallAlias(label=PYTHON_REPR, tool=identity, text=shown)
        others = [CallAlias(label=COMPACT_JSON, tool=identity, text=compact_json_text(arguments))]
        if old != identity:
            others.insert(0, CallAlias(label=OLD_NAME, tool=old, text=shown))
        return CallRequest(
            benchmark=BENCHMARK,
            tool=identity,
            arguments=arguments,
            call=ToolCall(id="call_0", name=identity, arguments=text),
            spec=self._specs.get(identity),
            aliases_first=() if self._strict else (by_repr,),
            aliases=(by_repr, *others) if self._strict else tuple(others),
        )


def _identify(category: str, tool: str, api: str) -> tuple[str, str]:
    folder = standardize_category(category)
    place = f"{folder}/{tool_folder(tool, folder)}"
    name = api_file_name(api, tool)
    return ("", "") if name == _USER_API else (f"{place}/{name}", f"{place}/{old_api_file_name(api)}")


def _refuse(parsed: ParsedArguments) -> dict[str, Json]:
    if parsed.fault == "malformed":
        return dict(PARSE_ERROR)
    return {"error": f"Tool input refused ({parsed.fault}): {parsed.detail}", "response": ""}


def _text(fields: Fields, name: str) -> str:
    value = fields[name]
    return value if isinstance(value, str) else ""
