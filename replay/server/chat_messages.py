"""Parts of a chat request that are no plain options: messages, tools, the choice of one, the answer's form.

Each is read strictly: a field that is not honoured is refused by its place.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

import jsonschema

from replay.core.types import Json, Message, ToolCall, ToolSpec
from replay.server.chat_wishes import WishError, refuse_others

__all__ = ["CheckedSchemas", "read_choice", "read_format", "read_messages", "read_tools", "strict_names"]

_MOST_KEPT: Final = 1_024
_LONGEST_KEPT: Final = 16 * 1024
"""Characters: larger schemas are checked each time, which bounds what is kept."""

_NAMED: Final = frozenset({"role", "content", "name"})
_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "system": _NAMED,
    "developer": _NAMED,
    "user": _NAMED,
    # `parsed` is the client's own second reading of the content, which its helpers send back with an answer.
    "assistant": _NAMED | {"tool_calls", "parsed"},
    "tool": _NAMED | {"tool_call_id"},
}
"""What a message of each role may hold."""

_CALL: Final = frozenset({"id", "type", "function", "index"})
_CALLED: Final = frozenset({"name", "arguments", "parsed_arguments"})
_FUNCTION: Final = frozenset({"name", "description", "parameters", "strict"})
_TYPED: Final = frozenset({"type", "function"})


def read_messages(value: Json) -> tuple[Message, ...]:
    """Read a conversation. Errors: WishError naming the place."""
    if not isinstance(value, list) or not value:
        raise WishError("messages must be a list of at least one", "messages")
    return tuple(_read_message(message, f"messages[{place}]") for place, message in enumerate(value))


class CheckedSchemas:
    """Schemas that were found to be such: checking one costs a millisecond, and clients repeat them."""

    def __init__(self) -> None:
        """Know none yet."""
        self._known: OrderedDict[str, None] = OrderedDict()

    def check(self, schema: Json, where: str) -> None:
        """Refuse what is no JSON Schema; nothing passes. Errors: WishError naming the place."""
        if schema is None:
            return
        if not isinstance(schema, dict):
            raise WishError(f"{where} is no JSON Schema object", where)
        try:
            text = json.dumps(schema)
            if text not in self._known:
                jsonschema.Draft202012Validator.check_schema(schema)
        except jsonschema.SchemaError as error:
            raise WishError(f"{where} is no JSON Schema: {error.message}", where) from None
        except RecursionError:
            raise WishError(f"{where} is nested too deeply", where) from None
        if len(text) <= _LONGEST_KEPT:
            self._known[text] = None
            if len(self._known) > _MOST_KEPT:
                self._known.popitem(last=False)


def read_tools(value: Json, schemas: CheckedSchemas) -> tuple[ToolSpec, ...]:
    """Read the tools. Errors: WishError naming the place."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise WishError("tools must be a list", "tools")
    return tuple(_read_tool(tool, f"tools[{place}]", schemas) for place, tool in enumerate(value))


def strict_names(value: Json) -> tuple[str, ...]:
    """Names of the tools, already read, whose calls must fit their schema."""
    return tuple(tool["function"]["name"] for tool in value or () if tool["function"].get("strict"))


def read_choice(value: Json, tools: tuple[ToolSpec, ...]) -> str:
    """Read which tool may be called. Errors: WishError."""
    if value is None:
        return "auto"
    names = {tool.name for tool in tools}
    if isinstance(value, dict):
        refuse_others(value, _TYPED, "tool_choice")
        function = value.get("function")
        if value.get("type") == "function" and isinstance(function, dict):
            refuse_others(function, {"name"}, "tool_choice.function")
            if function.get("name") in names:
                return str(function["name"])
    elif value in ("auto", "none") or (value == "required" and names):
        return str(value)
    raise WishError("tool_choice must be auto, none, required, or one of the tools", "tool_choice")


