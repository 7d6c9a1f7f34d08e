"""Answers and result files of an import, joined with their tasks: outputs and verdicts.

A verdict is filed under the answer it is about, for its key is made of that answer. A result without its
converted answer stays an output, and is counted. Preference files hold totals only: where one side took every
round each winner is known; otherwise the reference's points are filed first and the verdict says that the
order of rounds is not known. Totals, which is all that scores read, are upstream's either way.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

import msgspec

from replay.benchmarks.stabletoolbench.evidence import fac_request, sopr_request, sowr_request
from replay.benchmarks.stabletoolbench.faults import Faults
from replay.benchmarks.stabletoolbench.importing.answer_tasks import (
    FROM_ANSWER,
    entries_by_function,
    query_of_answer,
)
from replay.benchmarks.stabletoolbench.importing.answers_in import CONVERTED, RAW, AnswerRecord
from replay.benchmarks.stabletoolbench.importing.intake import Intake
from replay.benchmarks.stabletoolbench.importing.results import FacRow, PassRateRecord, PreferenceRecord
from replay.benchmarks.stabletoolbench.importing.tasks import PlannedTask, TaskBook, is_toolbench_file
from replay.benchmarks.stabletoolbench.scoring.fac import stated_label
from replay.core.keys import verdict_key
from replay.core.protocols import ImportedVerdict
from replay.core.types import Json, JudgeRequest, JudgeVerdict, Key, Output, Provenance

__all__ = ["FORMS", "UPSTREAM_JUDGE", "OutputJoiner"]

FORMS: Final = ("raw", "converted", "pass-rate", "preference", "fac")
UPSTREAM_JUDGE: Final[dict[str, Json]] = {"name": "upstream", "source": "result files"}
"""Which model judged is not in the files; one identity stands for all of them."""
_OLDER_SET: Final = "tooleval/results/"
"""Converted answers to ToolBench's first evaluation set lie here; few of its queries are solvable ones."""
_ROUNDS_UNKNOWN: Final = "the file holds totals only; which round this was is not known"


