"""A Jinja environment for templates that nobody has read: nothing to reach, nothing to wait for.

A chat template comes out of a model file. It may call a few filters and string methods, and all it does is
counted: each turn of a loop, each character that it makes, each element of each container, before memory is
taken where that can be known. There is no loader, no clock but the frozen one, no randomness, and no
attribute that is not on a list. The module is imported on first use: it brings jinja2.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, cast

import jinja2
from jinja2 import nodes
from jinja2.ext import loopcontrols
from jinja2.nodes import EvalContext
from jinja2.parser import Parser
from jinja2.runtime import Context, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from replay.core.determinism import FrozenClock
from replay.llm.dialects.counting import Counting, GenerationBlocks

__all__ = ["BudgetError", "Moment", "Sandbox"]

MAX_WORK: Final = 20_000_000
"""Characters and elements one rendering may make; a conversation of a million characters takes a quarter."""

_TURN_WORK: Final = 20  # a turn of a loop or an element costs as long as 20 characters
_MAX_INTEGER_BITS: Final = 128
_MAX_WIDTH: Final = re.compile(r"[0-9]{4,}|\*|\{[^{}]*\{")  # widths in format strings, written or computed


class Moment:
    """The frozen time as a template may see it."""

    def __init__(self, clock: FrozenClock) -> None:
        """Take the time the clock shows."""
        self._clock = clock

    def strftime(self, form: str) -> str:
        """Write the time in a form of C's strftime."""
        return self._clock.now().strftime(form[:200])

    def __str__(self) -> str:
        return self._clock.text()


_STRING_METHODS: Final = (  # noqa: SIM905  one word a line would hide the list
    "capitalize count endswith find format index isalnum isalpha isdigit islower isspace isupper join "
    "lower lstrip partition removeprefix removesuffix replace rfind rindex rpartition rsplit rstrip "
    "split splitlines startswith strip swapcase title upper"
).split()
_SCOPES: Final = ("_block_vars", "_loop_vars")  # what Jinja's own code hands its context with each call

_TEXT_FILTERS: Final = (  # noqa: SIM905  one word a line would hide the list
    "capitalize e escape format indent lower replace safe string striptags title tojson trim upper"
).split()
"""Filters that write their arguments as text, so that these must be plain values."""

_PLAIN: Final = (str, int, float, type(None), Undefined, Moment)
"""What may be written: of anything else Python would write an address, another one each time."""

_METHODS: Final[dict[type, Collection[str]]] = {
    str: _STRING_METHODS,
    dict: frozenset({"get", "items", "keys", "values"}),
    list: frozenset({"count", "index"}),
    tuple: frozenset({"count", "index"}),
}
_FILTERS: Final = (  # noqa: SIM905  one word a line would hide the list
    "abs capitalize count d default dictsort e escape first float format int items last length list "
    "lower map max min reject rejectattr reverse round safe select selectattr sort string striptags "
    "sum title trim unique upper wordcount"
).split()


class BudgetError(jinja2.TemplateRuntimeError):
    """A template that does more than it may."""


