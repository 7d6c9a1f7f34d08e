"""A model's own chat template: rendered in the sandbox, with a clock that stands still.

Errors of a template are the model file's fault, so each becomes one ModelError that names the line. What it
refuses with `raise_exception` is the conversation, so that is a HistoryError.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NoReturn

from replay.core.determinism import FrozenClock
from replay.core.errors import HistoryError, MissingExtraError, ModelError
from replay.core.types import Json

if TYPE_CHECKING:
    import jinja2

__all__ = ["ChatTemplate"]

MAX_TEMPLATE_CHARS: Final = 1 << 18
"""The longest template known to us has 25,000 characters."""
MAX_PROMPT_CHARS: Final = 4_000_000
"""More than the largest context of any known model holds."""

_FILE: Final = "<template>"  # what Jinja calls a template without a name in tracebacks


class ChatTemplate:
    """One compiled template. Safe to share between threads: one rendering at a time."""

    def __init__(
        self, source: str, *, bos: str = "", eos: str = "", clock: FrozenClock | None = None
    ) -> None:
        """Compile a template.

        bos, eos: texts of the model's begin and end tokens, which many templates write themselves.
        Errors:  ModelError naming the line; MissingExtraError without jinja2.
        """
        self.source = _bounded(source)
        self.bos = bos
        self.eos = eos
        self._lock = threading.Lock()
        sandbox = _load("sandbox")
        moment = sandbox.Moment(clock or FrozenClock())
        functions: dict[str, Callable[..., Any]] = {
            "raise_exception": _refuse,
            "strftime_now": moment.strftime,
            "now": lambda: moment,
        }
        self._sandbox = sandbox.Sandbox(functions)
        self._template: jinja2.Template = _guard(lambda: self._sandbox.from_string(source))

    def render(
        self, messages: Sequence[Json], *, tools: Sequence[Json] | None = None, generation_prompt: bool = True
    ) -> str:
        """Write the text of a conversation, up to where the model goes on.

        tools: None says that there are none; some templates want an empty list instead.
        Errors:  ModelError naming the line: the template fails or does more than it may; HistoryError when
                 it refuses the conversation.
        """
        values: Mapping[str, Any] = {
            "messages": list(messages),
            "tools": None if tools is None else list(tools),
            "add_generation_prompt": generation_prompt,
            "bos_token": self.bos,
            "eos_token": self.eos,
        }
        with self._lock:
            self._sandbox.start()
            text: str = _guard(lambda: self._template.render(values))
        if len(text) > MAX_PROMPT_CHARS:
            raise ModelError(
                f"chat template wrote {len(text):,} characters", expected=f"at most {MAX_PROMPT_CHARS:,}"
            )
        return text


def _bounded(source: str) -> str:
    if len(source) > MAX_TEMPLATE_CHARS:
        raise ModelError(
            f"chat template of {len(source):,} characters", expected=f"at most {MAX_TEMPLATE_CHARS:,}"
        )
    return source


def _load(name: str) -> Any:
    """Import a module of this package that brings jinja2, which only models need."""
    try:
        return importlib.import_module(f"replay.llm.dialects.{name}")
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"the package {error.name} is not installed",
            expected="the extra `model`",
            next_step="pip install 'replay-bench[model]'",
        ) from None


def _refuse(message: object) -> NoReturn:
    raise HistoryError(
        f"chat template refuses: {str(message)[:300]}", expected="a conversation that it takes"
    )


def _guard(action: Callable[[], Any]) -> Any:
    """Turn whatever a template can raise into one error that names the line."""
    import jinja2  # noqa: PLC0415

    try:
        return action()
    except jinja2.TemplateSyntaxError as error:
        raise _fault(error.message or "syntax", error.lineno) from None
    except (
        jinja2.TemplateError,
        ArithmeticError,
        AttributeError,
        LookupError,
        RuntimeError,
        SyntaxError,
        TypeError,
        ValueError,
    ) as error:
        kind = "" if isinstance(error, jinja2.TemplateError) else f"{type(error).__name__}: "
        raise _fault(f"{kind}{error}", _line(error.__traceback__)) from None


def _fault(message: str, line: int | None) -> ModelError:
    return ModelError(
        f"chat template fails: {message[:400]}",
        where=f"template line {line}" if line else "",
        expected="a template that writes this conversation",
    )


def _line(trace: TracebackType | None) -> int | None:
    """Find the innermost line of the template: Jinja maps its own code back to it."""
    found: int | None = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _FILE:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found
