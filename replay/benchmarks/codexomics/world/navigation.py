"""Where the session looks: view, selection, highlights, bookmarks, saved views, tabs."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

from replay.benchmarks.codexomics.world.session import Arguments, Handler, Session, SessionFaultError
from replay.core.types import Json

__all__ = ["HANDLERS"]

_AROUND: Final = 1000
"""Bases shown around a single position."""
_MIN_VIEW: Final = 10


def _show(session: Session, start: int, end: int) -> dict[str, Json]:
    """Move the view, kept on the chromosome."""
    last = len(session.sequence)
    start, end = max(1, start), min(last, max(end, start + _MIN_VIEW - 1))
    start = min(start, max(1, end - _MIN_VIEW + 1))
    session.tab["view"] = {"chromosome": session.genome.chromosome, "start": start, "end": end}
    return dict(session.tab["view"])


def _navigate(session: Session, arguments: Arguments) -> dict[str, Json]:
    session.chromosome(arguments)
    if "start" in arguments and "end" in arguments:
        return _show(session, *session.region(arguments))
    position = arguments.whole("position", "start")
    session.check_region(position, position)
    return _show(session, position - _AROUND // 2, position + _AROUND // 2)


def _zoom(session: Session, arguments: Arguments, *, inward: bool) -> dict[str, Json]:
    factor = arguments.number("factor", default=2)
    if factor <= 0:
        raise SessionFaultError("factor must be over 0")
    view = session.tab["view"]
    centre, width = (view["start"] + view["end"]) // 2, view["end"] - view["start"] + 1
    wide = min(width / factor if inward else width * factor, len(session.sequence))
    half = max(_MIN_VIEW, int(wide)) // 2
    return {**_show(session, centre - half, centre + half - 1), "factor": factor}


def _pan(session: Session, arguments: Arguments, direction: int) -> dict[str, Json]:
    amount = arguments.whole("amount", default=500)
    view = session.tab["view"]
    width, last = view["end"] - view["start"], len(session.sequence)
    start = min(max(1, view["start"] + direction * amount), max(1, last - width))
    return _show(session, start, start + width)


def _to_gene(session: Session, arguments: Arguments) -> dict[str, Json]:
    gene = session.find_gene(arguments.text("geneName", "gene"))
    padding = arguments.whole("padding", default=1000)
    return {"gene": gene["name"], **_show(session, gene["start"] - padding, gene["end"] + padding)}


def _select_gene(session: Session, arguments: Arguments) -> dict[str, Json]:
    gene = session.find_gene(arguments.text("geneName", "gene"))
    session.tab["selection"] = {"gene": gene["name"], "start": gene["start"], "end": gene["end"]}
    return {**session.tab["selection"], "strand": gene["strand"]}


def _select_region(session: Session, arguments: Arguments) -> dict[str, Json]:
    start, end = session.region(arguments)
    session.tab["selection"] = {"gene": "", "start": start, "end": end}
    return {"start": start, "end": end, "length": end - start + 1}


def _state(session: Session, _: Arguments) -> dict[str, Json]:
    tab = session.tab
    return {
        "currentChromosome": session.genome.chromosome,
        "view": dict(tab["view"]),
        "selection": copy.deepcopy(tab["selection"]),
        "activeTab": tab["id"],
        "visibleTracks": [name for name, shown in session.data["tracks"].items() if shown],
        "loadedFiles": len(session.data["loaded"]),
    }


def _highlight(session: Session, arguments: Arguments) -> dict[str, Json]:
    session.chromosome(arguments)
    start = arguments.whole("start", "end")
    end = arguments.whole("end", "start")
    session.check_region(start, end)
    item = {
        "id": session.next_id("highlight"),
        "start": start,
        "end": end,
        "label": arguments.text("label", default=""),
        "color": arguments.text("color", default="yellow"),
    }
    session.tab["highlights"].append(item)
    return dict(item)


def _list_highlights(session: Session, _: Arguments) -> dict[str, Json]:
    found = copy.deepcopy(session.tab["highlights"])
    return {"highlights": found, "count": len(found)}


def _remove_highlight(session: Session, arguments: Arguments) -> dict[str, Json]:
    held = session.tab["highlights"]
    if "id" in arguments:
        gone = [item for item in held if item["id"] == arguments.text("id")]
    else:
        place = (arguments.whole("start"), arguments.whole("end"))
        gone = [item for item in held if (item["start"], item["end"]) == place]
    if not gone:
        raise SessionFaultError("no such highlight")
    session.tab["highlights"] = [item for item in held if item not in gone]
    return {"removed": [item["id"] for item in gone]}


def _clear_highlights(session: Session, _: Arguments) -> dict[str, Json]:
    count = len(session.tab["highlights"])
    session.tab["highlights"] = []
    return {"removed": count}


def _bookmark(session: Session, arguments: Arguments) -> dict[str, Json]:
    start, end = session.region(arguments, default_view=True)
    item = {
        "id": session.next_id("bookmark"),
        "name": arguments.text("name"),
        "chromosome": session.genome.chromosome,
        "start": start,
        "end": end,
        "notes": arguments.text("notes", default=""),
    }
    session.add("bookmarks", item)
    return dict(item)


def _bookmarks(session: Session, _: Arguments) -> dict[str, Json]:
    views = [{"id": view["id"], "name": view["name"]} for view in session.data["views"]]
    return {"bookmarks": copy.deepcopy(session.data["bookmarks"]), "viewStates": views}


def _save_view(session: Session, arguments: Arguments) -> dict[str, Json]:
    item = {
        "id": session.next_id("view"),
        "name": arguments.text("name"),
        "view": dict(session.tab["view"]),
        "tracks": dict(session.data["tracks"]),
    }
    session.add("views", item)
    return {"id": item["id"], "name": item["name"]}


def _restore_view(session: Session, arguments: Arguments) -> dict[str, Json]:
    key = "id" if "id" in arguments else "name"
    wanted = arguments.text(key)
    saved = next((item for item in reversed(session.data["views"]) if item[key] == wanted), None)
    if saved is None:
        raise SessionFaultError(f"no saved view {wanted!r}")
    session.tab["view"] = dict(saved["view"])
    if arguments.flag("restoreTrackVisibility", default=True):
        session.data["tracks"] = dict(saved["tracks"])
    return {"id": saved["id"], "name": saved["name"], **saved["view"]}


def _open_tab(session: Session, arguments: Arguments) -> dict[str, Json]:
    tab: dict[str, Any] = {
        "id": session.next_id("tab"),
        "title": arguments.text("title", default="New Analysis"),
        "view": dict(session.tab["view"]),
        "highlights": [],
        "selection": None,
    }
    session.add("tabs", tab)
    session.data["active"] = tab["id"]
    index = len(session.data["tabs"]) - 1
    return {"tab_id": tab["id"], "tab_name": tab["title"], "tab_index": index}


def _find_tab(session: Session, arguments: Arguments) -> dict[str, Any]:
    tabs: list[dict[str, Any]] = session.data["tabs"]
    if "tabId" in arguments:
        found = [tab for tab in tabs if tab["id"] == arguments.text("tabId")]
    elif "tabName" in arguments:
        found = [tab for tab in tabs if tab["title"] == arguments.text("tabName")]
    elif "tabIndex" in arguments:
        index = arguments.whole("tabIndex")
        found = tabs[index : index + 1] if index >= 0 else []
    else:
        return session.tab
    if not found:
        raise SessionFaultError("no such tab")
    return found[0]


def _switch_tab(session: Session, arguments: Arguments) -> dict[str, Json]:
    tab = _find_tab(session, arguments)
    session.data["active"] = tab["id"]
    return {"tab_id": tab["id"], "tab_name": tab["title"], "tab_index": session.data["tabs"].index(tab)}


def _close_tab(session: Session, arguments: Arguments) -> dict[str, Json]:
    tab = _find_tab(session, arguments)
    tabs = session.data["tabs"]
    if len(tabs) == 1:
        raise SessionFaultError("the last tab stays open")
    place = tabs.index(tab)
    tabs.remove(tab)
    if session.data["active"] == tab["id"]:
        session.data["active"] = tabs[max(0, place - 1)]["id"]
    return {"closed": tab["id"], "activeTab": session.data["active"]}


HANDLERS: Final[Mapping[str, Handler]] = {
    "navigate_to_position": _navigate,
    "zoom_in": lambda session, arguments: _zoom(session, arguments, inward=True),
    "zoom_out": lambda session, arguments: _zoom(session, arguments, inward=False),
    "pan_left": lambda session, arguments: _pan(session, arguments, -1),
    "pan_right": lambda session, arguments: _pan(session, arguments, 1),
    "jump_to_gene": _to_gene,
    "zoom_to_gene": _to_gene,
    "select_gene": _select_gene,
    "select_sequence_region": _select_region,
    "get_current_state": _state,
    "highlight_region": _highlight,
    "list_highlights": _list_highlights,
    "remove_highlight": _remove_highlight,
    "clear_highlights": _clear_highlights,
    "bookmark_position": _bookmark,
    "get_bookmarks": _bookmarks,
    "save_view_state": _save_view,
    "restore_view_state": _restore_view,
    "open_new_tab": _open_tab,
    "switch_to_tab": _switch_tab,
    "close_tab": _close_tab,
}
"""Tool to handler."""
