"""A chat model that says what a file says: for tests, documentation, demos and shipped suites.

A script file is one JSON object (`.json`), or one SCRIPT a line (`.jsonl`) after an optional header line
{"name": ..., "otherwise": TURN}:

    {"name": "demo", "scripts": [SCRIPT, ...], "otherwise": TURN}
    SCRIPT  {"task": "588", "role": "candidate", "trial": 0, "turns": [TURN, ...], "otherwise": TURN}
    TURN    {"content": "text", "tool_calls": [{"name": "f", "arguments": {...} or "text"}], "finish": "stop"}

`task` is an id or a glob (`G1-*`); `role` is candidate when left out; without `trial` a script holds for
every trial. The most specific script wins: exact id before glob, with trial before without, then the first
in the file. Turns are said in order, one a request; after the last one `otherwise` is said each time, and
without it the episode ends with a miss. Nothing else is looked at: a script does not match requests.
"""

from __future__ import annotations

import fnmatch
import json
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from replay.core.canonical import digest, parse_json
from replay.core.determinism import deterministic_id
from replay.core.errors import CanonicalError, InputError, LimitError, MissError
from replay.core.types import ChatRequest, Completion, Json, Provenance, Record, Role, ToolCall

__all__ = ["Script", "ScriptedCall", "ScriptedCandidate", "ScriptedEpisode", "ScriptedTurn"]

MAX_SCRIPT_BYTES: Final = 64 * 1024 * 1024

_FINISHES: Final = ("stop", "tool_calls", "length", "refused", "error")

_GLOB_SIGNS: Final = frozenset("*?[")

_Shape = TypeVar("_Shape")


class ScriptedCall(Record, frozen=True, kw_only=True):
    """One tool call of a turn."""

    name: str
    arguments: dict[str, Json] | str = ""
    """An object, written out as JSON in its own order, or the argument text itself, malformed if need be."""


class ScriptedTurn(Record, frozen=True, kw_only=True):
    """What is said to one request."""

    content: str | None = None
    tool_calls: tuple[ScriptedCall, ...] = ()
    finish: str = ""
    """stop, tool_calls, length, refused or error; empty: tool_calls when there are calls, else stop."""


class Script(Record, frozen=True, kw_only=True):
    """What is said in one role of the episodes of one task, or of all tasks that a glob names."""

    task: str
    role: Role = Role.CANDIDATE
    trial: int | None = None
    turns: tuple[ScriptedTurn, ...]
    otherwise: ScriptedTurn | None = None


class _ScriptFile(Record, frozen=True, kw_only=True):
    name: str = "scripted"
    scripts: tuple[Script, ...] = ()
    otherwise: ScriptedTurn | None = None


class ScriptedCandidate:
    """Gives each episode a model that follows its script."""

    def __init__(
        self, scripts: tuple[Script, ...], *, name: str = "scripted", otherwise: ScriptedTurn | None = None
    ) -> None:
        """Keep the scripts; `otherwise` is said where no script of a task and role is left or given."""
        self._exact: dict[str, list[Script]] = {}
        for script in scripts:
            self._exact.setdefault(script.task, []).append(script)
        self._globs = [script for script in scripts if not _GLOB_SIGNS.isdisjoint(script.task)]
        self._name = name
        self._otherwise = otherwise
        content = _ScriptFile(name=name, scripts=scripts, otherwise=otherwise)
        self._digest = digest("script", msgspec.to_builtins(content))

    @classmethod
    def load(cls, path: Path) -> ScriptedCandidate:
        """Read a script file.

        Errors:  InputError with file, record number and JSON path; LimitError over 64 MiB.
        """
        file = _read_file(path)
        return cls(file.scripts, name=file.name, otherwise=file.otherwise)

    @property
    def identity(self) -> Json:
        """Digest of everything the file says, and its name; never its path."""
        return {"scripted": self._digest, "name": self._name}

    def for_episode(self, task: str, *, trial: int) -> ScriptedEpisode:
        """Return a model that starts at the first turn of this episode's scripts."""
        return ScriptedEpisode(self, task, trial=trial)

    def find_script(self, task: str, role: Role, *, trial: int) -> Script:
        """Return the most specific script of a task, role and trial; one without turns when none is given."""
        best: tuple[int, Script] | None = None
        for script in (*self._exact.get(task, ()), *self._globs):
            rank = _rank(script, task, role, trial=trial)
            if rank is not None and (best is None or rank < best[0]):
                best = (rank, script)
        found = best[1] if best is not None else Script(task=task, role=role, turns=())
        if found.otherwise is None and self._otherwise is not None:
            return msgspec.structs.replace(found, otherwise=self._otherwise)
        return found


