"""Data files become tasks joined by id; faults of files are named, errors of the data are flagged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.benchmarks.acebench.importing.importer import AceBenchImporter
from replay.benchmarks.acebench.records import CATEGORIES, LANGUAGES, read_task
from replay.core.errors import InputError
from replay.core.protocols import ImportResult
from replay.core.types import Json
from tests.support.ace_folder import write_ace_folder

_TOOL = {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}, "required": []}}


def _write(folder: Path, inputs: list[Json], truths: list[Json], category: str = "normal_atom_bool") -> Path:
    base = folder / "data_en"
    (base / "possible_answer").mkdir(parents=True)
    for path, rows in ((base, inputs), (base / "possible_answer", truths)):
        lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
        (path / f"data_{category}.json").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def _input(number: int, **fields: Json) -> Json:
    return {"id": f"normal_atom_bool_{number}", "question": "q", "function": [_TOOL], **fields}


def _truth(number: int, truth: Json = None) -> Json:
    return {"id": f"normal_atom_bool_{number}", "ground_truth": {"f": {}} if truth is None else truth}


def _load(folder: Path, **options: Json) -> ImportResult:
    return AceBenchImporter().load(folder, options)


def test_every_category_and_language_becomes_tasks(tmp_path: Path) -> None:
    """Ids carry the language, splits language and category; tools are filed once."""
    result = _load(write_ace_folder(tmp_path))
    assert {f"{language}/{category}" for language in LANGUAGES for category in CATEGORIES} == {
        task.split for task in result.tasks
    }
    assert all(task.id.startswith(task.split) for task in result.tasks)
    assert result.report["total"] == len(result.tasks) == 34
    assert {digest for task in result.tasks for digest in task.tools}
    assert len(result.sources) == 68


def test_order_of_names_and_spelling_of_numbers_are_kept(tmp_path: Path) -> None:
    """The official checker looks at both, and archives keep neither in objects."""
    truth = {"z": {"b": 5.0, "a": 5}, "y": {}}
    record = read_task(_load(_write(tmp_path, [_input(0)], [_truth(0, truth)])).tasks[0])
    assert ["z", "y"] == list(record.ground_truth)
    assert ["b", "a"] == list(record.ground_truth["z"])
    assert [float, int] == [type(value) for value in record.ground_truth["z"].values()]


def test_records_are_joined_by_id_whatever_their_order(tmp_path: Path) -> None:
    """Upstream joins by line."""
    folder = _write(tmp_path, [_input(0), _input(1)], [_truth(1, {"f": {"x": 1}}), _truth(0)])
    assert [{}, {"x": 1}] == [read_task(task).ground_truth["f"] for task in _load(folder).tasks]


@pytest.mark.parametrize(
    ("inputs", "truths", "message"),
    [
        ([_input(0)], [], r"no record 'normal_atom_bool_0' \(data_en/possible_answer/data_normal_atom_bool"),
        ([_input(0)], [_truth(0), _truth(7)], r"no record 'normal_atom_bool_7' \(data_en/data_normal"),
        ([_input(0), _input(0)], [_truth(0)], r"'normal_atom_bool_0' twice .*line 2, first on line 1"),
        ([{**_input(0), "id": 5}], [_truth(0)], r"id 5 .*line 1"),
        ([{**_input(0), "id": "other_1"}], [_truth(0)], r"id 'other_1'"),
        (['{"id": '], [_truth(0)], r"not one JSON value.*line 1"),
        (["[1]"], [_truth(0)], r"no JSON object"),
        ([{"id": "normal_atom_bool_0", "question": "q"}], [_truth(0)], r"no function"),
        ([_input(0, question=5)], [_truth(0)], r"Expected `str`"),
        ([_input(0, function=[{"description": "x"}])], [_truth(0)], r"a tool without a name"),
        ([_input(0)], [{**_truth(0), "mile_stone": []}], r"milestones outside an agent category"),
    ],
)
def test_faults_name_file_line_and_what_was_expected(
    tmp_path: Path, inputs: list[Json], truths: list[Json], message: str
) -> None:
    """One message with every fault in it."""
    with pytest.raises(InputError, match=message):
        _load(_write(tmp_path, inputs, truths))


def test_a_folder_without_data_and_unknown_options_are_refused(tmp_path: Path) -> None:
    """With what was expected."""
    with pytest.raises(InputError, match=r"no ACEBench data.*data_en"):
        _load(tmp_path)
    with pytest.raises(InputError, match=r"unknown import option 'lang'.*language, wording"):
        _load(write_ace_folder(tmp_path), lang="en")
    with pytest.raises(InputError, match=r"unusable value 'de'.*all or en or zh"):
        _load(tmp_path, language="de")


def test_a_whole_checkout_has_its_data_one_folder_deeper(tmp_path: Path) -> None:
    """And its licence beside it."""
    write_ace_folder(tmp_path / "data_all")
    (tmp_path / "LICENSE.md").write_text("Permission is hereby granted, free of charge, to", encoding="utf-8")
    result = _load(tmp_path)
    assert {"upstream data": "MIT"} == result.licences
    assert all(source.path.startswith("data_all/data_") for source in result.sources)
    assert 34 == len(result.tasks)


def test_one_language_can_be_taken_alone(tmp_path: Path) -> None:
    """The other is not read."""
    result = _load(write_ace_folder(tmp_path), language="zh")
    assert {"zh"} == {task.id.split("/")[0] for task in result.tasks}


def test_upstream_prompts_are_read_as_constants_and_never_run(tmp_path: Path) -> None:
    """Texts of a category by name without the language; code beside them stays text."""
    folder = tmp_path / "model_inference"
    (folder / "multi_turn").mkdir(parents=True)
    made = tmp_path / "made"
    (folder / "prompt_en.py").write_text(
        f"open({str(made)!r}, 'w')\n"
        'SYSTEM_PROMPT_FOR_NORMAL_DATA_EN = """Own words {time}"""\n'
        "USER_PROMPT_EN = ('a' 'b')\n"
        "BASE_PROMPT_EN = 'phone'\n"
        "COMPUTED_EN = 'a'.upper()\n",
        encoding="utf-8",
    )
    (folder / "multi_turn" / "APIModel_agent.py").write_text("AGENT_RULES_EN = 'rules'\n", encoding="utf-8")
    result = _load(write_ace_folder(tmp_path))
    by_split = {task.split: read_task(task).wording for task in result.tasks}
    expected = {"SYSTEM_PROMPT_FOR_NORMAL_DATA": "Own words {time}", "USER_PROMPT": "ab"}
    assert expected == by_split["en/normal_atom_bool"]
    assert {"AGENT_RULES": "rules", "BASE_PROMPT": "phone"} == by_split["en/agent_multi_turn"]
    assert {"USER_PROMPT": "ab"} == by_split["en/special_irrelevant"]
    assert {} == by_split["zh/normal_atom_bool"]
    assert not made.exists()
    assert {} == read_task(_load(tmp_path, wording="leave-out").tasks[0]).wording


def test_a_prompt_file_that_is_no_python_is_a_fault(tmp_path: Path) -> None:
    """Named, so that nobody thinks upstream's wording was read."""
    folder = tmp_path / "model_inference"
    folder.mkdir()
    (folder / "prompt_zh.py").write_text("X = '", encoding="utf-8")
    with pytest.raises(InputError, match=r"no Python module: SyntaxError.*prompt_zh.py"):
        _load(write_ace_folder(tmp_path))
