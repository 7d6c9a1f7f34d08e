"""The session's annotations: listed, searched, made, changed, with their history and quality."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

from replay.benchmarks.codexomics.world.session import Arguments, Handler, Session, SessionFaultError
from replay.core.types import Json

__all__ = ["HANDLERS"]

_CHANGEABLE: Final = ("name", "type", "start", "end", "strand", "product", "locus_tag")


def _find(session: Session, identifier: str) -> dict[str, Any]:
    """An annotation by id, name or locus tag; the session's own before the genome's."""
    wanted = identifier.strip().lower()
    for item in reversed(session.data["features"]):
        if wanted in (item["id"].lower(), item["name"].lower(), item["locus_tag"].lower()):
            found: dict[str, Any] = item
            return found
    raise SessionFaultError(f"no annotation {identifier!r}")


def _log(session: Session, action: str, item: Mapping[str, Json]) -> None:
    session.add("history", {"action": action, "identifier": item["id"], "name": item["name"]})


def _create(session: Session, arguments: Arguments) -> dict[str, Json]:
    start, end = session.region(arguments)
    session.data["counter"] += 1
    item: dict[str, Any] = {
        "id": f"user_{1_700_000_000_000 + session.data['counter']}_n{session.data['counter']:05d}",
        "type": arguments.text("type"),
        "name": arguments.text("name"),
        "locus_tag": "",
        "start": start,
        "end": end,
        "strand": arguments.whole("strand", default=1),
        "product": arguments.text("product", default=""),
        "operon": "",
        "qualifiers": {},
    }
    if "description" in arguments:
        item["qualifiers"]["description"] = arguments.text("description")
    session.add("features", item)
    _log(session, "create", item)
    return {"annotation": copy.deepcopy(item), "id": item["id"]}


def _change(session: Session, identifier: Json, updates: Json) -> dict[str, Any]:
    if not isinstance(identifier, str) or not isinstance(updates, dict) or not updates:
        raise SessionFaultError("an update has an identifier and an object of changes")
    item = _find(session, identifier)
    for name, value in updates.items():
        if name in _CHANGEABLE and type(value) is type(item[name]):
            item[name] = value
        elif name in _CHANGEABLE:
            raise SessionFaultError(f"{name} must be {type(item[name]).__name__}")
        else:
            item["qualifiers"][name] = copy.deepcopy(value)
    session.check_region(item["start"], item["end"])
    _log(session, "update", item)
    return item


def _update(session: Session, arguments: Arguments) -> dict[str, Json]:
    item = _change(session, arguments.raw("identifier"), arguments.raw("updates"))
    return {"annotation": copy.deepcopy(item)}


def _bulk_update(session: Session, arguments: Arguments) -> dict[str, Json]:
    updates = arguments.raw("updates")
    if not isinstance(updates, list) or not updates:
        raise SessionFaultError("updates must be a list")
    entries = [entry if isinstance(entry, dict) else {} for entry in updates]
    changed = [_change(session, entry.get("identifier"), entry.get("updates")) for entry in entries]
    return {"updated": [item["id"] for item in changed], "count": len(changed)}


def _delete(session: Session, arguments: Arguments) -> dict[str, Json]:
    item = _find(session, arguments.text("identifier"))
    session.data["features"].remove(item)
    _log(session, "delete", item)
    return {"deleted": item["id"], "name": item["name"]}


def _get(session: Session, arguments: Arguments) -> dict[str, Json]:
    return {"annotation": copy.deepcopy(_find(session, arguments.text("identifier")))}


def _listed(items: list[dict[str, Any]], arguments: Arguments, limit: int) -> dict[str, Json]:
    skip, most = arguments.whole("offset", default=0), arguments.whole("limit", "maxResults", default=limit)
    shown = copy.deepcopy(items[skip : skip + most])
    return {"annotations": shown, "count": len(shown), "total": len(items)}


def _list(session: Session, arguments: Arguments) -> dict[str, Json]:
    start, end = session.region(arguments, default_view=True)
    kind = arguments.text("type", default="")
    found = [
        item
        for item in session.data["features"]
        if item["start"] <= end and item["end"] >= start and kind in ("", item["type"])
    ]
    return {**_listed(found, arguments, 100), "start": start, "end": end}


def _search(session: Session, arguments: Arguments) -> dict[str, Json]:
    query = arguments.text("query").lower()
    kind = arguments.text("type", "featureType", default="")
    exact = arguments.flag("exactMatch", default=False)
    found = []
    for item in session.data["features"]:
        texts = [item["name"], item["locus_tag"], item["product"], *map(str, item["qualifiers"].values())]
        hit = any(query == text.lower() if exact else query in text.lower() for text in texts)
        if hit and kind in ("", item["type"]):
            found.append(item)
    return _listed(found, arguments, 50)


def _find_gene(session: Session, arguments: Arguments) -> dict[str, Json]:
    return {"gene": copy.deepcopy(session.find_gene(arguments.text("name", "geneName")))}


def _nearby(session: Session, arguments: Arguments) -> dict[str, Json]:
    position = arguments.whole("position")
    distance = arguments.whole("distance", default=5000)
    session.check_region(position, position)
    low, high = position - distance, position + distance
    found = [i for i in session.data["features"] if i["start"] <= high and i["end"] >= low]
    return {"features": copy.deepcopy(found), "count": len(found)}


def _history(session: Session, arguments: Arguments) -> dict[str, Json]:
    found = list(reversed(session.data["history"]))
    if "identifier" in arguments:
        wanted = arguments.text("identifier")
        found = [entry for entry in found if wanted in (entry["identifier"], entry["name"])]
    shown = found[: arguments.whole("limit", default=50)]
    return {"history": copy.deepcopy(shown), "count": len(shown)}


def _operons(session: Session, _: Arguments) -> dict[str, Json]:
    operons: dict[str, list[str]] = {}
    for item in session.data["features"]:
        if item["operon"] and item["type"] == "CDS":
            operons.setdefault(item["operon"], []).append(item["name"])
    found = [{"name": name, "genes": genes} for name, genes in sorted(operons.items())]
    return {"operons": found, "count": len(found)}


def _quality(item: Mapping[str, Any]) -> tuple[int, list[str]]:
    """Completeness in 0..100: name, locus tag, a product that says something, a note."""
    lacks = {
        "no locus tag": 0 if item["locus_tag"] else 20,
        "no product": 0 if item["product"] else 40,
        "product is hypothetical": 30 if "hypothetical" in item["product"] else 0,
        "no qualifiers": 0 if item["qualifiers"] else 10,
    }
    return 100 - sum(lacks.values()), [reason for reason, points in lacks.items() if points]


def _assess(session: Session, arguments: Arguments) -> dict[str, Json]:
    item = _find(session, arguments.text("identifier"))
    score, reasons = _quality(item)
    return {"identifier": item["id"], "name": item["name"], "score": score, "reasons": reasons}


def _candidates(session: Session, arguments: Arguments) -> dict[str, Json]:
    most = arguments.number("maximumQualityScore", default=100)
    rated = [
        {"identifier": item["id"], "name": item["name"], "start": item["start"], "score": _quality(item)[0]}
        for item in session.data["features"]
        if item["type"] in ("gene", "CDS")
    ]
    kept = [item for item in rated if item["score"] <= most]
    by_place = arguments.text("sortBy", default="quality") == "coordinate"
    kept.sort(key=lambda item: (item["start"],) if by_place else (item["score"], item["start"]))
    skip = arguments.whole("offset", default=0)
    shown = kept[skip : skip + arguments.whole("limit", default=100)]
    return {"candidates": shown, "count": len(shown), "total": len(kept)}


def _research(session: Session, _: Arguments) -> dict[str, Json]:
    """No research is kept in a session: the list is there and empty."""
    return {"records": [], "count": 0, "targets": len(session.data["features"])}


HANDLERS: Final[Mapping[str, Handler]] = {
    "create_annotation": _create,
    "update_annotation": _update,
    "bulk_update_annotations": _bulk_update,
    "delete_annotation": _delete,
    "get_annotation": _get,
    "list_annotations": _list,
    "search_annotations": _search,
    "search_features": _search,
    "find_gene_by_name": _find_gene,
    "search_gene_by_name": _find_gene,
    "get_nearby_features": _nearby,
    "get_annotation_history": _history,
    "get_operons": _operons,
    "assess_annotation_quality": _assess,
    "list_annotation_quality_candidates": _candidates,
    "list_annotation_research_history": _research,
}
"""Tool to handler."""
