"""Answer files: names, groups, trials, forms, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.benchmarks.stabletoolbench.playing.answer_files import FORMS, write_answers
from replay.core.errors import InputError, StoreError
from replay.core.types import Json, Task
from tests.unit.benchmarks.stabletoolbench.player import finish, look, make_context, play_episode


def _task(query_id: str, split: str = "G1_tool") -> Task:
    return Task(id=query_id, split=split, data={"query": "q"})


def _outcome() -> Json:
    return play_episode(make_context("CoT@1"), [look(), finish()]).end.outcome


def test_converted_answers_of_a_group_are_one_file(tmp_path: Path) -> None:
    """Two groups, two files; ids in file-name order; one line; nothing for an outcome that is None."""
    outcome = _outcome()
    rows = [
        (_task("9"), 0, outcome),
        (_task("10"), 0, outcome),
        (_task("11"), 0, None),
        (_task("1", "G3_instruction"), 0, outcome),
    ]
    files = write_answers(rows, tmp_path, "converted")
    assert [path.name for path in files] == ["G1_tool.json", "G3_instruction.json"]
    assert list(json.loads(files[0].read_text())) == ["10", "9"]
    assert files[0].read_text() == json.dumps({"10": outcome["converted"], "9": outcome["converted"]})


def test_raw_answers_are_one_file_a_query(tmp_path: Path) -> None:
    """The name is the query id and the method; the text is indented by two."""
    outcome = _outcome()
    (path,) = write_answers([(_task("9"), 0, outcome)], tmp_path, "raw")
    assert path.relative_to(tmp_path) == Path("G1_tool/9_CoT@1.json")
    assert path.read_text() == json.dumps(outcome["raw"], indent=2)


def test_raw_flat_is_the_spelling_of_the_examples(tmp_path: Path) -> None:
    """The same file with flat functions."""
    (path,) = write_answers([(_task("9"), 0, _outcome())], tmp_path, "raw-flat")
    assert json.loads(path.read_text())["answer_generation"]["function"][-1]["name"] == "Finish"


def test_trials_have_folders_of_their_own(tmp_path: Path) -> None:
    """Upstream's forms hold one answer a query, so further trials go beside."""
    outcome = _outcome()
    files = write_answers([(_task("9"), 1, outcome), (_task("9"), 0, outcome)], tmp_path, "converted")
    assert [str(path.relative_to(tmp_path)) for path in files] == ["G1_tool.json", "trial-1/G1_tool.json"]


def test_order_of_outcomes_does_not_matter(tmp_path: Path) -> None:
    """The same outcomes in another order give the same bytes."""
    rows = [(_task(str(index)), 0, _outcome()) for index in range(5)]
    (one,) = write_answers(rows, tmp_path / "a", "converted")
    (two,) = write_answers(rows[::-1], tmp_path / "b", "converted")
    assert one.read_bytes() == two.read_bytes()


def test_an_unknown_form_lists_the_known_ones(tmp_path: Path) -> None:
    """The message names every form."""
    with pytest.raises(InputError, match=", ".join(FORMS)):
        write_answers([], tmp_path, "csv")


@pytest.mark.parametrize(
    ("query_id", "split"), [("../9", "G1_tool"), ("9", "../G1"), ("9/9", "G"), ("9", "")]
)
def test_names_that_are_no_file_names_are_refused(tmp_path: Path, query_id: str, split: str) -> None:
    """An id or group from outside never leaves the folder."""
    with pytest.raises(InputError, match="is no file name"):
        write_answers([(_task(query_id, split), 0, _outcome())], tmp_path, "raw")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    """A file where the folder should be is a store error, and nothing is left behind."""
    blocked = tmp_path / "out"
    blocked.write_text("in the way")
    with pytest.raises(StoreError, match="an answer file cannot be written"):
        write_answers([(_task("9"), 0, _outcome())], blocked, "raw")
    assert blocked.read_text() == "in the way"
