"""The exception tree and the exit code of each class.

    ReplayError                     70  (never raised itself)
    +-- UsageError                   2  the command line cannot be understood
    +-- InputError                   3  a file, a record or a setting from outside is wrong
    |   +-- CanonicalError           3  a value that cannot be hashed honestly
    |   +-- MissingExtraError        3  an optional package is not installed
    |   +-- GrammarError             3  a schema that cannot constrain, or a text that does not fit one
    |   +-- HistoryError             3  a conversation that no prompt can be made of
    +-- MissError                    4  nothing recorded answers a request
    |   +-- RecordMissError          7  nothing answers and no live upstream could
    |   +-- SimulationError          4  a simulator gave nothing that may pass for an answer
    +-- FormatError                  5  damaged, newer or unknown bytes
    |   +-- DamagedError             5  a digest, a length or a frame does not agree
    |   +-- NewerFormatError         5  written by a later version of this program
    |   +-- LimitError               5  larger than the stated bound
    +-- ModelError                   6  a model is missing or is another one
    +-- UpstreamError                7  a live upstream failed
    +-- DivergedError                8  a replay did not give the recorded bits
    +-- CheckFailedError             1  done, but a check failed
    +-- NetworkBlockedError         70  something reached for the network in an offline run
    +-- StoreError                   3  a store cannot be opened or written (disk, lock, sealed)
    +-- InternalError               70  our own bug

Exit codes 0 (done) and 130 (interrupted) have no class. Every message follows one template, built here:
what failed, where; what was expected; what to do next. STYLE section 6.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "CanonicalError",
    "CheckFailedError",
    "DamagedError",
    "DivergedError",
    "FormatError",
    "GrammarError",
    "HistoryError",
    "InputError",
    "InternalError",
    "LimitError",
    "MissError",
    "MissingExtraError",
    "ModelError",
    "NetworkBlockedError",
    "NewerFormatError",
    "RecordMissError",
    "ReplayError",
    "SimulationError",
    "StoreError",
    "UpstreamError",
    "UsageError",
]


class ReplayError(Exception):
    """Root of everything this program raises on purpose."""

    exit_code: ClassVar[int] = 70

    def __init__(self, what: str, *, where: str = "", expected: str = "", next_step: str = "") -> None:
        """Keep the four parts of the message and build its one text."""
        self.what = what
        self.where = where
        self.expected = expected
        self.next_step = next_step
        super().__init__(what, where, expected, next_step)

    def __str__(self) -> str:
        """One line: what failed, where. What was expected. What to do next."""
        head = f"{self.what} ({self.where})" if self.where else self.what
        parts = [head]
        if self.expected:
            parts.append(f"expected {self.expected}")
        if self.next_step:
            parts.append(f"next: {self.next_step}")
        return _one_line("; ".join(parts))

    def __reduce__(self) -> tuple[object, ...]:
        """Survive the trip from a worker process, keyword fields included."""
        return (_rebuild, (type(self), dict(self.__dict__)))

    def to_json(self) -> dict[str, object]:
        """The same four parts for `--json`."""
        return {
            "error": type(self).__name__,
            "exit_code": self.exit_code,
            "what": self.what,
            "where": self.where,
            "expected": self.expected,
            "next": self.next_step,
        }


def _one_line(text: str) -> str:
    """Escape what is not printable: values from outside must not move a terminal's cursor."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _rebuild(cls: type[ReplayError], fields: dict[str, object]) -> ReplayError:
    error = cls.__new__(cls)
    error.__dict__.update(fields)
    error.args = (error.what, error.where, error.expected, error.next_step)
    return error


class UsageError(ReplayError):
    """The command line cannot be understood."""

    exit_code = 2


class InputError(ReplayError):
    """A file, a record or a setting that came from outside is wrong."""

    exit_code = 3


class CanonicalError(InputError):
    """A value that cannot be hashed honestly; `where` holds its JSON path."""


class MissingExtraError(InputError):
    """An optional package is needed; the message names the extra that brings it."""


class GrammarError(InputError):
    """A schema that cannot be turned into a grammar, or a text that does not fit its schema."""


class HistoryError(InputError):
    """A conversation that no prompt can be made of, for example a tool result without its call."""


class StoreError(ReplayError):
    """A store cannot be opened or written: disk full, read-only, locked, sealed."""

    exit_code = 3


class MissError(ReplayError):
    """Nothing recorded answers a request; the message names the nearest recorded ones."""

    exit_code = 4
    want: object = None
    """The same report as JSON, for want lists; set by whoever raises it."""


class RecordMissError(MissError):
    """Nothing answers a request in record mode and no live upstream could."""

    exit_code = 7


class SimulationError(MissError):
    """A simulator gave nothing that may pass for an answer: truncated, invalid, refused or too long to ask.

    `what` begins with the reason in one word. The call stays a miss.
    """


class FormatError(ReplayError):
    """Bytes that this program cannot or must not read."""

    exit_code = 5


class DamagedError(FormatError):
    """A digest, a length or a frame does not agree with what the manifest says."""


class NewerFormatError(FormatError):
    """Written by a later version of this program."""


class LimitError(FormatError):
    """Larger than the stated bound; refused before memory is taken."""


class ModelError(ReplayError):
    """A model is missing, or is not the one that was recorded."""

    exit_code = 6


class UpstreamError(ReplayError):
    """A live upstream failed in record mode."""

    exit_code = 7


class DivergedError(ReplayError):
    """A replay did not give the recorded bits."""

    exit_code = 8


class CheckFailedError(ReplayError):
    """The work was done, but a check that was asked for failed."""

    exit_code = 1


class NetworkBlockedError(ReplayError):
    """Something reached for the network in an offline run."""


class InternalError(ReplayError):
    """Our own bug; please report it with the whole message."""
