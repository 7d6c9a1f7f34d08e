"""What the session shows and keeps beside the genome: tracks, panels, settings, checklist, loaded files."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Final

from replay.benchmarks.codexomics.scoring.values import track_matches, visibility_of
from replay.benchmarks.codexomics.world.session import Arguments, Handler, Session, SessionFaultError
from replay.core.types import Json

__all__ = ["FILES", "HANDLERS"]

FILES: Final[Mapping[str, tuple[str, int]]] = {
    "demo-genome-1.gbk": ("genome", 1),
    "demo-features.bed": ("annotation", 6),
    "demo-reads.bam": ("reads", 240),
    "demo-variants.vcf": ("variant", 12),
    "demo-signal.wig": ("wig", 40),
    "demo-signal-2.wig": ("wig", 40),
    "demo-operons.tsv": ("operon", 2),
}
"""Files of the session's folder: kind and number of records. There are no others."""
_STATUSES: Final = ("pending", "in_progress", "completed", "failed")
_SETTINGS: Final[Mapping[str, Json]] = {
    "height": {"type": "number", "minimum": 20, "maximum": 600},
    "lineWidth": {"type": "number", "minimum": 1, "maximum": 20},
    "arrowSize": {"type": "number", "minimum": 1, "maximum": 50},
    "showStartMarkers": {"type": "boolean"},
    "color": {"type": "string"},
}


def _track(session: Session, name: str) -> str:
    found = [track for track in session.data["tracks"] if track_matches(track, name)]
    if not found:
        raise SessionFaultError(f"no track {name!r}; one of {', '.join(session.data['tracks'])}")
    return str(found[0])


def _track_status(session: Session, _: Arguments) -> dict[str, Json]:
    return {"tracks": dict(session.data["tracks"])}


def _toggle_track(session: Session, arguments: Arguments) -> dict[str, Json]:
    track = _track(session, arguments.text("trackName"))
    wanted = visibility_of(arguments.raw("visible", arguments.raw("action", "toggle")))
    before = session.data["tracks"][track]
    session.data["tracks"][track] = (not before) if wanted is None else wanted
    return {"track_name": track, "visible": session.data["tracks"][track], "before": before}


def _settings_of(session: Session, name: str, values: Json) -> str:
    if not isinstance(values, dict):
        raise SessionFaultError("settings must be an object")
    track = _track(session, name)
    session.data["track_settings"][track] |= copy.deepcopy(values)
    return track


def _set_settings(session: Session, arguments: Arguments) -> dict[str, Json]:
    track = _settings_of(session, arguments.text("trackType"), arguments.raw("settings"))
    return {"track_type": track, "settings": dict(session.data["track_settings"][track])}


def _batch_settings(session: Session, arguments: Arguments) -> dict[str, Json]:
    given = arguments.raw("settingsMap")
    if not isinstance(given, dict) or not given:
        raise SessionFaultError("settings_map must be an object of settings by track")
    return {"updated": [_settings_of(session, name, values) for name, values in given.items()]}


def _all_settings(session: Session, _: Arguments) -> dict[str, Json]:
    return {"settings": copy.deepcopy(session.data["track_settings"])}


def _settings_schema(session: Session, _: Arguments) -> dict[str, Json]:
    return {"tracks": list(session.data["tracks"]), "properties": copy.deepcopy(dict(_SETTINGS))}


def _panel(name: str, argument: str = "") -> Handler:
    """A panel that is shown or not; the words differ from panel to panel, a blind toggle turns it."""

    def handle(session: Session, arguments: Arguments) -> dict[str, Json]:
        panel = f"{name}:{arguments.text(argument)}" if argument else name
        word = arguments.text("action", default="toggle")
        before = session.data["panels"].get(panel, False)
        shown = {"show": True, "open": True, "expand": True, "restore": True}.get(word)
        hidden = {"hide": False, "close": False, "collapse": False, "minimize": False}.get(word)
        after = shown if shown is not None else hidden if hidden is not None else not before
        session.data["panels"][panel] = after
        return {"panel": panel, "visible": after}

    return handle


def _opened(name: str) -> Handler:
    def handle(session: Session, _: Arguments) -> dict[str, Json]:
        session.data["panels"][name] = True
        return {"panel": name, "visible": True}

    return handle


def _chat_layout(session: Session, arguments: Arguments) -> dict[str, Json]:
    before = session.data["ui"].get("chat_layout", "docked")
    mode = arguments.text("mode", default="toggle")
    turned = {"docked": "floating", "floating": "docked"}[before]
    session.data["ui"]["chat_layout"] = turned if mode == "toggle" else mode
    return {"mode": session.data["ui"]["chat_layout"]}


def _style(session: Session, arguments: Arguments) -> dict[str, Json]:
    interface = session.data["ui"]
    interface["style"] = arguments.text("styleName", default=interface["style"])
    mode = arguments.text("darkMode", default=interface["dark_mode"])
    turned = {"dark": "light", "light": "dark"}[interface["dark_mode"]]
    interface["dark_mode"] = turned if mode == "toggle" else mode
    return {"style_name": interface["style"], "dark_mode": interface["dark_mode"]}