class ScriptedEpisode:
    """The scripted model of one episode; counts its turns by role."""

    def __init__(self, candidate: ScriptedCandidate, task: str, *, trial: int) -> None:
        """Start before the first turn of every role."""
        self._candidate = candidate
        self._task = task
        self._trial = trial
        self._said: dict[Role, int] = {}

    @property
    def identity(self) -> Json:
        """Identity of the whole script file."""
        return self._candidate.identity

    def complete(self, request: ChatRequest, *, seed: int, trial: int) -> Completion:  # noqa: ARG002
        """Say the next turn of the request's role.

        Errors:  MissError when the script has no turn left.
        """
        script = self._candidate.find_script(self._task, request.role, trial=self._trial)
        index = self._said.get(request.role, 0)
        turn = script.turns[index] if index < len(script.turns) else script.otherwise
        if turn is None:
            raise self._exhausted(request.role, script)
        self._said[request.role] = index + 1
        return Completion(
            content=turn.content,
            tool_calls=tuple(
                ToolCall(
                    id=deterministic_id("call", self._task, self._trial, request.role.value, index, number),
                    name=call.name,
                    arguments=_argument_text(call.arguments),
                )
                for number, call in enumerate(turn.tool_calls)
            ),
            finish=turn.finish or ("tool_calls" if turn.tool_calls else "stop"),
            provenance=Provenance.SCRIPTED,
        )

    def _exhausted(self, role: Role, script: Script) -> MissError:
        said = len(script.turns)
        what = (
            f"script has no turn {said + 1} for role {role}"
            if said
            else f"script says nothing for role {role}"
        )
        error = MissError(
            what,
            where=f"task {self._task}, trial {self._trial}",
            expected="one turn a request",
            next_step="add turns or an `otherwise` turn to the script file",
        )
        error.want = {"kind": "script", "task": self._task, "trial": self._trial, "role": role, "turns": said}
        return error


def _rank(script: Script, task: str, role: Role, *, trial: int) -> int | None:
    if script.role is not role or script.trial not in (None, trial):
        return None
    wide = 0 if script.trial is not None else 1
    if script.task == task:
        return wide
    return 2 + wide if fnmatch.fnmatchcase(task, script.task) else None


def _argument_text(arguments: dict[str, Json] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _read_file(path: Path) -> _ScriptFile:
    text = _read_text(path)
    if path.suffix == ".jsonl":
        return _check(_read_lines(text, path), path)
    file = _convert(_parse(text, path.name), _ScriptFile, path.name)
    return _check(file, path)


def _read_text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_SCRIPT_BYTES:
            raise LimitError("script file is too large", where=path.name, expected="at most 64 MiB")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"script file cannot be read: {error.strerror}", where=str(path), expected="a JSON or JSONL file"
        ) from None
    except UnicodeDecodeError as error:
        raise InputError(f"script file is not UTF-8 at byte {error.start}", where=path.name) from None


def _read_lines(text: str, path: Path) -> _ScriptFile:
    header = _ScriptFile()
    scripts: list[Script] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path.name}, record {number}"
        record = _parse(line, where)
        if number == 1 and isinstance(record, dict) and "task" not in record:
            header = _convert(record, _ScriptFile, where)
        else:
            scripts.append(_convert(record, Script, where))
    return msgspec.structs.replace(header, scripts=(*header.scripts, *scripts))


def _parse(text: str, where: str) -> Json:
    try:
        return parse_json(text, where=where)
    except CanonicalError as error:
        raise InputError(error.what, where=error.where, expected="one JSON value") from None


def _convert(value: Json, shape: type[_Shape], where: str) -> _Shape:
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise InputError(
            f"script does not have the documented shape: {error}",
            where=where,
            expected='scripts such as {"task": "588", "turns": [{"content": "text"}]}',
        ) from None


def _check(file: _ScriptFile, path: Path) -> _ScriptFile:
    for index, script in enumerate(file.scripts):
        for place, turn in enumerate((*script.turns, *([script.otherwise] if script.otherwise else []))):
            if turn.finish and turn.finish not in _FINISHES:
                raise InputError(
                    f"finish {turn.finish!r} is unknown",
                    where=f"{path.name}, script {index} (task {script.task}), turn {place}",
                    expected=f"one of {', '.join(_FINISHES)}",
                )
    return file
