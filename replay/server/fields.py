"""The body of `POST /virtual`, checked field by field as the original's framework checks it.

Which values pass, what they become, and the wording of each refusal are those of FastAPI with pydantic 1.10,
because clients read them. Source: server/main.py at aa4ed9f, class Info.
"""

from __future__ import annotations

import json
from email.message import Message
from typing import Final

import msgspec

from replay.core.types import Json

__all__ = ["FIELDS", "BodyFaultError", "read_fields"]

FIELDS: Final = ("category", "tool_name", "api_name", "tool_input", "strip", "toolbench_key")
"""All six are required; `strip` and the key are read and have no effect."""

_MISSING: Final = ("field required", "value_error.missing")
_NULL: Final = ("none is not an allowed value", "type_error.none.not_allowed")
_NO_TEXT: Final = ("str type expected", "type_error.str")
_NO_OBJECT: Final = ("value is not a valid dict", "type_error.dict")


class BodyFaultError(ValueError):
    """A body that is refused; `detail` is the list that the answer shows."""

    def __init__(self, detail: list[Json]) -> None:
        super().__init__(detail)
        self.detail = detail


def read_fields(body: bytes, media: str | None) -> dict[str, str | dict[str, Json]]:
    """Read the six fields.

    media: the Content-Type header; without one a body is taken for JSON.
    Errors:  BodyFaultError with everything that is wrong, in the order of the fields.
    """
    if not body:
        raise BodyFaultError([_fault(["body"], _MISSING)])
    if not _is_json(media):
        raise BodyFaultError([_fault(["body"], _NO_OBJECT)])
    try:
        return msgspec.structs.asdict(_read_texts(body))
    except ValueError:
        return _read_slowly(body)


def _read_slowly(body: bytes) -> dict[str, str | dict[str, Json]]:
    """Read what is not just six texts, to say what is wrong with it or to make texts of it."""
    held = _parse(body)
    if held is None:
        raise BodyFaultError([_fault(["body"], _MISSING)])
    pairs = _as_object(held)
    if pairs is None:
        raise BodyFaultError([_fault(["body"], _NO_OBJECT)])
    found: dict[str, str | dict[str, Json]] = {}
    faults: list[Json] = []
    for name in FIELDS:
        if name not in pairs:
            faults.append(_fault(["body", name], _MISSING))
            continue
        value, wrong = _read_value(pairs[name], takes_object=name == "tool_input")
        found[name] = value
        faults += [_fault(["body", name], fault) for fault in wrong]
    if faults:
        raise BodyFaultError(faults)
    return found


class _Texts(msgspec.Struct, forbid_unknown_fields=True):
    """The body that nearly every client sends: the six fields, each a text, and nothing else."""

    category: str
    tool_name: str
    api_name: str
    tool_input: str
    strip: str
    toolbench_key: str


_read_texts: Final = msgspec.json.Decoder(_Texts).decode


def _read_value(value: Json, *, takes_object: bool) -> tuple[str | dict[str, Json], list[tuple[str, str]]]:
    """Turn a value into text, or into an object where one may stand; numbers are text."""
    if isinstance(value, str):
        return value, []
    if value is None:
        return "", [_NULL]
    if isinstance(value, (int, float)):
        return str(value), []
    if not takes_object:
        return "", [_NO_TEXT]
    pairs = _as_object(value)
    return ("", [_NO_TEXT, _NO_OBJECT]) if pairs is None else (pairs, [])


def _as_object(value: Json) -> dict[str, Json] | None:
    """Read an object, or a list of pairs, which passes for one."""
    if isinstance(value, dict):
        return value
    try:
        return dict(value)
    except (TypeError, ValueError):
        return None


def _parse(body: bytes) -> Json:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        detail = {"loc": ["body"], "msg": f"the body is no UTF-8: {error.reason}", "type": "value_error"}
        raise BodyFaultError([detail]) from None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        context = {
            "msg": error.msg,
            "doc": error.doc,
            "pos": error.pos,
            "lineno": error.lineno,
            "colno": error.colno,
        }
        what = (str(error), "value_error.jsondecode")
        raise BodyFaultError([{**_fault(["body", error.pos], what), "ctx": context}]) from None
    except (ValueError, RecursionError):
        detail = {"loc": ["body"], "msg": "the body is nested too deeply or holds a number that is too long"}
        raise BodyFaultError([{**detail, "type": "value_error"}]) from None


def _fault(place: list[Json], what: tuple[str, str]) -> dict[str, Json]:
    return {"loc": place, "msg": what[0], "type": what[1]}


def _is_json(media: str | None) -> bool:
    """Tell whether a content type is JSON; none at all counts as one."""
    if not media:
        return True
    if media == "application/json":
        return True
    message = Message()
    message["content-type"] = media
    if message.get_content_maintype() != "application":
        return False
    subtype = message.get_content_subtype()
    return subtype == "json" or subtype.endswith("+json")
