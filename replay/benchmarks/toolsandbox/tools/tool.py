"""What a tool is: its parameters as upstream checks them, what it reads and writes, and how it is run.

Source: upstream common/validators.py, common/utils.py (register_as_tool) at 165848b. Arguments are bound to
parameters first (defaults filled in), then types are checked in the order of the parameters.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Final

from replay.benchmarks.toolsandbox.tools.failures import WrongTypeError
from replay.benchmarks.toolsandbox.world.tables import Tables
from replay.core.determinism import FrozenClock
from replay.core.types import Json, Record

__all__ = [
    "NOT_GIVEN",
    "ApiRequest",
    "Arguments",
    "Moment",
    "NotGiven",
    "Parameter",
    "Tool",
    "bind",
    "check_types",
    "traced",
]

_NOT_GIVEN_NAME: Final = "tool_sandbox.common.utils.NotGiven"

_KINDS: Final[Mapping[str, type]] = {"str": str, "float": float, "int": int, "bool": bool}


class NotGiven(enum.Enum):
    """A value apart from null for arguments that were left out."""

    NOT_GIVEN = "NOT_GIVEN"

    def __bool__(self) -> bool:
        return False


NOT_GIVEN: Final = NotGiven.NOT_GIVEN

Arguments = dict[str, Json]
"""Values by parameter name, NOT_GIVEN among them."""


class ApiRequest(Record, frozen=True, kw_only=True):
    """One question to an external API: what its recorded answer is looked up by, and what was sent."""

    tool: str
    """Tool that asks."""
    api: str
    """Name and version of the API."""
    arguments: dict[str, Json]
    """Normalised: numbers as numbers, positions filled in, codes in capitals."""
    url: str
    params: dict[str, Json]
    """Query of the request as upstream sends it."""


class Moment(Record, frozen=True, kw_only=True):
    """What a tool may see and change while it runs."""

    tables: Tables
    clock: FrozenClock
    new_id: Callable[[], str]
    fetch: Callable[[ApiRequest], Json]
    """Decoded answer of an external API."""


class Parameter(Record, frozen=True, kw_only=True):
    """One parameter of a tool."""

    name: str
    kind: str
    """str, float, int or bool."""
    about: str
    required: bool = False
    nullable: bool = False
    omissible: bool = False
    """True when leaving it out differs from null."""
    default: Json = None
    """Value when left out; NOT_GIVEN for an omissible one whatever this says."""
    expected: str = ""
    """How the expected type reads in a message, where it is not made from the fields above."""

    @property
    def expected_type(self) -> str:
        """The expected type as upstream's message prints it."""
        if self.expected:
            return self.expected
        if self.omissible:
            null = ", NoneType" if self.nullable else ""
            return f"typing.Union[{self.kind}{null}, {_NOT_GIVEN_NAME}]"
        return f"typing.Optional[{self.kind}]" if self.nullable else f"<class '{self.kind}'>"

    def accepts(self, value: Json) -> bool:
        """Exact type, but whole numbers and booleans pass as numbers."""
        if value is NOT_GIVEN:
            return self.omissible
        if value is None:
            return self.nullable
        if type(value) is _KINDS[self.kind]:
            return True
        return (self.kind == "float" and isinstance(value, int)) or (
            self.kind == "int" and isinstance(value, bool)
        )


class Tool(Record, frozen=True, kw_only=True):
    """One tool of the world."""

    name: str
    module: str
    """Upstream module: what distractors are ranked and scrambled names are made by."""
    about: str
    run: Callable[[Moment, Arguments], Json]
    parameters: tuple[Parameter, ...] = ()
    reads: frozenset[str] = frozenset()
    """Tables whose content its success may depend on."""
    writes: frozenset[str] = frozenset()
    checked: bool = True
    """False for the few tools whose argument types upstream does not check before they run."""
    for_user: bool = False
    described: bool = True
    """False when upstream's scrambling of descriptions leaves this tool's own in place."""


def bind(tool: Tool, given: Mapping[str, Json]) -> Arguments:
    """Fill in defaults and refuse missing and unknown arguments, in that order."""
    bound: Arguments = {}
    left = dict(given)
    for parameter in tool.parameters:
        if parameter.name in left:
            bound[parameter.name] = left.pop(parameter.name)
        elif parameter.required:
            raise WrongTypeError(f"missing a required argument: {parameter.name!r}")
        else:
            bound[parameter.name] = NOT_GIVEN if parameter.omissible else parameter.default
    if left:
        raise WrongTypeError(f"got an unexpected keyword argument {next(iter(left))!r}")
    return bound


def check_types(tool: Tool, arguments: Arguments) -> None:
    """Refuse the first argument whose type is not the parameter's."""
    for parameter in tool.parameters:
        check_type(parameter, arguments[parameter.name])


def check_type(parameter: Parameter, value: Json) -> None:
    """Refuse a value of another type than the parameter's."""
    if not parameter.accepts(value):
        raise WrongTypeError(
            f"Parameter '{parameter.name}' is of type '{type(value)}', "
            f"but expected '{parameter.expected_type}'."
        )


def traced(arguments: Arguments) -> dict[str, Json]:
    """Arguments as a trace shows them: defaults are there, what was not given is not."""
    return {name: value for name, value in arguments.items() if value is not NOT_GIVEN}
