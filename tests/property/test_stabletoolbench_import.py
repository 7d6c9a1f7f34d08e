"""Laws of the import: cache keys read back, names settle, order of files plays no part."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from replay.benchmarks.stabletoolbench.cache_keys import parse_cache_key
from replay.benchmarks.stabletoolbench.importing.answer_book import AnswerBook, RecordedAnswer
from replay.benchmarks.stabletoolbench.importing.cache import decode_answer, scan_members
from replay.benchmarks.stabletoolbench.naming import standardize, standardize_category, tool_identity
from replay.core.canonical import canonical_bytes
from replay.core.types import CallAlias, Json
from tests.property.strategies import json_objects, json_values, texts


@given(json_objects)
def test_python_keys_read_back(arguments: dict[str, Json]) -> None:
    """What upstream writes as a key stands for the arguments it was written from."""
    key = parse_cache_key(str(arguments))
    assert key.problem or canonical_bytes(key.arguments) == canonical_bytes(arguments)


@given(json_objects)
def test_compact_json_keys_read_back(arguments: dict[str, Json]) -> None:
    """What the fork writes as a key stands for the arguments it was written from."""
    key = parse_cache_key(json.dumps(arguments, separators=(",", ":")))
    assert key.problem or canonical_bytes(key.arguments) == canonical_bytes(arguments)


@given(st.text(max_size=200))
def test_any_key_is_read_or_says_why(text: str) -> None:
    """No key text raises; without a problem there is a canonical form."""
    key = parse_cache_key(text)
    assert key.problem or canonical_bytes(key.arguments)


@given(st.dictionaries(texts, json_values, max_size=5))
def test_members_are_found_as_json_reads_them(value: dict[str, Json]) -> None:
    """Keys and values of a cache file are those the standard reader finds."""
    text = json.dumps(value, indent=4)
    assert [(key, json.loads(text[a:b])) for key, a, b in scan_members(text)] == list(value.items())


@given(json_values)
def test_an_answer_is_stored_as_what_it_is(value: Json) -> None:
    """The stored text of an honest answer reads back as the answer."""
    found, body, problem = decode_answer(json.dumps(value))
    assert problem == ""
    assert canonical_bytes(json.loads(body)) == canonical_bytes(found) == canonical_bytes(value)


@given(st.text(max_size=60))
def test_standard_names_stay(name: str) -> None:
    """A standardised name is its own standard form."""
    once = standardize(name)
    assert standardize(once) == once


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_identity_of_raw_and_sent_names(category: str, tool: str, api: str) -> None:
    """Raw names and the names the client sends lead to one tool folder."""
    folder = standardize_category(category)
    raw = tool_identity(folder, tool, api)
    assert raw == tool_identity(folder, standardize(tool), api)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=12))
def test_every_answer_of_a_book_is_kept(offers: list[tuple[int, int]]) -> None:
    """One answer for each request and body; the first body of a request has it; none is lost."""
    book = AnswerBook()
    for number, (argument, body) in enumerate(offers):
        text = str({"a": argument})
        book.add(
            RecordedAnswer(
                tool="t",
                arguments={"a": argument},
                aliases=(CallAlias(label="python-repr", tool="t", text=text),),
                body=str(body),
                source=f"record {number}",
            )
        )
    first = {argument: str(body) for argument, body in reversed(offers)}
    keyed = {a.request.arguments["a"]: a.body for a in book.answers if a.request is not None}
    assert keyed == first
    assert len(book.answers) + book.repeated == len(offers)
