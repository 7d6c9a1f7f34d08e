"""Which agent is evaluated and whose verdicts are read: names and `kind:PATH` words become plans."""

from __future__ import annotations

import difflib
from pathlib import Path

import msgspec

from replay.core.canonical import digest
from replay.core.errors import InputError
from replay.core.protocols import Benchmark
from replay.core.types import Json
from replay.llm.scripted import ScriptedCandidate
from replay.wiring.library import Library
from replay.wiring.sources import RECORDED, SCRIPTED, CandidatePlan
from replay.wiring.workers import read_candidate_outputs

__all__ = ["OUTPUTS", "choose_candidate", "choose_judge", "choose_outputs"]

OUTPUTS = "outputs"


def choose_candidate(word: str, name: str, benchmark: Benchmark, library: Library) -> CandidatePlan:
    """Read the candidate's word: a recorded name, `scripted:FILE`, `outputs:PATH`, or nothing.

    Nothing means the one candidate that the archive has. A name that has outputs but no completions in the
    archive is scored from those outputs; `outputs:` without a path asks for the archive's outputs.

    Errors:  InputError listing what there is.
    """
    kind, colon, path = word.partition(":")
    if colon and kind == SCRIPTED:
        model = ScriptedCandidate.load(Path(path))
        identity = model.identity
        shown = identity["name"] if isinstance(identity, dict) else SCRIPTED
        return CandidatePlan(kind=SCRIPTED, name=str(shown), identity=identity, path=path)
    if colon and kind == OUTPUTS:
        return choose_outputs(path, name, benchmark, library)
    if colon:
        raise InputError(
            f"unknown kind of candidate {kind!r}",
            where=f"--candidate {word}",
            expected="scripted:FILE, outputs:PATH, or the name of a recorded candidate",
        )
    return _recorded(word or name, benchmark, library)


def choose_judge(name: str, library: Library) -> Json:
    """Return the identity of the named judge, or of the archive's only one; None when it has none.

    Errors:  InputError listing the judges when the name is not there, or when there are several and no name.
    """
    judges = library.judges()
    if not name and len(judges) <= 1:
        return next(iter(judges.values())).identity if judges else None
    if name not in judges:
        raise _not_there("judge", name, list(judges), library, option="--judge")
    return judges[name].identity


def _recorded(name: str, benchmark: Benchmark, library: Library) -> CandidatePlan:
    rows = library.candidates()
    if not name and len(rows) == 1:
        name = next(iter(rows))
    if name in rows:
        return CandidatePlan(kind=RECORDED, name=name, identity=rows[name].identity)
    if name and name in library.output_candidates():
        return choose_outputs("", name, benchmark, library)
    known = [*rows, *(other for other in library.output_candidates() if other not in rows)]
    raise _not_there("candidate", name, known, library, option="--candidate")


def choose_outputs(path: str, name: str, benchmark: Benchmark, library: Library) -> CandidatePlan:
    """Make a candidate of outputs in a folder, or in the archive when the path is empty.

    Outputs are identified by their content: the same files under another path are the same candidate.
    Errors:  InputError listing the candidates when the name is none of them, or when none was named.
    """
    outputs = read_candidate_outputs(benchmark, path, library, name)
    content = [[o.task, o.trial, o.format, digest("output", o.data)] for o in outputs]
    shown = outputs[0].candidate if outputs else name
    identity = {"outputs": digest("outputs", content), "name": shown}
    return CandidatePlan(kind=OUTPUTS, name=shown, identity=msgspec.to_builtins(identity), path=path)


def _not_there(what: str, name: str, known: list[str], library: Library, *, option: str) -> InputError:
    close = difflib.get_close_matches(name, known, n=1)
    return InputError(
        f"no {what} {name!r}" if name else f"the archive has {len(known)} {what}s and none was named",
        where=f"archive {library.label}",
        expected=f"one of: {', '.join(sorted(known)) or '(none recorded)'}",
        next_step=f"did you mean {close[0]}?" if close else f"name one with {option}",
    )
