"""What an import produced is keyed, laid out and frozen."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from replay.core.errors import InputError
from replay.core.protocols import ImportedAnswer, ImportedVerdict, ImportResult, SourceFile
from replay.core.types import CallAlias, CallRequest, Json, JudgeRequest, JudgeVerdict, SnapshotKind, Task
from replay.store.archive.freeze import ArchiveContent, freeze
from replay.wiring.documents import staged_document, write_document
from replay.wiring.importing import make_content
from tests.support.libraries import make_output

BENCHMARK = "stabletoolbench"


def make_import(**changes: Json) -> ImportResult:
    """A small import of one task."""
    result = ImportResult(
        benchmark=BENCHMARK,
        version="1",
        tasks=(Task(id="1", split="G1_tool", data={"query": "q"}),),
        report={"tasks": 1},
        sources=(SourceFile(path="q.json", digest="sha256:0", records=1),),
    )
    return replace(result, **changes)


def make_answer(city: str, body: str, *, source: str = "cache.json", alias: str = "") -> ImportedAnswer:
    """A recorded answer about the weather of a city."""
    aliases = (CallAlias(label="python-repr", tool="t", text=alias),) if alias else ()
    request = CallRequest(benchmark=BENCHMARK, tool="W/t/now", arguments={"city": city})
    return ImportedAnswer(request=request, body=body, aliases=aliases, source=source)


def make_verdict(label: str, *, judge: str = "gpt", source: str = "a.json", run: int = 0) -> ImportedVerdict:
    """A verdict of a judge on one question."""
    request = JudgeRequest(benchmark=BENCHMARK, rubric="sopr", rubric_digest="r", evidence={"q": 1}, run=run)
    return ImportedVerdict(
        judge={"name": judge}, request=request, verdict=JudgeVerdict(label=label), source=source
    )


def freeze_import(folder: Path, name: str, result: ImportResult) -> bytes:
    """Freeze an import; returns the archive's bytes."""
    content, _ = make_content(result, name="demo")
    freeze(content, folder / name)
    return (folder / name).read_bytes()


def rows_of_table(content: ArchiveContent, table: str) -> list[str]:
    """Ids of the rows of a table."""
    return sorted(name for name, _ in content.tables[table])


def test_everything_has_its_table() -> None:
    """Tasks, outputs, judges, differences and report are rows; answers and verdicts are snapshots."""
    result = make_import(
        answers=(make_answer("Oslo", "{}"),), verdicts=(make_verdict("Solved"),), outputs=(make_output(),)
    )
    content, report = make_content(result, name="demo")
    assert (["1"], ["cot/1/0/converted"], ["gpt"], ["import"]) == tuple(
        rows_of_table(content, table) for table in ("tasks", "outputs", "judges", "report")
    )
    assert [SnapshotKind.API, SnapshotKind.VERDICT] == [snap.kind for snap in content.snapshots]
    assert {"api": 1, "verdict": 1} == report["snapshots"]
    assert "sopr-missing-run" in rows_of_table(content, "differences")


def test_order_leaves_no_trace(tmp_path: Path) -> None:
    """Any order of tasks, answers, verdicts, outputs and sources freezes to the same bytes."""
    result = make_import(
        tasks=tuple(Task(id=str(n), split="G1_tool", data={"query": "q"}) for n in range(5)),
        answers=tuple(make_answer(city, "{}", source=f"{city}.json") for city in ("Oslo", "Rome", "Bern")),
        verdicts=tuple(make_verdict("Solved", run=run, source=f"{run}.json") for run in range(3)),
        outputs=(make_output(), make_output("dfs")),
        sources=tuple(SourceFile(path=f"{n}.json", digest="sha256:0", records=1) for n in range(3)),
    )
    parts = ("tasks", "answers", "verdicts", "outputs", "sources")
    turned = replace(result, **{name: getattr(result, name)[::-1] for name in parts})
    assert freeze_import(tmp_path, "a.replay", result) == freeze_import(tmp_path, "b.replay", turned)


def test_two_answers_to_one_call_are_reported_with_both() -> None:
    """A collision names both answers; the second stays reachable by its alias only."""
    first = make_answer("Oslo", '{"t": 1}', source="a.json")
    second = make_answer("Oslo", '{"t": 2}', source="b.json", alias="{'x': 1}")
    content, report = make_content(make_import(answers=(first, second)), name="demo")
    (collision,) = report["key_collisions"]
    assert all(source in str(collision) for source in ("a.json", "b.json"))
    assert ['{"t": 1}', '{"t": 2}'] == sorted(snapshot.body for snapshot in content.snapshots)


def test_two_verdicts_on_one_question_keep_the_first_by_source() -> None:
    """A conflict is named with the source that was kept and the one that was not."""
    verdicts = (make_verdict("Solved", source="b.json"), make_verdict("Unsolved", source="a.json"))
    content, report = make_content(make_import(verdicts=verdicts), name="demo")
    (conflict,) = report["verdict_conflicts"]
    assert ("a.json", "b.json") == (conflict["kept"], conflict["lost"])
    (kept,) = content.snapshots
    assert '"label":"Unsolved"' in kept.body


def test_equal_verdicts_are_one() -> None:
    """The same verdict from two files is no conflict."""
    verdicts = (make_verdict("Solved", source="a.json"), make_verdict("Solved", source="b.json"))
    content, report = make_content(make_import(verdicts=verdicts), name="demo")
    assert ([], 1) == (report["verdict_conflicts"], len(list(content.snapshots)))


def test_judges_of_one_name_get_names_of_their_own() -> None:
    """Two judges that differ in more than their name can both be chosen."""
    other = make_verdict("Solved", run=1, source="b.json")
    verdicts = (make_verdict("Solved"), replace(other, judge={"name": "gpt", "temperature": 0}))
    content, _ = make_content(make_import(verdicts=verdicts), name="demo")
    assert ["gpt", "gpt-2"] == rows_of_table(content, "judges")


def test_two_different_outputs_of_one_name_are_refused() -> None:
    """An output is one answer of one candidate to one task in one form."""
    outputs = (make_output(), replace(make_output(), data={"other": 1}))
    with pytest.raises(InputError, match="two different outputs are called 'cot/1/0/converted'"):
        make_content(make_import(outputs=outputs), name="demo")


def test_the_same_output_twice_is_one() -> None:
    """An output that was found in two places is kept once."""
    content, _ = make_content(make_import(outputs=(make_output(), make_output())), name="demo")
    assert ["cot/1/0/converted"] == rows_of_table(content, "outputs")


def test_a_report_waits_for_the_archive(tmp_path: Path) -> None:
    """A staged document appears when the work inside is done, and not at all when it fails."""
    path = tmp_path / "report.json"
    with pytest.raises(ZeroDivisionError), staged_document(path, {"a": 1}):
        raise ZeroDivisionError
    assert [] == list(tmp_path.iterdir())
    with staged_document(path, {"b": 1, "a": 2}):
        assert not path.exists()
    assert b'{"a":2,"b":1}\n' == path.read_bytes()


def test_a_document_replaces_an_older_one(tmp_path: Path) -> None:
    """Written again, the new content is there and nothing else."""
    for value in (1, 2):
        write_document(tmp_path / "want.json", {"value": value})
    assert {"want.json": b'{"value":2}\n'} == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
