"""Converted answers equal the upstream example's, field by field and byte by byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.benchmarks.stabletoolbench.playing.answer_files import converted_text, raw_text
from replay.benchmarks.stabletoolbench.playing.convert import convert_answer
from replay.core.types import Json

_METHODS = {"cot": "CoT@1", "dfs": "DFS_woFilter_w2"}


def _example(shared_data: Path) -> Path:
    return shared_data / "stabletoolbench" / "data_example"


def _convert_folder(folder: Path, method: str) -> dict[str, Json]:
    files = sorted(folder.glob("*.json"))
    ids = [path.name.split("_")[0] for path in files]
    return {
        query_id: convert_answer(json.loads(path.read_text()), method=method, query_id=query_id)
        for query_id, path in zip(ids, files, strict=True)
    }


@pytest.mark.parametrize("kind", sorted(_METHODS))
def test_raw_answers_convert_to_the_example(shared_data: Path, kind: str) -> None:
    """The six raw answers convert to the bytes of the shipped converted files, in the order of those."""
    example = _example(shared_data)
    shipped = (
        example / "model_predictions_converted" / f"virtual_chatgpt_{kind}" / "G1_instruction.json"
    ).read_text()
    converted = _convert_folder(
        example / "answer" / f"virtual_chatgpt_{kind}" / "G1_instruction", _METHODS[kind]
    )
    assert set(json.loads(shipped)) == set(converted)
    assert shipped == converted_text({name: converted[name] for name in json.loads(shipped)})


def test_raw_text_has_the_bytes_of_the_example(shared_data: Path) -> None:
    """Writing a raw answer that was read gives the shipped file back, byte for byte."""
    files = sorted((_example(shared_data) / "answer").rglob("*.json"))
    assert len(files) == 6
    for path in files:
        shipped = path.read_text()
        assert shipped == raw_text(json.loads(shipped))


def test_every_toolbench_answer_converts(shared_data: Path) -> None:
    """All 15 ToolBench answers convert, valid ones with their last history and one step for each turn."""
    files = sorted((shared_data / "toolbench" / "data_example" / "answer").rglob("*.json"))
    assert len(files) == 15
    for path in files:
        raw = json.loads(path.read_text())
        converted = convert_answer(raw, method="DFS_woFilter_w2", query_id=path.name.split("_")[0])
        assert raw["answer_generation"]["final_answer"] == converted["answer"]["final_answer"]
        assert converted["answer"]["total_steps"] > 2