class Sandbox(ImmutableSandboxedEnvironment):
    """Compiles and renders one template at a time; not safe to share between threads."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        """Offer these functions, the filters of the list, and nothing else."""
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            optimized=False,  # constants are computed when rendering, where they are counted
            cache_size=0,
            finalize=self.printed,
            extensions=[loopcontrols, GenerationBlocks],
        )
        kept = {name: self.filters[name] for name in _FILTERS}
        own: dict[str, Callable[..., Any]] = {
            "join": self._join,
            "replace": self._replace,
            "indent": self._indent,
            "tojson": self._tojson,
        }
        self.filters = {name: self._counted(name, function) for name, function in (kept | own).items()}
        allowed = {name: self.globals[name] for name in ("range", "dict", "namespace")}
        self.globals = {**allowed, **functions}
        self._left = MAX_WORK

    def start(self) -> None:
        """Begin a rendering with a full budget."""
        self._left = MAX_WORK

    def spend(self, work: int) -> None:
        """Count work that is about to be done."""
        self._left -= work
        if self._left < 0:
            raise BudgetError(f"the template does more than {MAX_WORK:,} units of work")

    # ---- what the changed syntax tree calls --------------------------------------------------------------

    @property
    def turn(self) -> None:
        """Count one turn of a loop or call of a macro when it is read: a call would cost ten times more."""
        self.spend(_TURN_WORK)

    def sized(self, value: Any, *, written: bool = False) -> Any:
        """Count a container with everything in it, each time it is met; refuse what cannot be written."""
        waiting = [value]
        while waiting:
            found = waiting.pop()
            if isinstance(found, str):
                self.spend(len(found))
            elif isinstance(found, dict):
                self.spend(_TURN_WORK * (1 + len(found)))
                waiting += found.keys()
                waiting += found.values()
            elif isinstance(found, (list, tuple)):
                self.spend(_TURN_WORK * (1 + len(found)))
                waiting += found
            elif written and not isinstance(found, _PLAIN):
                raise jinja2.TemplateRuntimeError(f"the template writes a {type(found).__name__}")
        return value

    def concatenated(self, *values: Any) -> str:
        """Join values as text, as `~` does."""
        texts = [self._text(value) for value in values]
        self.spend(sum(len(text) for text in texts))
        return "".join(texts)

    def printed(self, value: Any) -> Any:
        """Count what is put out."""
        return self.sized(value, written=True)

    def _text(self, value: Any) -> str:
        return value if isinstance(value, str) else str(self.printed(value))

    # ---- what Jinja calls --------------------------------------------------------------------------------

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = Parser(self, source, name, filename).parse()
        return cast("nodes.Template", Counting().visit(tree))

    def unsafe_undefined(self, obj: Any, attribute: str) -> Undefined:
        """Refuse at once: an undefined value would be written as nothing."""
        raise jinja2.exceptions.SecurityError(
            f"attribute {attribute!r} of {type(obj).__name__!r} is out of reach"
        )

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Allow what the list allows, and of Jinja's own objects (loop, namespace) what it allows itself."""
        for kind, methods in _METHODS.items():
            if isinstance(obj, kind):
                return attr in methods
        is_known = isinstance(obj, Moment) or type(obj).__module__ in {"jinja2.runtime", "jinja2.utils"}
        return is_known and bool(super().is_safe_attribute(obj, attr, value))

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call what a template calls, its arguments looked at before and its result counted."""
        owner = getattr(getattr(obj, "__wrapped__", obj), "__self__", None)
        if owner is self:
            return obj(*args)
        self.spend(_TURN_WORK)
        for argument in (*args, *kwargs.values()):
            if isinstance(argument, int) and abs(argument) > MAX_WORK:
                raise BudgetError(f"the template passes the number {argument}")
        if isinstance(owner, str):
            given = {name: value for name, value in kwargs.items() if name not in _SCOPES}
            return self.sized(self._call_text(owner, obj, *args, **given))
        return self.sized(super().call(context, obj, *args, **kwargs))

    def _call_text(self, text: str, method: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a method of a text; those that can make it much longer are counted before."""
        name = method.__name__
        if name == "replace":
            return self._replace(text, *args)
        if name == "join":
            return self._join(args[0], text)
        if name == "format":
            self._check_format(text)
            self.sized([*args, *kwargs.values()], written=True)
        return method(*args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Do arithmetic whose result may be large."""
        self.spend(_TURN_WORK)
        for value in (left, right):
            if isinstance(value, int) and value.bit_length() > _MAX_INTEGER_BITS:
                raise BudgetError("the template computes with a number that is too large")
        if operator == "**":
            if not isinstance(right, int) or abs(right) > _MAX_INTEGER_BITS:
                raise BudgetError("the template raises a number to a power that is too large")
        elif operator == "*":
            for sized, times in ((left, right), (right, left)):
                if isinstance(sized, (str, list, tuple)) and isinstance(times, int):
                    self.spend(len(sized) * max(times, 0))
        elif operator == "%" and isinstance(left, str):
            self._check_format(left)
            self.printed(right)
        return self.sized(super().call_binop(context, operator, left, right))

    # ---- filters -----------------------------------------------------------------------------------------

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)  # takes along whether Jinja passes its context
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.spend(_TURN_WORK)
            if name in _TEXT_FILTERS:
                given = args[1:] if args and isinstance(args[0], (Context, EvalContext, Sandbox)) else args
                self.sized([*given, *kwargs.values()], written=True)
            if name == "format":
                self._check_format(str(args[0]))
            return self.sized(function(*args, **kwargs))

        return counted

    def _check_format(self, text: str) -> None:
        if _MAX_WIDTH.search(text):
            raise BudgetError("the template formats with a computed or very large width")

    def _join(self, value: Iterable[Any], d: str = "", attribute: str | int | None = None) -> str:
        texts: list[str] = []
        for item in value:
            texts.append(self._text(item if attribute is None else self.getitem(item, attribute)))
            self.spend(len(texts[-1]) + len(d) + 1)
        return d.join(texts)

    def _replace(self, s: str, old: str, new: str, count: int = -1) -> str:
        text = str(s)
        found = text.count(old) if count < 0 else min(text.count(old), count)
        self.spend(len(text) + found * len(new))
        return text.replace(old, new, count)

    def _indent(self, s: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:  # noqa: FBT001, FBT002  Jinja's own signature
        pad = width if isinstance(width, str) else " " * min(max(width, 0), 1_000)
        lines = str(s).splitlines()
        self.spend(len(s) + len(pad) * len(lines))
        padded = [pad + line if line or blank else line for line in lines]
        return "\n".join(padded if first else [*lines[:1], *padded[1:]])

    def _tojson(  # the signature that templates are written for
        self,
        value: Any,
        ensure_ascii: bool = False,  # noqa: FBT001, FBT002
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,  # noqa: FBT001, FBT002
    ) -> str:
        if isinstance(value, Undefined):
            raise jinja2.UndefinedError("tojson of something undefined")
        step = None if indent is None else min(max(indent, 0), 16)
        return json.dumps(
            value, ensure_ascii=ensure_ascii, indent=step, separators=separators, sort_keys=sort_keys
        )