def _directory(session: Session, arguments: Arguments) -> dict[str, Json]:
    home = arguments.flag("useHomeDirectory", default=False)
    session.data["ui"]["directory"] = "~" if home else arguments.text("directoryPath")
    return {"directory_path": session.data["ui"]["directory"]}


def _list_tools(session: Session, _: Arguments) -> dict[str, Json]:
    return {"tools": list(session.tools), "count": len(session.tools)}


def _benchmark_status(session: Session, _: Arguments) -> dict[str, Json]:
    return {"isOpen": session.data["panels"].get("benchmark", False), "isRunning": False}


def _loader(kind: str, *names: str) -> Handler:
    def handle(session: Session, arguments: Arguments) -> dict[str, Json]:
        given = next((arguments.raw(name) for name in names if name in arguments), None)
        paths = given if isinstance(given, list) else [given]
        loaded = []
        for path in paths:
            known = FILES.get(path.replace("\\", "/").rsplit("/", 1)[-1]) if isinstance(path, str) else None
            if known is None or known[0] != kind:
                raise SessionFaultError(f"no {kind} file {path!r} in the session's folder")
            session.add("loaded", {"path": path, "type": kind, "size": known[1]})
            loaded.append({"filePath": path, "type": kind, "records": known[1]})
        return {"loaded": loaded}

    return handle


def _loaded(session: Session, _: Arguments) -> dict[str, Json]:
    return {"files": copy.deepcopy(session.data["loaded"]), "count": len(session.data["loaded"])}


def _task(session: Session, arguments: Arguments) -> dict[str, Json]:
    wanted = arguments.text("id")
    found = [item for item in session.data["tasks"] if item["id"] == wanted]
    if not found:
        raise SessionFaultError(f"no task {wanted!r}")
    item: dict[str, Json] = found[0]
    return item


def _fill_task(item: dict[str, Json], arguments: Arguments) -> dict[str, Json]:
    item["title"] = arguments.text("title", default=item["title"])
    item["status"] = arguments.text("status", default=item["status"])
    if item["status"] not in _STATUSES:
        raise SessionFaultError(f"status must be one of {', '.join(_STATUSES)}")
    item["progress"] = arguments.number("progress", default=item["progress"])
    return item


def _add_task(session: Session, arguments: Arguments) -> dict[str, Json]:
    item: dict[str, Json] = {"id": session.next_id("task"), "title": arguments.text("title")}
    item |= {"status": "pending", "progress": 0, "parentId": arguments.text("parentId", default="")}
    session.add("tasks", _fill_task(item, arguments))
    return dict(item)


def _list_tasks(session: Session, arguments: Arguments) -> dict[str, Json]:
    status = arguments.text("status", default="all")
    found = [dict(item) for item in session.data["tasks"] if status in ("all", item["status"])]
    return {"tasks": found, "count": len(found)}


def _update_task(session: Session, arguments: Arguments) -> dict[str, Json]:
    return dict(_fill_task(_task(session, arguments), arguments))


def _delete_task(session: Session, arguments: Arguments) -> dict[str, Json]:
    item = _task(session, arguments)
    session.data["tasks"].remove(item)
    return {"deleted": item["id"]}


def _clear_tasks(session: Session, arguments: Arguments) -> dict[str, Json]:
    if not arguments.flag("confirm", default=True):
        raise SessionFaultError("confirm must be true")
    count = len(session.data["tasks"])
    session.data["tasks"] = []
    return {"removed": count}


HANDLERS: Final[Mapping[str, Handler]] = {
    "get_track_status": _track_status,
    "toggle_track": _toggle_track,
    "set_track_settings": _set_settings,
    "batch_set_track_settings": _batch_settings,
    "get_all_track_settings": _all_settings,
    "get_track_settings_schema": _settings_schema,
    "toggle_chatbox": _panel("chatbox"),
    "toggle_sidebar": _panel("sidebar"),
    "toggle_top_banner": _panel("top_banner"),
    "set_chatbox_minimized": _panel("chatbox"),
    "toggle_sidebar_panel": _panel("sidebar", "panelName"),
    "toggle_settings_modal": _panel("settings", "modalName"),
    "open_benchmark": _opened("benchmark"),
    "show_action_list": _opened("action_list"),
    "configure_export_settings": _opened("export_settings"),
    "get_benchmark_status": _benchmark_status,
    "set_chatbox_layout": _chat_layout,
    "switch_ui_style": _style,
    "set_working_directory": _directory,
    "list_available_tools": _list_tools,
    "load_genome_file": _loader("genome", "filePath"),
    "load_annotation_file": _loader("annotation", "filePath"),
    "load_reads_file": _loader("reads", "filePath"),
    "load_variant_file": _loader("variant", "filePath"),
    "load_operon_file": _loader("operon", "filePath"),
    "load_wig_tracks": _loader("wig", "filePaths", "filePath"),
    "get_loaded_files_list": _loaded,
    "add_task": _add_task,
    "list_tasks": _list_tasks,
    "update_task": _update_task,
    "delete_task": _delete_task,
    "clear_tasks": _clear_tasks,
}
"""Tool to handler."""
