"""A judge whose verdicts are written by hand, one file a rubric: for suites whose answers are invented."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from replay.core.canonical import parse_json
from replay.core.types import Json, JudgeRequest, JudgeVerdict, Provenance, Snapshot
from replay.store.answers import make_verdict_snapshot

__all__ = ["JUDGE", "HandJudge", "load_verdicts"]

JUDGE: Final[Json] = {"name": "panel", "kind": "written by hand", "runs": 3}


def load_verdicts(folder: Path) -> dict[str, Json]:
    """Read RUBRIC.json files: {"verdicts": {candidate: {task: VERDICT or a list}}, "reference": name}."""
    return {path.stem: parse_json(path.read_bytes()) for path in sorted(folder.glob("*.json"))}


class HandJudge:
    """Answers as the judge files say: by candidate and task, whatever the evidence, which is then hashed."""

    identity: Json = JUDGE

    def __init__(self, files: dict[str, Json], candidate: str, task: str) -> None:
        """Judge one candidate's answer to one task and keep every verdict as a snapshot."""
        self._files, self._candidate, self._task = files, candidate, task
        self.snapshots: list[Snapshot] = []
        self.reference_answers: Json = None

    def decide(self, request: JudgeRequest) -> JudgeVerdict | None:
        """Look the verdict up; None where nobody wrote one."""
        found = self._find(request)
        if found is None:
            return None
        verdict = JudgeVerdict(
            label=found["label"],
            reason=found.get("reason", ""),
            raw=found.get("reply", ""),
            provenance=Provenance.SCRIPTED,
            judge=JUDGE["name"],
        )
        self.snapshots.append(make_verdict_snapshot(JUDGE, request, verdict))
        return verdict

    def _find(self, request: JudgeRequest) -> Json:
        rubric = self._files.get(request.rubric)
        if rubric is None:
            return None
        candidate = self._candidate
        if request.rubric == "sopr" and self._is_reference(request.evidence["answer"]):
            candidate = self._files["sowr"]["reference"]
        written = rubric["verdicts"].get(candidate, {}).get(self._task)
        return written[request.run] if isinstance(written, list) else written

    def _is_reference(self, answer: Json) -> bool:
        """A comparison asks for the status of the reference's answer too."""
        shown = self.reference_answers
        return shown is not None and answer["answer_details"] == shown["answer_details"]
