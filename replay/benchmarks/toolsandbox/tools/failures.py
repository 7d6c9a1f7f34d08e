"""How a tool fails: the class and text that the agent reads, as upstream's interpreter prints them.

Names of classes that are not built in carry their module, because upstream shows the last line of a Python
traceback. Source: upstream roles/execution_environment.py at 165848b.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "CODE_FAULTS",
    "COMPUTE",
    "DUPLICATE",
    "NO_DATA",
    "PERMISSION",
    "PHONE",
    "ToolError",
    "WrongTypeError",
    "WrongValueError",
    "describe",
]

COMPUTE: Final = "polars.exceptions.ComputeError"
DUPLICATE: Final = "polars.exceptions.DuplicateError"
NO_DATA: Final = "polars.exceptions.NoDataError"
PERMISSION: Final = "PermissionError"
PHONE: Final = "phonenumbers.phonenumberutil.NumberParseException"

CODE_FAULTS: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What upstream's own expressions raise on odd values, and what libraries raise on odd texts."""


class ToolError(Exception):
    """A call failed in a way the agent may read about."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(kind, text)
        self.kind = kind
        self.text = text

    @property
    def line(self) -> str:
        """The last line of the traceback that upstream shows."""
        whole = f"{self.kind}: {self.text}" if self.text else self.kind
        return whole.rstrip().split("\n")[-1]


class WrongValueError(ToolError):
    """An argument of the right type with a value that will not do."""

    def __init__(self, text: str) -> None:
        super().__init__("ValueError", text)


class WrongTypeError(ToolError):
    """An argument of the wrong type, too many or too few arguments."""

    def __init__(self, text: str) -> None:
        super().__init__("TypeError", text)


def describe(error: Exception) -> ToolError:
    """Turn what a library or an expression raised into a tool's failure, module before the class name."""
    kind = type(error)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return ToolError(f"{module}{kind.__qualname__}", str(error))
