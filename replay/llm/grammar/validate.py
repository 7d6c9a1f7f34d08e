"""Does a value fit a schema? Answered by jsonschema, with everything in it that could run for ever replaced.

Patterns are matched in linear time, uniqueness is decided by canonical bytes, references are resolved inside
the document only (the registry has no way to retrieve anything), and all work is counted against a budget.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, Final

from replay.core.canonical import canonical_bytes
from replay.core.errors import GrammarError
from replay.core.jsonpath import join_path
from replay.core.types import Json
from replay.llm.grammar.matching import Matcher
from replay.llm.grammar.patterns import parse_pattern

__all__ = ["check_value", "fits"]

_MAX_STEPS: Final = 1_500_000
"""Pattern states visited for one value, or 30,000 keywords applied: two seconds at most."""
_KEYWORD_STEPS: Final = 50  # a keyword that fails takes about as long as so many pattern states

_COUNTED: Final = (
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "enum",
    "items",
    "oneOf",
    "prefixItems",
    "properties",
    "required",
    "type",
)
_DEFINITIONS: Final = ("$defs", "definitions")

_Rule = Callable[[Any, Json, Json, Json], Iterator[Any]]


class _Budget:
    """Counts the work on one value."""

    def __init__(self) -> None:
        self.left = _MAX_STEPS

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise GrammarError(
                f"more than {_MAX_STEPS:,} steps to validate a value",
                expected="a smaller value or a simpler schema",
            )


def fits(schema: Json, value: Json, document: Json) -> bool:
    """Tell whether a value fits a schema whose references go into a document.

    Errors:  GrammarError when that takes too many steps.
    """
    return next(_faults(schema, value, document), None) is None


def check_value(document: Json, value: Json) -> None:
    """Check a value against a whole schema document.

    Errors:  GrammarError with the JSON path, the keyword and what it asks for; also when the value is too
             deep or takes too many steps.
    """
    # The first fault in reading order, so that the message does not depend on how jsonschema walks.
    found = min(
        _faults(document, value, document), key=lambda fault: [str(step) for step in fault.path], default=None
    )
    if found is None:
        return
    raise GrammarError(
        f"output does not fit its schema: {found.validator} fails",
        where=join_path(found.absolute_path),
        expected=_shorten(found.validator, found.validator_value),
    )


def _shorten(keyword: str, wanted: Json) -> str:
    if not isinstance(wanted, (dict, list, str, int, float, bool)) and wanted is not None:
        return keyword
    text = repr(wanted)
    return f"{keyword} {text if len(text) <= 120 else text[:120] + '...'}"


def _faults(schema: Json, value: Json, document: Json) -> Iterator[Any]:
    if isinstance(schema, dict) and isinstance(document, dict):
        defined = {name: document[name] for name in _DEFINITIONS if name in document}
        bare = {name: inner for name, inner in schema.items() if name not in {"$schema", "$id"}}
        schema = defined | bare
    import referencing  # noqa: PLC0415

    validator = _validator_class()(schema, registry=referencing.Registry(), format_checker=_Budget())
    try:
        yield from validator.iter_errors(value)
    except RecursionError:
        raise GrammarError("a value nested too deep to be validated") from None
    except (OverflowError, ZeroDivisionError):
        raise GrammarError("a number too large to be validated") from None


@functools.cache
def _validator_class() -> Any:
    """Make a validator class that counts its work: a class takes milliseconds to make, so there is one.

    A validator hands its `format_checker` on to those of its subschemas and uses it for `format` alone, which
    is a note here; so it carries the budget.
    """
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415  heavy; only a schema needs it

    base = Draft202012Validator
    rules: dict[str, _Rule] = {name: functools.partial(_counted, base.VALIDATORS[name]) for name in _COUNTED}
    rules |= {"format": _nothing, "pattern": _pattern, "uniqueItems": _unique_items}
    extend: Callable[..., Any] = validators.extend
    return extend(base, validators=rules)


def _counted(inner: _Rule, validator: Any, wanted: Json, instance: Json, schema: Json) -> Iterator[Any]:
    validator.format_checker.spend(_KEYWORD_STEPS)
    return inner(validator, wanted, instance, schema)


def _nothing(_validator: Any, _wanted: Json, _instance: Json, _schema: Json) -> Iterator[Any]:
    return iter(())


def _pattern(validator: Any, wanted: Json, instance: Json, _schema: Json) -> Iterator[Any]:
    from jsonschema import ValidationError  # noqa: PLC0415

    if isinstance(instance, str) and not _matcher(wanted).matches(instance, validator.format_checker.spend):
        yield ValidationError(f"does not match {wanted!r}")


@functools.lru_cache(maxsize=256)
def _matcher(pattern: str) -> Matcher:
    return Matcher(parse_pattern(pattern, where="pattern"))


def _unique_items(_validator: Any, wanted: Json, instance: Json, _schema: Json) -> Iterator[Any]:
    from jsonschema import ValidationError  # noqa: PLC0415

    if wanted and isinstance(instance, list) and len(set(map(canonical_bytes, instance))) < len(instance):
        yield ValidationError("has items that are equal")
