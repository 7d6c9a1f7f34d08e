"""What every file of an upstream folder is, read into typed records.

A file's form is told by its content, a cache file's by its path. What has no form this importer knows is left
out by name; what has a form but is broken is a fault.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

from replay.benchmarks.stabletoolbench.faults import Faults
from replay.benchmarks.stabletoolbench.importing import answers_in, documents, queries, results
from replay.benchmarks.stabletoolbench.importing.cache import cache_identity
from replay.benchmarks.stabletoolbench.importing.source_tree import SourceTree
from replay.benchmarks.stabletoolbench.importing.tables import read_table, table_kind
from replay.benchmarks.stabletoolbench.importing.tasks import IdFile
from replay.core.errors import InputError
from replay.core.types import Json

__all__ = ["CACHE_FOLDERS", "Intake"]

CACHE_FOLDERS: Final = frozenset({"tool_response_cache", "tool_response_new_cache"})
_EXPECTED: Final = (
    "a StableToolBench checkout or its data (solvable_queries/test_instruction/*.json, data_example/), a"
    " ToolBench data folder (instruction/*.json, answer/, toolenv/), an unpacked tool_response_cache"
    " (<category>/<tool>_for_<category>/<api>.json) or tool documents (tools/<category>/<tool>.json)"
)
_UNKNOWN_FORM: Final = "no form this importer knows"


class Intake:
    """All records of one folder, by kind, in order of their files."""

    def __init__(self, root: Path, faults: Faults) -> None:
        """Read the folder. Raises InputError when it holds nothing of either benchmark."""
        self.tree = SourceTree(root)
        self.faults = faults
        self.documents = documents.Documents()
        self.queries: list[tuple[str, tuple[queries.QueryRecord, ...]]] = []
        self.ids: list[IdFile] = []
        self.answers: list[answers_in.AnswerRecord] = []
        self.pass_rates: list[results.PassRateRecord] = []
        self.preferences: list[results.PreferenceRecord] = []
        self.preference_labels: list[tuple[str, dict[str, str]]] = []
        self.fac_rows: list[results.FacRow] = []
        self.cache_files: list[str] = []
        self.kinds: Counter[str] = Counter()
        self._kind_of: dict[str, str] = {}
        for file in self.tree.files:
            self._take(file)
        if not self.kinds:
            faults.raise_if_any()
            raise InputError(
                "nothing of StableToolBench or ToolBench in this folder",
                where=root.name,
                expected=_EXPECTED,
                next_step="point at the folder that holds them",
            )

    def kind_of(self, file: str) -> str:
        """What a file was read as."""
        return self._kind_of.get(file, "")

    def ids_of(self, query_file: str) -> IdFile | None:
        """The id file that goes with a query file: same name, in the folder beside."""
        folder, split = _pair_names(query_file)
        return next((ids for ids in self.ids if (ids.folder, ids.split) == (folder, split)), None)

    def _take(self, file: str) -> None:
        if file in self.tree.licence_files:
            self._note(file, "licence", 0)
            return
        if file.endswith(".json"):
            if cache_identity(file) is not None:
                self.cache_files.append(file)
                self._note(file, "cache", None)
            elif set(file.split("/")[:-1]) & CACHE_FOLDERS:
                expected = "<category>/<tool>_for_<category>/<api>.json"
                self.faults.add("a file out of place in a cache", file=file, expected=expected)
            else:
                self._take_json(file)
        elif file.endswith((".csv", ".tsv")):
            self._take_table(file)
        else:
            self.tree.skipped[file] = "packed; unpack it first" if file.endswith(".zip") else _UNKNOWN_FORM

    def _note(self, file: str, kind: str, records: int | None) -> None:
        self._kind_of[file] = kind
        if kind != "licence":
            self.kinds[kind] += 1
        if records is not None and kind != "licence":
            self.tree.count(file, records)

    def _take_json(self, file: str) -> None:
        value = self.tree.read_json(file, self.faults)
        if value is None:
            return
        kind, records = self._read(file, value)
        if kind:
            self._note(file, kind, records)
        else:
            self.tree.skipped[file] = _UNKNOWN_FORM

    def _read(self, file: str, value: Json) -> tuple[str, int]:
        """Read one JSON file as what it is; returns its kind (empty: unknown) and number of records."""
        if queries.is_query_file(value):
            self.queries.append((file, queries.read_queries(file, _stem(file), value, self.faults)))
            return "queries", len(value)
        if queries.is_id_file(value):
            folder, split = _pair_names(file)
            self.ids.append(IdFile(folder=folder, split=split, ids=queries.read_ids(value), file=file))
            return "ids", len(value)
        if documents.is_tool_document(value) or documents.is_response_examples(value):
            document = documents.read_tool_document(file, value, self.faults)
            if document is not None:
                self.documents.add(document)
            return ("response-examples" if documents.is_response_examples(value) else "tool-document"), 1
        return self._read_outputs(file, value)

    def _read_outputs(self, file: str, value: Json) -> tuple[str, int]:
        if answers_in.is_raw_answer(value):
            answer = answers_in.read_raw_answer(file, value, self.faults)
            self.answers.extend(() if answer is None else (answer,))
            return "raw", 1
        if answers_in.is_converted_file(value):
            self.answers.extend(answers_in.read_converted(file, value, self.faults))
            return "converted", len(value)
        if results.is_pass_rate_file(value):
            self.pass_rates.extend(results.read_pass_rate(file, value, self.faults))
            return "pass-rate", len(value)
        if results.is_preference_file(value):
            self.preferences.extend(results.read_preference(file, value, self.faults))
            return "preference", len(value)
        return "", 0

    def _take_table(self, file: str) -> None:
        text = self.tree.read_text(file, self.faults)
        if text is None:
            return
        kind = table_kind(text)
        if kind is None:
            self.tree.skipped[file] = _UNKNOWN_FORM if text.strip() else "empty file"
            return
        rows = read_table(file, text, self.faults)
        if kind == "pass-rate":
            self.pass_rates.extend(results.read_pass_rate_rows(file, rows, self.faults))
        elif kind == "preference":
            labels = results.read_preference_labels(file, rows, self.faults)
            self.preference_labels.append((file, labels))
        else:
            self.fac_rows.extend(results.read_fac_rows(file, rows))
        self._note(file, f"{kind}-table", len(rows))


def _stem(file: str) -> str:
    return file.rsplit("/", 1)[-1].removesuffix(".json")


def _pair_names(file: str) -> tuple[str, str]:
    """What an id file and its query file share: the folder two levels up, and the name."""
    return "/".join(file.split("/")[:-2]), _stem(file)
