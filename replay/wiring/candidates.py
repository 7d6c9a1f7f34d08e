"""Who plays which role: names, `kind:PATH` and `model:NAME` words become plans."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from replay.core.canonical import digest
from replay.core.errors import InputError
from replay.core.protocols import Benchmark
from replay.core.types import Json
from replay.llm.scripted import ScriptedCandidate
from replay.store.answers import model_scope
from replay.wiring.library import Library
from replay.wiring.roles import ModelPlan, RemotePlan, RolePlan
from replay.wiring.sources import MODEL, RECORDED, REMOTE, SCRIPTED, CandidatePlan
from replay.wiring.workers import read_candidate_outputs

__all__ = [
    "OUTPUTS",
    "FindModel",
    "FindRemote",
    "choose_candidate",
    "choose_judge",
    "choose_outputs",
    "choose_role",
]

OUTPUTS = "outputs"

FindModel = Callable[[str], ModelPlan]
"""Finds a local model by name or file."""

FindRemote = Callable[[str], RemotePlan]
"""Finds a remote model by the name of its upstream."""


def choose_candidate(
    word: str,
    name: str,
    benchmark: Benchmark,
    library: Library,
    *,
    find: FindModel | None = None,
    find_remote: FindRemote | None = None,
) -> CandidatePlan:
    """Read the candidate's word: a recorded name, `model:NAME`, `scripted:FILE`, `outputs:PATH`, or nothing.

    Nothing means the one candidate that the archive has. A name that has outputs but no completions in the
    archive is scored from those outputs; `outputs:` without a path asks for the archive's outputs.
    find: finds local models; without it `model:NAME` is the recorded candidate of that name.
    find_remote: finds remote ones, likewise for `remote:NAME`.

    Errors:  InputError listing what there is; ModelError for a local model that cannot be had.
    """
    kind, colon, path = word.partition(":")
    if colon and ((kind == MODEL and find is None) or (kind == REMOTE and find_remote is None)):
        return _recorded_model(path, library)
    if colon and kind == REMOTE and find_remote is not None:
        remote = find_remote(path)
        return CandidatePlan(kind=REMOTE, name=remote.name, identity=remote.identity, remote=remote)
    if colon and kind == MODEL and find is not None:
        local = find(path)
        return CandidatePlan(kind=MODEL, name=local.name, identity=local.identity, model=local)
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
            expected="model:NAME, remote:NAME, scripted:FILE, outputs:PATH, or the name of a recorded one",
        )
    return _recorded(word or name, benchmark, library)


def choose_role(  # noqa: PLR0913  each way to fill a role is one word
    word: str,
    option: str,
    rows: Mapping[str, Json],
    *,
    find: FindModel | None,
    find_remote: FindRemote | None = None,
    describe: Callable[[Json], Json],
    takes_script: bool = False,
) -> RolePlan | None:
    """Read the word of a role beside the candidate: `model:NAME`, a recorded name, or nothing.

    rows: identities of the models that are recorded in this role, by name.
    find: finds local models; without it `model:NAME` is the recorded one of that name.
    find_remote: finds remote ones, likewise for `remote:NAME`.
    describe: identity of a model -> its identity in the role.
    takes_script: `scripted:FILE` may speak in this role too, in every mode.

    Errors:  InputError listing the recorded names; ModelError for a local model that cannot be had.
    """
    if not word:
        return None
    kind, colon, name = word.partition(":")
    if colon and kind == SCRIPTED and takes_script:
        return _scripted_role(name)
    if colon and kind not in {MODEL, REMOTE}:
        script = "scripted:FILE, " if takes_script else ""
        raise InputError(
            f"unknown kind of model {kind!r}",
            where=f"{option} {word}",
            expected=f"model:NAME, remote:NAME, {script}or the name of a recorded one",
        )
    if kind == MODEL and colon and find is not None:
        model = find(name)
        return RolePlan(name=model.name, identity=describe(model.identity), model=model)
    if kind == REMOTE and colon and find_remote is not None:
        remote = find_remote(name)
        return RolePlan(name=remote.name, identity=describe(remote.identity), remote=remote)
    wanted = name if colon else word
    if wanted not in rows:
        close = difflib.get_close_matches(wanted, rows, n=1)
        raise InputError(
            f"nothing is recorded of {wanted!r} in this role",
            where=option,
            expected=f"one of: {', '.join(sorted(rows)) or '(none recorded)'}",
            next_step=f"did you mean {close[0]}?" if close else "--mode replay asks a local model:NAME",
        )
    return RolePlan(name=wanted, identity=rows[wanted])


def _scripted_role(path: str) -> RolePlan:
    identity = ScriptedCandidate.load(Path(path)).identity
    return RolePlan(name=model_scope(identity), identity=identity, script=path)


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


def _recorded_model(name: str, library: Library) -> CandidatePlan:
    rows = library.candidates()
    if name in rows:
        return CandidatePlan(kind=RECORDED, name=name, identity=rows[name].identity)
    raise _not_there("recorded model", name, list(rows), library, option="--candidate")


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
    other = "" if known or option != "--candidate" else ": model:NAME, scripted:FILE or outputs:PATH"
    return InputError(
        f"no {what} {name!r}" if name else f"the archive has {len(known)} {what}s and none was named",
        where=f"archive {library.label}",
        expected=f"one of: {', '.join(sorted(known)) or '(none recorded)'}",
        next_step=f"did you mean {close[0]}?" if close else f"name one with {option}{other}",
    )
