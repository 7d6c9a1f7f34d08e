"""The genome session: a world whose state is one JSON value, changed only by calls.

Owns the start state, dispatch by tool name and the form of answers. What each tool does is in the modules of
this folder by topic; each gives a table of handlers. A tool that is in no table is not the session's.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from replay.benchmarks.codexomics.naming import tool_key
from replay.benchmarks.codexomics.scoring.arguments import fold_keys
from replay.benchmarks.codexomics.world.biology import Biology, OwnBiology, SequenceFault
from replay.benchmarks.codexomics.world.genome import Genome
from replay.core.types import CallRequest, Json, Provenance, ToolResult

__all__ = ["Arguments", "Handler", "Session", "SessionFaultError", "start_state"]

TRACKS: Final = (
    "genes", "gc_content", "sequence", "variants", "reads", "proteins", "primers", "actions", "wigTracks",
    "blast",
)  # fmt: skip
_SHOWN: Final = ("genes", "gc_content", "sequence")
_MAX_STATE_ITEMS: Final = 10_000
"""Bookmarks, tabs, annotations and the like of one session; more is a runaway candidate."""


class SessionFaultError(Exception):
    """A call that cannot be carried out; its text is the tool's error answer."""


class Arguments:
    """Arguments of one call by folded key, read with their types."""

    def __init__(self, values: Mapping[str, Json]) -> None:
        """Fold the keys."""
        self._values = fold_keys(values)

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    def raw(self, name: str, default: Json = None) -> Json:
        """A value as it is."""
        value = self._values.get(name)
        return default if value is None else value

    def text(self, *names: str, default: str | None = None) -> str:
        """The first of these that is there, as text."""
        for name in names:
            value = self._values.get(name)
            if isinstance(value, str) and value.strip():
                return value.strip()
            if value is not None and not isinstance(value, str):
                raise SessionFaultError(f"{name} must be text")
        if default is None:
            raise SessionFaultError(f"{names[0]} is missing")
        return default

    def number(self, *names: str, default: float | None = None) -> float:
        """The first of these that is there, as a number."""
        for name in names:
            value = self._values.get(name)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return value
            if value is not None:
                raise SessionFaultError(f"{name} must be a number")
        if default is None:
            raise SessionFaultError(f"{names[0]} is missing")
        return default

    def whole(self, *names: str, default: int | None = None) -> int:
        """The first of these that is there, as a whole number."""
        value = self.number(*names, default=default)
        if value != int(value):
            raise SessionFaultError(f"{names[0]} must be a whole number")
        return int(value)

    def flag(self, name: str, *, default: bool) -> bool:
        """A boolean."""
        value = self._values.get(name)
        return value if isinstance(value, bool) else default


Handler = Callable[["Session", Arguments], dict[str, Json]]


