"""Local search databases as the session keeps them: made, listed, checked, deleted; never searched."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

from replay.benchmarks.codexomics.world.session import Arguments, Handler, Session, SessionFaultError
from replay.core.types import Json

__all__ = ["HANDLERS"]


def _create(session: Session, name: str, kind: str, source: str) -> dict[str, Json]:
    if any(item["dbName"] == name for item in session.data["databases"]):
        raise SessionFaultError(f"database {name!r} is there already")
    item = {"dbName": name, "dbType": kind, "source": source}
    session.add("databases", item)
    return dict(item)


def _from_genome(session: Session, arguments: Arguments, kind: str) -> dict[str, Json]:
    chromosome = session.chromosome(arguments)
    name = arguments.text("dbName", default=f"{chromosome}_{kind}")
    return _create(session, name, kind, chromosome)


def _quick(session: Session, arguments: Arguments) -> dict[str, Json]:
    label = arguments.text("genomeName", default=session.genome.name)
    made = [
        _create(session, f"{label}_{word}", kind, session.genome.chromosome)
        for flag, word, kind in (
            ("createNucleotide", "nucleotide", "nucl"),
            ("createProtein", "protein", "prot"),
        )
        if arguments.flag(flag, default=True)
    ]
    return {"databases": list(made), "count": len(made)}


def _from_file(session: Session, arguments: Arguments) -> dict[str, Json]:
    path = arguments.text("inputFile")
    if path not in session.data["files"]:
        raise SessionFaultError(f"no file {path!r} written in this session")
    return _create(session, arguments.text("dbName"), arguments.text("dbType"), path)


def _list(session: Session, _: Arguments) -> dict[str, Json]:
    found = copy.deepcopy(session.data["databases"])
    return {"databases": found, "count": len(found)}


def _find(session: Session, arguments: Arguments) -> dict[str, Any]:
    name = arguments.text("dbName")
    found = [item for item in session.data["databases"] if item["dbName"] == name]
    if not found:
        raise SessionFaultError(f"no database {name!r}")
    item: dict[str, Any] = found[0]
    return item


def _validate(session: Session, arguments: Arguments) -> dict[str, Json]:
    return {**_find(session, arguments), "isValid": True}


def _delete(session: Session, arguments: Arguments) -> dict[str, Json]:
    item = _find(session, arguments)
    if not arguments.flag("confirm", default=False):
        raise SessionFaultError("confirm must be true")
    session.data["databases"].remove(item)
    return {"deleted": item["dbName"]}


HANDLERS: Final[Mapping[str, Handler]] = {
    "blast_create_db_from_genome": lambda session, arguments: _from_genome(session, arguments, "nucl"),
    "blast_create_protein_db_from_genome": lambda session, given: _from_genome(session, given, "prot"),
    "blast_create_quick_db_for_current_genome": _quick,
    "blast_create_database": _from_file,
    "blast_list_databases": _list,
    "blast_validate_database": _validate,
    "blast_delete_database": _delete,
}
"""Tool to handler."""
