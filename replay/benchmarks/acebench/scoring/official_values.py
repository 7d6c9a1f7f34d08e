"""Types and values of one argument as the official checker compares them, quirks included (spec 3.4, 3.5).

Owns the rules for one argument. `OfficialCrashError` stands for the exceptions that stop the official
evaluation as a whole. Source: model_eval/checker.py at commit 56dd66c.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from replay.core.types import Json

__all__ = ["OfficialCrashError", "check_value", "normalise"]


class OfficialCrashError(Exception):
    """The official evaluator would raise here and score nothing at all; the text names its exception."""


class _NoType:
    """Stands for a declared type that no value can have (`enum`)."""


_TYPES: Final[Mapping[Json, type]] = {
    "string": str,
    "any": str,
    "integer": int,
    "int": int,
    "number": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "list": list,
    "list(string)": list,
    "list(enum)": list,
    "objectArray": list,
    "object": dict,
    "dict": dict,
    "enum": _NoType,
}
_WITH_INNER: Final = ("array", "tuple", "list(string)", "list(enum)", "object", "objectArray")
"""Declared types whose inner type is looked at."""

_DELETED: Final = str.maketrans({**dict.fromkeys(" ,./-_*^"), "'": '"'})
_SIMPLE: Final = frozenset({str, int, float, bool})
_WORDS: Final = {"true": True, "false": False}


def normalise(text: str) -> str:
    """Text as strings are compared: without blanks and some punctuation, lower case, one kind of quote."""
    return text.translate(_DELETED).lower()


def check_value(  # noqa: PLR0911 - one return for each rule
    value: Json, truth: Json, detail: Mapping[str, Json]
) -> str:
    """Compare one argument with the truth under its declared type; the error's name, or empty.

    Errors:  OfficialCrashError where upstream raises.
    """
    declared, kind = _declared_type(detail)
    if type(value) is kind and kind in _SIMPLE:
        return _check_simple(value, truth)
    inner = _inner_type(detail, declared) if declared in _WITH_INNER else None
    if declared == "tuple" and type(value) is tuple:
        value = list(value)
    if declared == "float" and type(value) is int:
        value = float(value)
    fits, is_variable = _check_type(value, truth, kind=kind, inner=inner)
    if not fits:
        return "type_error"
    if is_variable:
        return ""
    if kind is dict:
        return _check_mapping(value, truth)
    if kind is list:
        return _check_mappings(value, truth) if inner is dict else _check_list(value, truth)
    if kind is str and normalise(truth) not in normalise(value):
        return "value_error:string"
    return ""  # numbers and booleans are never compared


def _check_simple(value: Json, truth: Json) -> str:
    """Compare a text, number or boolean of exactly the declared type: the commonest case, on a short way."""
    if type(value) is not str:
        return ""  # never compared
    if value in _WORDS:
        return "" if type(truth) is bool or truth == _WORDS[value] else "type_error"
    if type(truth) is not str or value == truth or normalise(truth) in normalise(value):
        return ""
    return "value_error:string"


def _declared_type(detail: Mapping[str, Json]) -> tuple[str, type]:
    try:
        declared = detail["type"]
        return declared, _TYPES[declared]
    except (KeyError, TypeError) as error:  # also a declared type that is a list
        raise OfficialCrashError(type(error).__name__) from None


def _type_of(declared: Json) -> type:
    if not isinstance(declared, str):
        raise OfficialCrashError("TypeError")
    if declared not in _TYPES:
        raise OfficialCrashError("KeyError")
    return _TYPES[declared]


def _inner_type(detail: Mapping[str, Json], declared: str) -> type:
    items = detail.get("items")
    if isinstance(items, dict) and "type" in items:
        return _type_of(items["type"])
    if "string" in declared:
        return str
    return _NoType if "enum" in declared else dict


def _check_type(value: Json, truth: Json, *, kind: type, inner: type | None) -> tuple[bool, bool]:
    """Tell whether a value has the right type, and whether its value is free then (a `variable`)."""
    optional = isinstance(truth, str) and not truth
    is_variable = not optional and type(truth) is not kind
    if isinstance(value, str):
        value = _WORDS.get(value, value)
    failed = False
    if type(value) is kind:
        if inner is None or _has_fitting_item(value, truth, inner):
            return True, is_variable
        failed = True
    if not optional and (type(value) is type(truth) or truth == value):
        return not failed, True
    return False, is_variable


def _has_fitting_item(value: Json, truth: Json, inner: type) -> bool:
    """One item of the truth is enough; only a list among them has its elements looked at."""
    if not isinstance(truth, (str, list, dict)):
        raise OfficialCrashError("TypeError")
    for item in truth:
        if type(item) is not list:
            return True
        if all(_check_type(element, item, kind=inner, inner=None)[0] for element in value):
            return True
    return False


def _check_list(value: list[Json], truth: list[Json]) -> str:
    same = value == truth or (
        len(value) == len(truth)
        and all(
            (normalise(mine) if type(mine) is str else mine)
            == (normalise(wanted) if type(wanted) is str else wanted)
            for mine, wanted in zip(value, truth, strict=True)
        )
    )
    return "" if same else "value_error:list/tuple"


def _check_mappings(value: list[Json], truth: list[Json]) -> str:
    if len(value) != len(truth):
        return "value_error:list_dict_count"
    for mine, wanted in zip(value, truth, strict=True):
        error = _check_mapping(mine, wanted)
        if error:
            return error
    return ""


def _check_mapping(value: Json, truth: Json) -> str:
    """Compare as many names, all known; below, text in text: 5 passes for 952."""
    if not isinstance(value, dict):
        return "value_error"
    if not isinstance(truth, dict):
        raise OfficialCrashError("AttributeError")
    if len(value) != len(truth):
        return "value_error"
    for name, mine in value.items():
        if name not in truth:
            return "value_error"
        error = _check_member(mine, truth[name])
        if error:
            return error
    return ""


def _check_member(mine: Json, wanted: Json) -> str:
    if type(mine) is str:
        if mine == wanted and mine not in _WORDS:
            return ""
        mine = _WORDS.get(mine, mine)
    if isinstance(wanted, dict):
        return _check_mapping(mine, wanted)
    return "" if _text(wanted) in _text(mine) else "value_error"


def _text(value: Json) -> str:
    return normalise(value) if type(value) is str else str(value)
