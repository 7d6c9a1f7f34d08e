"""Files of another harness -> what each says of one task: an answer, statuses, points or a judge's reply.

Recognises upstream's forms by content and reads them with the importer's own readers. Which task an id or a
query means, and how parts of one answer join, is decided in `outputs`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from replay.benchmarks.stabletoolbench.faults import Faults
from replay.benchmarks.stabletoolbench.importing.answers_in import (
    AnswerRecord,
    is_converted_file,
    is_raw_answer,
    read_converted,
    read_raw_answer,
)
from replay.benchmarks.stabletoolbench.importing.results import (
    PassRateRecord,
    is_pass_rate_file,
    is_preference_file,
    read_fac_rows,
    read_pass_rate,
    read_pass_rate_rows,
    read_preference,
    read_preference_labels,
)
from replay.benchmarks.stabletoolbench.importing.source_tree import SourceTree
from replay.benchmarks.stabletoolbench.importing.tables import read_table, table_kind
from replay.core.types import Json, Record

__all__ = ["KNOWN_FORMS", "SUFFIXES", "Part", "PartReader"]

KNOWN_FORMS: Final = (
    "raw or converted answers, pass-rate, preference or completeness results of StableToolBench"
)
SUFFIXES: Final = (".json", ".csv", ".tsv")

_LABEL_POINTS: Final = {"reference": (1, 0), "candidate": (0, 1), "tie": (1, 1)}
"""A preference table has the winner only; one point stands for it."""


class Part(Record, frozen=True, kw_only=True):
    """What one file says of one task."""

    candidate: str
    group: str
    id: str
    """Upstream id; empty when only the query tells the task."""
    query: str = ""
    form: str
    """raw, converted, pass-rate, preference or fac."""
    method: str = ""
    """Method of a raw answer."""
    data: Json
    is_table: bool = False
    """Tables repeat a JSON file beside them."""
    place: str
    """Record of the file, for messages."""


class PartReader:
    """Reads one tree of files; what is wrong goes to `faults`."""

    def __init__(self, tree: SourceTree, groups: Collection[str], faults: Faults) -> None:
        """Read from `tree`; `groups` are the names that result files start with."""
        self._tree = tree
        self._groups = groups
        self._faults = faults

    def read(self, relative: str, label: str) -> Iterator[Part]:
        """Read one file; `label` is its path with the names that tell candidate and group."""
        if not relative.endswith(".json"):
            text = self._tree.read_text(relative, self._faults)
            if text is not None:
                yield from self._read_table(label, text)
            return
        value = self._tree.read_json(relative, self._faults)
        if value is None:
            return
        if is_raw_answer(value):
            answer = read_raw_answer(label, value, self._faults)
            if answer is not None:
                yield _of_answer(answer)
        elif is_converted_file(value):
            yield from map(_of_answer, read_converted(label, value, self._faults))
        elif is_pass_rate_file(value):
            yield from self._of_statuses(label, read_pass_rate(label, value, self._faults), is_table=False)
        elif is_preference_file(value):
            yield from self._of_points(label, value)
        else:
            self._faults.add("neither answers nor results", file=relative, expected=KNOWN_FORMS)

    def _read_table(self, label: str, text: str) -> Iterator[Part]:
        kind = table_kind(text)
        if kind is None:
            self._faults.add("a table of another kind", file=label, expected=KNOWN_FORMS)
            return
        rows = read_table(label, text, self._faults)
        if kind == "pass-rate":
            records = read_pass_rate_rows(label, rows, self._faults)
            yield from self._of_statuses(label, records, is_table=True)
        elif kind == "preference":
            yield from self._of_labels(label, rows)
        else:
            group, candidate = self._names(label)
            for row in read_fac_rows(label, rows):
                yield Part(
                    candidate=candidate,
                    group=group,
                    id="",
                    query=row.query,
                    form="fac",
                    data={"reply": row.evaluation, "final_answer": row.final_answer},
                    is_table=True,
                    place=str(row.number),
                )

    def _of_statuses(
        self, label: str, records: Iterable[PassRateRecord], *, is_table: bool
    ) -> Iterator[Part]:
        group, candidate = self._names(label)
        for record in records:
            yield Part(
                candidate=candidate if group or not is_table else record.data.get("model") or candidate,
                group=group,
                id=record.id,
                query=record.query,
                form="pass-rate",
                data={str(run): status for run, status in record.statuses.items()},
                is_table=is_table,
                place=record.id,
            )

    def _of_points(self, label: str, value: Json) -> Iterator[Part]:
        group, _ = self._names(label)
        for record in read_preference(label, value, self._faults):
            points = {"reference": record.reference_points, "candidate": record.candidate_points}
            yield Part(
                candidate=record.candidate,
                group=group,
                id=record.id,
                form="preference",
                data={record.reference: {**points, "rounds": record.rounds}},
                place=record.id,
            )

    def _of_labels(self, label: str, rows: list[dict[str, str]]) -> Iterator[Part]:
        group, _ = self._names(label)
        models = {row["query_id"]: (row["ref_model"], row["output_model"]) for row in rows}
        for task_id, side in read_preference_labels(label, rows, self._faults).items():
            reference, candidate = models[task_id]
            points = dict(zip(("reference", "candidate"), _LABEL_POINTS[side], strict=True))
            yield Part(
                candidate=candidate,
                group=group,
                id=task_id,
                form="preference",
                data={reference: points},
                is_table=True,
                place=task_id,
            )

    def _names(self, label: str) -> tuple[str, str]:
        """Group and candidate of a result file `<candidate>/<group>_<candidate>`, else its folder's name."""
        parts = label.split("/")
        stem = parts[-1].rsplit(".", 1)[0]
        parent = parts[-2] if len(parts) > 1 else stem
        named = [group for group in self._groups if stem == group or stem.startswith(f"{group}_")]
        group = max(named, key=len, default="")
        return group, (stem[len(group) + 1 :] or parent) if group else parent


def _of_answer(answer: AnswerRecord) -> Part:
    return Part(
        candidate=answer.candidate,
        group=answer.group,
        id=answer.id,
        query=answer.query,
        form=answer.form,
        method=answer.method if answer.form == "raw" else "",
        data=answer.data,
        place=answer.id,
    )
