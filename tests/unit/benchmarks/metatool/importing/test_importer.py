"""The importer on the shipped suite's sources and on checkouts that are wrong."""

from __future__ import annotations

import json
import pickle
import shutil
from collections import Counter
from pathlib import Path

import pytest

from replay.benchmarks.metatool.importing.embeddings import read_npy
from replay.benchmarks.metatool.importing.importer import MetaToolImporter
from replay.benchmarks.metatool.records import sample_of
from replay.core.errors import InputError
from replay.core.protocols import ImportResult
from replay.core.types import Json
from tests.unit.benchmarks.metatool.builders import MINI_SOURCE, import_mini, write_json


def load(folder: Path) -> ImportResult:
    """Import a folder."""
    return MetaToolImporter().load(folder, {})


def copy_source(target: Path, **changes: Json) -> Path:
    """Copy the sources and replace some JSON files (`a__b` is a/b.json); None removes one."""
    shutil.copytree(MINI_SOURCE, target)
    for name, value in changes.items():
        path = target / f"{name.replace('__', '/')}.json"
        if value is None:
            path.unlink()
        else:
            write_json(path, value)
    return target


def test_every_subtask_is_there() -> None:
    """Published ones, rebuilt ones, and each scenario as a split of its own."""
    counts = Counter(task.data["subtask"] for task in import_mini().tasks)
    assert {"awareness": 20, "similar": 67, "scenario": 48, "reliability": 12, "multi-tool": 10} == counts
    assert "scenario-evening-school" in {task.split for task in import_mini().tasks}


def test_the_truth_stands_first_in_similar_lists_and_nowhere_in_reliability_lists() -> None:
    """As upstream's rule has it."""
    samples = [sample_of(task) for task in import_mini().tasks]
    assert all(s.candidates[0] == s.truth[0] for s in samples if s.subtask == "similar")
    assert all(s.removed not in s.candidates for s in samples if s.subtask == "reliability")
    assert all(set(s.truth) <= set(s.candidates) for s in samples if s.subtask == "multi-tool")


def test_published_lists_come_out_again() -> None:
    """The report counts those that are equal when rebuilt."""
    expected = {"published_lists": 12, "equal_when_rebuilt": 12}
    assert expected == import_mini().report["rebuilt_lists"]["reliability"]


def test_without_published_files_the_same_tasks_are_rebuilt(tmp_path: Path) -> None:
    """Reliability then has a task for each sampled query."""
    made = load(copy_source(tmp_path / "x", **{"tmp_dataset__Task2-Subtask3": None}))
    assert "rebuilt" == made.report["subtasks"]["reliability"]["from"]
    assert 67 == made.report["subtasks"]["reliability"]["tasks"]


def test_without_embeddings_lists_are_not_guessed(tmp_path: Path) -> None:
    """What is published stays; what would need neighbours is absent and named."""
    source = copy_source(tmp_path / "x")
    (source / "tool_embedding.npy").unlink()
    subtasks = load(source).report["subtasks"]
    assert 12 == subtasks["reliability"]["tasks"]
    assert 0 == subtasks["similar"]["tasks"]
    assert "no embeddings" in subtasks["similar"]["from"]


def test_published_files_win_over_what_would_be_built(tmp_path: Path) -> None:
    """Similar and scenario questions too; a scenario is told by its list."""
    tools = ["SkyKit", "TripKit", "LedgerKit", "NewsKit", "BookKit"]
    listed = "Pick:\n" + "".join(
        f"{n}. tool name: {t}, tool description: d\n" for n, t in enumerate(tools, 1)
    )
    record = {"query": "Published?", "tool": "SkyKit", "action_prompt": listed}
    source = copy_source(
        tmp_path / "x", **{"tmp_dataset__Task2-Subtask1": [record], "tmp_dataset__Task2-Subtask2": [record]}
    )
    made = load(source)
    found = {
        task.id: sample_of(task).query
        for task in made.tasks
        if task.split not in ("awareness", "reliability")
    }
    assert {"similar-0000": "Published?", "scenario-popular-top5-000": "Published?"} == {
        name: query for name, query in found.items() if not name.startswith("multi-tool")
    }
    assert {"published_lists": 1, "equal_when_rebuilt": 0} == made.report["rebuilt_lists"]["similar"]


def test_upstreams_own_pickle_gives_the_same_tasks(tmp_path: Path) -> None:
    """Read as data, in place of the array."""
    source = copy_source(tmp_path / "x")
    names = json.loads((source / "tool_embedding_names.json").read_text(encoding="utf-8"))
    vectors = read_npy((source / "tool_embedding.npy").read_bytes(), names, where="x")
    (source / "tool_embedding.npy").unlink()
    entries = [{"tool": name, "embedding": list(vector)} for name, vector in vectors.items()]
    (source / "tool_embedding.pkl").write_bytes(pickle.dumps(entries))
    assert import_mini().tasks == load(source).tasks