def read_format(value: Json, schemas: CheckedSchemas) -> Json:
    """Read which schema the answer must fit, None for free text. Errors: WishError naming the place."""
    where = "response_format"
    kind = value.get("type") if isinstance(value, dict) else None
    if kind in ("text", "json_object"):
        refuse_others(value, {"type"}, where)
        return None if kind == "text" else {"type": "object"}
    held = value.get("json_schema") if kind == "json_schema" else None
    if value is None:
        return None
    if not isinstance(held, dict) or not isinstance(held.get("schema"), dict):
        raise WishError(f"{where} must be text, json_object, or json_schema with a schema", where)
    refuse_others(value, {"type", "json_schema"}, where)
    # The name is a label of the client's; the schema is always kept strictly.
    refuse_others(held, {"name", "schema", "strict"}, f"{where}.json_schema")
    _read_flag(held, "strict", f"{where}.json_schema")
    schemas.check(held["schema"], f"{where}.json_schema.schema")
    return held["schema"]


def _read_message(value: Json, where: str) -> Message:
    fields = _FIELDS.get(value["role"]) if isinstance(value, dict) and _is_text(value.get("role")) else None
    if fields is None:
        raise WishError(f"{where} must be an object with a role of {', '.join(_FIELDS)}", where)
    refuse_others(value, fields, where)
    role = "system" if value["role"] == "developer" else value["role"]
    calls = value.get("tool_calls") or ()
    if not isinstance(calls, list | tuple):
        raise WishError(f"{where}.tool_calls must be a list", f"{where}.tool_calls")
    return Message(
        role=role,
        content=_read_content(value.get("content"), f"{where}.content"),
        tool_calls=tuple(_read_call(c, f"{where}.tool_calls[{place}]") for place, c in enumerate(calls)),
        tool_call_id=_text(value, "tool_call_id", where),
        name=_text(value, "name", where),
    )


def _read_content(value: Json, where: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise WishError(f"{where} must be text or a list of parts", where)
    texts: list[str] = []
    for place, part in enumerate(value):
        if not isinstance(part, dict) or part.get("type") != "text" or not isinstance(part.get("text"), str):
            raise WishError(
                f"{where}[{place}] must be text: pictures, sound and files are not honoured", where
            )
        refuse_others(part, {"type", "text"}, f"{where}[{place}]")
        texts.append(part["text"])
    return "".join(texts)


def _read_call(value: Json, where: str) -> ToolCall:
    function = value.get("function") if isinstance(value, dict) else None
    if not isinstance(function, dict) or value.get("type", "function") != "function":
        raise WishError(f"{where} must be the call of a function", where)
    refuse_others(value, _CALL, where)
    refuse_others(function, _CALLED, f"{where}.function")
    return ToolCall(
        id=_text(value, "id", where),
        name=_text(function, "name", where),
        arguments=_text(function, "arguments", where),
    )


def _read_tool(value: Json, where: str, schemas: CheckedSchemas) -> ToolSpec:
    function = value.get("function") if isinstance(value, dict) and value.get("type") == "function" else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
        raise WishError(f"{where} must be a function with a name", where)
    refuse_others(value, _TYPED, where)
    refuse_others(function, _FUNCTION, f"{where}.function")
    _read_flag(function, "strict", f"{where}.function")
    parameters = function.get("parameters")
    schemas.check(parameters, f"{where}.function.parameters")
    return ToolSpec(
        name=function["name"], description=_text(function, "description", where), parameters=parameters
    )


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _text(value: Mapping[str, Json], name: str, where: str) -> str:
    found = value.get(name)
    if found is not None and not isinstance(found, str):
        raise WishError(f"{where}.{name} must be a text", f"{where}.{name}")
    return found or ""


def _read_flag(value: Mapping[str, Json], name: str, where: str) -> None:
    if value.get(name) not in (None, True, False):
        raise WishError(f"{where}.{name} must be true or false", f"{where}.{name}")