class OutputJoiner:
    """Joins what was read with the tasks of an import."""

    def __init__(self, intake: Intake, book: TaskBook) -> None:
        """Start with nothing joined."""
        self._intake = intake
        self._faults: Faults = intake.faults
        self._book = book
        self._outputs: dict[tuple[str, str, str], Output] = {}
        self._verdicts: dict[Key, ImportedVerdict] = {}
        self._methods = _methods(intake.answers)
        self._listed = entries_by_function(e for task in book.planned for e in task.query.entries)
        self._has_query_set = any(not is_toolbench_file(file) for file, _ in intake.queries)
        self.counts: Counter[str] = Counter()
        self.conflicts: list[Json] = []
        self.other_query: list[str] = []
        """Answers whose query text is not that of their task."""
        self.raw: list[tuple[AnswerRecord, PlannedTask]] = []

    @property
    def outputs(self) -> tuple[Output, ...]:
        """Every output, in order of candidate, task and form."""
        return tuple(self._outputs[key] for key in sorted(self._outputs))

    @property
    def verdicts(self) -> tuple[ImportedVerdict, ...]:
        """Every verdict, in order of key."""
        return tuple(self._verdicts[key] for key in sorted(self._verdicts))

    def join(self) -> None:
        """Join everything; what belongs to no task is a fault, except the older evaluation set."""
        for answer in self._intake.answers:
            self._add_answer(answer)
        # A table repeats the JSON file beside it, so the exact form comes first.
        for record in sorted(self._intake.pass_rates, key=lambda found: not found.file.endswith(".json")):
            self._add_pass_rate(record)
        for pair in self._intake.preferences:
            self._add_preference(pair)
        for file, labels in self._intake.preference_labels:
            self._check_labels(file, labels)
        for row in self._intake.fac_rows:
            self._add_fac(row)

    # ---- answers ---------------------------------------------------------------------------------------

    def _add_answer(self, answer: AnswerRecord) -> None:
        task = self._book.find(answer.group, answer.id, answer.query)
        if task is None and self._stands_alone(answer):
            query = query_of_answer(answer, self._listed)
            task_id = f"{answer.group}-{answer.id}"
            task = self._book.add(query, task_id=task_id, flags=(FROM_ANSWER,))
        if task is None:
            self._unknown_id(answer.file, answer.id, answer.group, optional=_OLDER_SET in f"/{answer.file}")
            return
        if answer.query != task.query.query:
            self.other_query.append(f"{answer.file}, record {answer.id}")
        candidate = answer.candidate
        if answer.form == RAW and len(self._methods[candidate, answer.group]) > 1:
            candidate = f"{candidate}.{answer.method}"
        if (
            self._put(candidate, task, answer.form, data=answer.data, source=answer.file)
            and answer.form == RAW
        ):
            self.raw.append((answer, task))

    def _stands_alone(self, answer: AnswerRecord) -> bool:
        """Whether an answer may bring its own query: only where no benchmark's own query set is at hand."""
        return answer.form == RAW and not self._has_query_set

    def _put(self, candidate: str, task: PlannedTask, form: str, *, data: Json, source: str) -> bool:
        key = (candidate, task.id, form)
        known = self._outputs.get(key)
        if known is None:
            self._outputs[key] = Output(
                candidate=candidate, task=task.id, format=form, data=data, source=source
            )
            self.counts[form] += 1
        elif known.data != data:
            what = f"a second {form} output of {candidate!r} for task {task.id}, other than {known.source}"
            self._faults.add(what, file=source, record=task.id, expected="one output for each task")
        return known is None

    def _unknown_id(self, file: str, task_id: str, group: str, *, optional: bool = False) -> None:
        if optional:
            place = f"{file}, record {task_id}"
            self._intake.tree.skipped[place] = (
                "its query is not among the imported ones (older evaluation set)"
            )
            return
        size = self._book.splits[group]
        known = f"{size} ids of {group}" if size else f"groups {', '.join(sorted(self._book.splits))}"
        what = f"an answer for unknown id {task_id}"
        self._faults.add(what, file=file, record=task_id, expected=f"one of the {known}")

    # ---- results ---------------------------------------------------------------------------------------

    def _names_of(self, file: str) -> tuple[str, str]:
        """Group and candidate of a result file `<candidate>/<group>_<candidate>`."""
        parts = file.split("/")
        stem = parts[-1].rsplit(".", 1)[0]
        parent = parts[-2] if len(parts) > 1 else stem
        groups = (name for name in self._book.splits if stem == name or stem.startswith(f"{name}_"))
        group = max(groups, key=len, default="")
        return group, (stem[len(group) + 1 :] or parent) if group else parent

    def _add_pass_rate(self, record: PassRateRecord) -> None:
        group, candidate = self._names_of(record.file)
        task = self._book.find(group, record.id, record.query)
        if task is None:
            self._unknown_id(record.file, record.id, group)
            return
        statuses = {str(run): label for run, label in record.statuses.items()}
        known = self._outputs.get((candidate, task.id, "pass-rate"))
        if known is not None:
            if {run: known.data[run] for run in known.data if run != "record"} != statuses:
                what = f"statuses other than in {known.source}"
                self._faults.add(what, file=record.file, record=record.id, expected="equal statuses")
            return
        # The scorers read the runs; the record beside them is kept because nothing else has it whole.
        self._put(candidate, task, "pass-rate", data={**statuses, "record": record.data}, source=record.file)
        answer = self._converted(candidate, task)
        if answer is None:
            self.counts["pass-rate-without-answer"] += 1
            return
        for run, label in record.statuses.items():
            request = sopr_request(task.query.query, answer, run)
            verdict = JudgeVerdict(label=label, provenance=Provenance.IMPORTED, judge="upstream")
            self._file(request, verdict, f"{record.file}, record {record.id}, run {run}")

    def _add_preference(self, pair: PreferenceRecord) -> None:
        group, _ = self._names_of(pair.file)
        task = self._book.find(group, pair.id, "")
        if task is None:
            self._unknown_id(pair.file, pair.id, group)
            return
        self._put_points(pair, task)
        if not pair.adds_up:
            self.counts["preference-points-do-not-add-up"] += 1
            return
        reference, candidate = (self._converted(name, task) for name in (pair.reference, pair.candidate))
        if reference is None or candidate is None:
            self.counts["preference-without-answers"] += 1
            return
        for number, (label, reason) in enumerate(_rounds(pair)):
            request = sowr_request(task.query.query, reference, candidate, number)
            verdict = JudgeVerdict(
                label=label, reason=reason, provenance=Provenance.IMPORTED, judge="upstream"
            )
            self._file(request, verdict, f"{pair.file}, record {pair.id}, round {number}")

    def _put_points(self, pair: PreferenceRecord, task: PlannedTask) -> None:
        """Note the points of a pair; a candidate compared with several references has them side by side."""
        points = {"reference": pair.reference_points, "candidate": pair.candidate_points}
        data = {pair.reference: {**points, "rounds": pair.rounds}}
        key = (pair.candidate, task.id, "preference")
        known = self._outputs.get(key)
        if known is None or pair.reference in known.data:
            self._put(pair.candidate, task, "preference", data=data, source=pair.file)
        else:
            self._outputs[key] = msgspec.structs.replace(known, data={**known.data, **data})

    def _check_labels(self, file: str, labels: dict[str, str]) -> None:
        """Hold the table of winners against the points; a table alone gives no outputs and is counted."""
        by_id = {pair.id: pair for pair in self._intake.preferences if _stem(pair.file) == _stem(file)}
        for task_id, label in labels.items():
            pair = by_id.get(task_id)
            if pair is None:
                self.counts["preference-label-without-points"] += 1
            elif label != _winner(pair):
                what = f"label {label} against points {pair.reference_points} : {pair.candidate_points}"
                self._faults.add(what, file=file, record=task_id, expected=f"the winner of {pair.file}")

    def _add_fac(self, row: FacRow) -> None:
        group, candidate = self._names_of(row.file)
        tasks = self._book.find_by_query(row.query, group)
        if len(tasks) != 1:
            what = "no task asks this query" if not tasks else f"{len(tasks)} tasks ask this query"
            self._faults.add(what, file=row.file, record=row.number, expected="the query text of one task")
            return
        data = {"reply": row.evaluation, "final_answer": row.final_answer, "prompt": row.prompt}
        self._put(candidate, tasks[0], "fac", data=data, source=row.file)
        verdict = JudgeVerdict(
            label=stated_label(row.evaluation) or "error",
            raw=row.evaluation,
            provenance=Provenance.IMPORTED,
            judge="upstream",
        )
        request = fac_request(tasks[0].query.query, row.final_answer)
        self._file(request, verdict, f"{row.file}, row {row.number}")

    def _converted(self, candidate: str, task: PlannedTask) -> Json:
        output = self._outputs.get((candidate, task.id, CONVERTED))
        return None if output is None else output.data["answer"]

    def _file(self, request: JudgeRequest, verdict: JudgeVerdict, source: str) -> None:
        """File one verdict; a second one about equal evidence is dropped when equal and listed when not."""
        key = verdict_key(UPSTREAM_JUDGE, request)
        known = self._verdicts.get(key)
        if known is None:
            self._verdicts[key] = ImportedVerdict(
                judge=UPSTREAM_JUDGE, request=request, verdict=verdict, source=source
            )
            self.counts[f"verdict-{request.rubric}"] += 1
        elif known.verdict.label != verdict.label:
            kept, lost = (known.source, known.verdict.label), (source, verdict.label)
            self.conflicts.append({"kept": list(kept), "left_out": list(lost)})


def _methods(answers: list[AnswerRecord]) -> dict[tuple[str, str], set[str]]:
    """Methods under each candidate and group; more than one means that the folder holds several runs."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for answer in answers:
        if answer.form == RAW:
            found[answer.candidate, answer.group].add(answer.method)
    return found


def _rounds(pair: PreferenceRecord) -> Iterator[tuple[str, str]]:
    reason = _ROUNDS_UNKNOWN if pair.reference_points and pair.candidate_points else ""
    for label, points in (("reference", pair.reference_points), ("candidate", pair.candidate_points)):
        for _ in range(points):
            yield label, reason


def _winner(pair: PreferenceRecord) -> str:
    if pair.reference_points == pair.candidate_points:
        return "tie"
    return "reference" if pair.reference_points > pair.candidate_points else "candidate"


def _stem(file: str) -> str:
    return file.rsplit("/", 1)[-1].rsplit(".", 1)[0]