def test_a_checkout_is_found_by_its_dataset_folder(tmp_path: Path) -> None:
    """The same archive, whichever of the two is given."""
    copy_source(tmp_path / "checkout" / "dataset")
    assert import_mini().tasks == load(tmp_path / "checkout").tasks


def test_examples_are_published_or_drawn_but_never_the_question() -> None:
    """Three with a tool of the list, two with None."""
    for task in import_mini().tasks:
        sample = sample_of(task)
        if sample.subtask in ("similar", "scenario"):
            assert "built" == sample.examples_from
            assert [2, 3] == sorted(Counter(e.answer == "None" for e in sample.examples).values())
            assert sample.query not in {example.query for example in sample.examples}
            assert all(e.answer in (*sample.candidates, "None") for e in sample.examples)
        elif sample.subtask != "multi-tool":
            assert ("published", 5) == (sample.examples_from, len(sample.examples))


def test_doubtful_tasks_are_flagged() -> None:
    """Each flag is somewhere in the suite."""
    found = {flag for task in import_mini().tasks for flag in task.flags}
    assert {"names-its-tool", "real-time-negative", "repeated-query", "several-labels"} == found


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"plugin_des": ["no object"]}, r"plugin_des.json"),
        ({"plugin_des": {"A": 1}}, r"Expected `str`.*plugin_des.json"),
        ({"data__multi_tool_query_golden": [{"query": "x", "tool": ["SkyKit"]}]}, r"golden.json"),
        ({"data__multi_tool_query_golden": [{"query": "x", "tool": ["SkyKit", "Nobody"]}]}, r"tool 'Nobody'"),
        ({"scenario__Popular_top5": {"Tools": ["SkyKit", "Nobody"]}}, r"tool 'Nobody'"),
        ({"scenario__Popular_top5": {"tools": []}}, r"missing required field `Tools`"),
        ({"tmp_dataset__Task1": [{"query": "x", "label": "maybe"}]}, r"Invalid enum value 'maybe'"),
        (
            {"tmp_dataset__Task2-Subtask3": [{"query": "x", "tool": "SkyKit", "action_prompt": "none"}]},
            r"no numbered tool list.*record 0",
        ),
        ({"tool_embedding_names": ["SkyKit"]}, r"54 rows for 1 names"),
    ],
)
def test_wrong_files_are_named(tmp_path: Path, changes: dict[str, Json], said: str) -> None:
    """With file and record."""
    with pytest.raises(InputError, match=said):
        load(copy_source(tmp_path / "x", **changes))


def test_many_faults_are_one_error(tmp_path: Path) -> None:
    """Collected, counted, the first ten listed."""
    pairs = [{"query": "x", "tool": ["SkyKit", f"Nobody{number}"]} for number in range(30)]
    with pytest.raises(InputError, match=r"^30 faults in the data: .*and 20 more"):
        load(copy_source(tmp_path / "x", data__multi_tool_query_golden=pairs))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'Query,Tool\n"open', "not a table"),
        (b"Query,Tool\na,b,c\n", r"3 columns.*record 0"),
        (b"Tool,Query\n", "first line"),
        (b"Query,Tool\n\xff,SkyKit\n", "not UTF-8 at byte 11"),
    ],
)
def test_a_wrong_query_file_is_named(tmp_path: Path, text: bytes, said: str) -> None:
    """By record or byte."""
    source = copy_source(tmp_path / "x")
    (source / "data" / "all_clean_data.csv").write_bytes(text)
    with pytest.raises(InputError, match=said):
        load(source)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """Files outside the folder stay outside."""
    source = copy_source(tmp_path / "x")
    secret = write_json(tmp_path / "secret.json", {"A": "b"})
    (source / "big_tool_des.json").unlink()
    (source / "big_tool_des.json").symlink_to(secret)
    with pytest.raises(InputError, match="links are not followed"):
        load(source)


@pytest.mark.parametrize("make", [lambda p: p / "nowhere", lambda p: p])
def test_another_folder_is_refused(tmp_path: Path, make: object) -> None:
    """With what was expected."""
    with pytest.raises(InputError, match="MetaTool checkout"):
        load(make(tmp_path))  # type: ignore[operator]


def test_there_are_no_options() -> None:
    """An option is a mistake, and is named."""
    with pytest.raises(InputError, match="unknown import option 'filter'"):
        MetaToolImporter().load(MINI_SOURCE, {"filter": "x"})


def test_a_byte_order_mark_is_forgiven(tmp_path: Path) -> None:
    """Spreadsheets write one."""
    source = copy_source(tmp_path / "x")
    path = source / "plugin_des.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert import_mini().tasks == load(source).tasks


def test_the_original_wording_is_not_kept() -> None:
    """Tasks hold what was put into prompts, not the prompts."""
    assert "stand-in" not in json.dumps([task.data for task in import_mini().tasks])
