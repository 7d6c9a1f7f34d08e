"""Tool documents and response schemas: what an API does, beside what a query says of it.

A tool document describes one tool with all its APIs; a response example file holds answer shapes only. Both
are found by standardised names; a document that lies in no category folder is found by its tool name alone.
"""

from __future__ import annotations

from typing import Final

from replay.benchmarks.stabletoolbench.faults import Faults, json_kind
from replay.benchmarks.stabletoolbench.importing.queries import PARAMETER_LISTS, parameter_faults
from replay.benchmarks.stabletoolbench.naming import standardize, standardize_category
from replay.core.types import Json, Record

__all__ = ["Documents", "ToolDocument", "is_response_examples", "is_tool_document", "read_tool_document"]

_DOCUMENT_MARKS: Final = frozenset({"tool_description", "tool_name", "standardized_name"})


class ToolDocument(Record, frozen=True, kw_only=True):
    """One tool as its document or its response examples describe it."""

    category: str
    """Category folder; empty when the file lies in none."""
    tool: str
    """Raw tool name; the standardised one when the file has no other."""
    description: str = ""
    apis: tuple[Json, ...] = ()
    """API objects of the file: name, description, parameters; or name and schema."""
    source: str = ""
    schemas_only: bool = False
    """True for response example files."""

    def find(self, api_name: str) -> Json:
        """Find an API by its standardised name, or None."""
        wanted = standardize(api_name)
        return next((api for api in self.apis if standardize(api["name"]) == wanted), None)


def is_tool_document(value: Json) -> bool:
    """Recognise a tool document by its API list and one of its own fields."""
    return isinstance(value, dict) and "api_list" in value and bool(_DOCUMENT_MARKS & set(value))


def is_response_examples(value: Json) -> bool:
    """Recognise a response example file: an API list and nothing else."""
    return isinstance(value, dict) and set(value) == {"api_list"}


def read_tool_document(file: str, value: Json, faults: Faults) -> ToolDocument | None:
    """Read either kind of file; what is wrong with it becomes faults.

    The folder of a file is its category when it lies in `tools/` or `response_examples/`.
    """
    folders = file.split("/")[:-1]
    inside = len(folders) > 1 and folders[-2] in {"tools", "response_examples"}
    stem = file.rsplit("/", 1)[-1].removesuffix(".json")
    parent = folders[-1] if folders else stem
    default = parent if stem in {"tools", "response_examples"} else stem
    schemas_only = is_response_examples(value)
    apis = value["api_list"]
    if not isinstance(apis, list):
        faults.add(f"api_list is {json_kind(apis)}", file=file, path="$.api_list", expected="a list of APIs")
        return None
    # A list first: every API is checked, so that all faults come out at once.
    sound = [_is_sound(file, index, api, faults) for index, api in enumerate(apis)]
    if not all(sound):
        return None
    return ToolDocument(
        category=folders[-1] if inside else "",
        tool=_text(value, "tool_name") or default,
        description=_text(value, "tool_description"),
        apis=tuple(apis),
        source=file,
        schemas_only=schemas_only,
    )


class Documents:
    """All documents of an import, by category and standardised tool name."""

    def __init__(self) -> None:
        self._by_tool: dict[tuple[str, str], list[ToolDocument]] = {}
        self.all: list[ToolDocument] = []

    def add(self, document: ToolDocument) -> None:
        """Take one document in."""
        self.all.append(document)
        self._by_tool.setdefault((document.category, standardize(document.tool)), []).append(document)

    def of(self, category: str, tool_name: str) -> tuple[ToolDocument, ...]:
        """Documents of a tool: those of its category first, then those without a category."""
        tool, folder = standardize(tool_name), standardize_category(category)
        return (*self._by_tool.get((folder, tool), ()), *self._by_tool.get(("", tool), ()))


def _is_sound(file: str, index: int, api: Json, faults: Faults) -> bool:
    path = f"$.api_list[{index}]"
    if not isinstance(api, dict) or not isinstance(api.get("name"), str):
        expected = 'an object with a text "name"'
        faults.add("an API without a name", file=file, record=index, path=path, expected=expected)
        return False
    wrong = [
        fault for name in PARAMETER_LISTS for fault in parameter_faults(api.get(name, []), f"{path}.{name}")
    ]
    for what, where, expected in wrong:
        faults.add(what, file=file, record=index, path=where, expected=expected)
    return not wrong


def _text(value: dict[str, Json], name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""
