"""Every response shape of the real query files becomes a schema and a grammar whose texts fit it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.benchmarks.stabletoolbench.shapes import answer_schema
from replay.core.determinism import Stream
from replay.core.types import Json
from replay.llm.grammar.schema import check_output, compile_schema
from tests.support.gbnf import parse_grammar

FOLDERS = ("stabletoolbench/solvable_queries/test_instruction", "toolbench/data_example/instruction")


def read_shapes(folder: Path) -> list[Json]:
    """Read the template of every API entry, in the order of the files."""
    queries = [query for path in sorted(folder.glob("*.json")) for query in json.loads(path.read_text())]
    entries = [entry for query in queries for entry in query.get("api_list", ())]
    return [entry["template_response"] for entry in entries if "template_response" in entry]


def different(shapes: list[Json]) -> list[Json]:
    """Take each shape once."""
    return list({json.dumps(shape): shape for shape in shapes}.values())


def test_the_survey_counts_what_the_module_says(shared_data: Path) -> None:
    """2,748 templates, 960 different ones."""
    shapes = read_shapes(shared_data / FOLDERS[0])
    assert (2748, 960) == (len(shapes), len({json.dumps(shape, sort_keys=True) for shape in shapes}))


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_every_shape_compiles_and_its_texts_fit(folder: str, shared_data: Path) -> None:
    """No leaf is unknown; two sampled answers of each shape are valid JSON of that shape."""
    stream = Stream("shapes")
    for shape in different(read_shapes(shared_data / folder)):
        compiled = compile_schema(answer_schema(shape))
        assert compiled.shortest_chars < 1_000
        grammar = parse_grammar(compiled.gbnf)
        for _ in range(2):
            text = grammar.generate(stream, room=400)
            # A free response may repeat a name it made up; shapes leave no such freedom.
            if shape:
                assert ["error", "response"] == list(check_output(compiled, text))