class Session:
    """One genome browser session."""

    def __init__(
        self,
        genome: Genome,
        handlers: Mapping[str, Handler],
        *,
        biology: Biology | None = None,
        tools: tuple[str, ...] = (),
    ) -> None:
        """Start a session on a genome; `tools` are the names that listing the tools shows."""
        self.genome = genome
        self.biology: Biology = OwnBiology() if biology is None else biology
        self.tools = tools
        self.data: dict[str, Any] = start_state(genome, self.biology.name)
        self._handlers = handlers

    def handle(self, request: CallRequest) -> ToolResult | None:
        """Run a call; None when the tool is not the session's. A call that fails changes nothing."""
        handler = self._handlers.get(tool_key(request.tool.split("@", 1)[0]))
        if handler is None:
            return None
        before = copy.deepcopy(self.data)
        try:
            values = request.arguments if isinstance(request.arguments, dict) else {}
            answer = {"success": True, **handler(self, Arguments(values))}
        except (SessionFaultError, SequenceFault) as fault:
            self.data = before
            answer = {"success": False, "error": str(fault)}
        return ToolResult(
            content=json.dumps(answer, ensure_ascii=False),
            provenance=Provenance.WORLD,
            is_error=not answer["success"],
            body=answer,
        )

    def state(self) -> Json:
        """Whole state, which later calls do not change."""
        return copy.deepcopy(self.data)

    # ---- what handlers share -----------------------------------------------------------------------

    @property
    def tab(self) -> dict[str, Any]:
        """The active tab."""
        active: dict[str, Any] = next(tab for tab in self.data["tabs"] if tab["id"] == self.data["active"])
        return active

    @property
    def sequence(self) -> str:
        """The chromosome as it is after all edits."""
        text: str = self.data["sequence"]
        return text

    def next_id(self, kind: str) -> str:
        """A new identifier, counted in this session."""
        self.data["counter"] += 1
        return f"{kind}_{self.data['counter']}"

    def add(self, name: str, item: Json) -> None:
        """Add to a list of the session. Raises SessionFaultError when it is full."""
        if len(self.data[name]) >= _MAX_STATE_ITEMS:
            raise SessionFaultError(f"the session holds {_MAX_STATE_ITEMS} {name} already")
        self.data[name].append(item)

    def chromosome(self, arguments: Arguments) -> str:
        """The chromosome a call means; there is one."""
        name = arguments.text("chromosome", default=self.genome.chromosome)
        if name != self.genome.chromosome:
            raise SessionFaultError(f"no chromosome {name!r}; this genome has {self.genome.chromosome}")
        return name

    def region(self, arguments: Arguments, *, default_view: bool = False) -> tuple[int, int]:
        """Start and end of a call, checked against the chromosome."""
        self.chromosome(arguments)
        view = self.tab["view"]
        start = arguments.whole("start", default=view["start"] if default_view else None)
        end = arguments.whole("end", default=view["end"] if default_view else None)
        return self.check_region(start, end)

    def check_region(self, start: int, end: int) -> tuple[int, int]:
        """Refuse a region that is empty or not on the chromosome."""
        if start < 1 or end > len(self.sequence) or start > end:
            raise SessionFaultError(
                f"{start}-{end} is no region of {self.genome.chromosome} (1-{len(self.sequence)})"
            )
        return start, end

    def bases(self, start: int, end: int) -> str:
        """The forward strand of a region."""
        return self.sequence[start - 1 : end]

    def find_gene(self, name: str) -> dict[str, Any]:
        """The gene of a name or locus tag, ignoring case."""
        wanted = name.strip().lower()
        genes = [item for item in self.data["features"] if item["type"] in ("gene", "CDS", "tRNA")]
        for item in genes:
            if wanted in (item["name"].lower(), item["locus_tag"].lower()):
                found: dict[str, Any] = item
                return found
        raise SessionFaultError(f"no gene {name!r}")


def start_state(genome: Genome, biology: str) -> dict[str, Any]:
    """The state of a session before its first call."""
    features = [
        {
            "id": f"f{number}",
            "type": item.type,
            "name": item.name,
            "locus_tag": item.locus_tag,
            "start": item.start,
            "end": item.end,
            "strand": item.strand,
            "product": item.product,
            "operon": item.operon,
            "qualifiers": {},
        }
        for number, item in enumerate(genome.features, start=1)
    ]
    view = {"chromosome": genome.chromosome, "start": 1, "end": min(1000, len(genome.sequence))}
    file = {"path": f"./data/{genome.name}.gbk", "type": "genome", "size": len(genome.sequence)}
    return {
        "genome": {"name": genome.name, "digest": genome.digest, "biology": biology},
        "sequence": genome.sequence,
        "features": features,
        "tabs": [{"id": "tab_0", "title": genome.name, "view": view, "highlights": [], "selection": None}],
        "active": "tab_0",
        "tracks": {name: name in _SHOWN for name in TRACKS},
        "track_settings": {name: {"height": 80} for name in TRACKS},
        "panels": {},
        "ui": {"style": "default", "dark_mode": "light", "directory": "./data/"},
        "bookmarks": [],
        "views": [],
        "history": [],
        "queue": [],
        "clipboard": None,
        "primers": [],
        "tasks": [],
        "databases": [],
        "loaded": [file],
        "files": {},
        "counter": 0,
    }
