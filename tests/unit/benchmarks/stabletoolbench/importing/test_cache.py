"""Cache folders: aliases, collisions, old names, odd records, options, broken files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.benchmarks.stabletoolbench.importing.cache import MAX_ANSWER_BYTES, cache_identity, scan_members
from replay.benchmarks.stabletoolbench.importing.record_filter import FAILURE_TEXT
from replay.core.errors import InputError
from replay.core.protocols import ImportedAnswer, ImportResult
from replay.core.types import CallAlias, Json
from tests.unit.benchmarks.stabletoolbench.entries import make_entry
from tests.unit.benchmarks.stabletoolbench.folders import CACHE_FILE, QUERY_FILE, load, make_query, write_tree

_TOOL = "Weather/weather_desk_for_Weather/current"


def _load(root: Path, content: Json, **options: Json) -> ImportResult:
    return load(write_tree(root, {CACHE_FILE: content}), **options)


def _only(root: Path, content: Json, **options: Json) -> ImportedAnswer:
    (answer,) = _load(root, content, **options).answers
    return answer


def _answer(response: Json = "cold") -> dict[str, Json]:
    return {"error": "", "response": response}


def test_identity_is_the_path(tmp_path: Path) -> None:
    """A record belongs to the API that its path names and keeps its key text as an alias."""
    answer = _only(tmp_path, {"{'q': 'a'}": _answer()})
    assert answer.request is not None
    assert (answer.request.tool, answer.request.arguments) == (_TOOL, {"q": "a"})
    assert CallAlias(label="python-repr", tool=_TOOL, text="{'q': 'a'}") in answer.aliases


@pytest.mark.parametrize(
    "path", ["a.json", "Weather/desk/current.json", "Weather/desk_for_Data/current.json"]
)
def test_other_paths_are_no_cache(path: str) -> None:
    """Only category, tool folder of that category and file make a cache path."""
    assert cache_identity(path) is None


def test_the_five_keys(tmp_path: Path) -> None:
    """Two key orders, {}, the empty key, an apostrophe: three requests, two collisions, all answers kept."""
    keys = ["{'q': 'a', 'n': 1}", "{'n': 1, 'q': 'a'}", "{}", "", "{'q': \"it's\"}"]
    result = _load(tmp_path, {key: _answer(f"answer {i}") for i, key in enumerate(keys)})
    keyed = [answer for answer in result.answers if answer.request is not None]
    assert len(keyed) == 3
    assert len(result.answers) == 5
    listed = result.report["answers"]["collisions_listed"]
    assert [[json.loads(a["answer"])["response"] for a in pair["answers"]] for pair in listed] == [
        ["answer 0", "answer 1"],
        ["answer 2", "answer 3"],
    ]


def test_loser_of_a_collision_is_reachable_by_its_text(tmp_path: Path) -> None:
    """The later answer has no request but keeps its own key text."""
    result = _load(tmp_path, {"{'a': 1, 'b': 2}": _answer("x"), "{'b': 2, 'a': 1}": _answer("y")})
    loser = result.answers[1]
    assert loser.request is None
    assert CallAlias(label="python-repr", tool=_TOOL, text="{'b': 2, 'a': 1}") in loser.aliases


def test_equal_answers_of_one_request_are_joined(tmp_path: Path) -> None:
    """Two spellings with one answer are one answer with both texts."""
    result = _load(tmp_path, {"{'a': 1, 'b': 2}": _answer(), "{'b': 2, 'a': 1}": _answer()})
    assert len(result.answers) == 1
    assert {alias.text for alias in result.answers[0].aliases} == {"{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}"}
    assert result.report["answers"]["repeated"] == 1


def test_compact_json_keys(tmp_path: Path) -> None:
    """The fork's encoding has an alias label of its own."""
    answer = _only(tmp_path, {'{"phone":14155552671}': _answer()})
    assert answer.request is not None
    assert answer.request.arguments == {"phone": 14155552671}
    assert answer.aliases[0].label == "compact-json"


def test_empty_answers_are_kept_and_flagged(tmp_path: Path) -> None:
    """An empty answer is an answer, marked as empty, of unknown origin."""
    answer = _only(tmp_path, {"{}": _answer("")})
    assert (answer.status, answer.origin, answer.meta["flags"]) == ("empty", "unknown", ["empty-answer"])


@pytest.mark.parametrize(
    "text",
    [
        '{"error": "", "response": NaN}',
        '{"error": "", "response": {"x": Infinity}}',
        '{"error": "", "response": 1e400}',
        '{"error": "", "error": "", "response": 1}',
        '{"error": "", "response": "\\ud800"}',
    ],
)
def test_dishonest_json_is_kept_as_its_text(tmp_path: Path, text: str) -> None:
    """NaN, infinities, duplicate names and lone surrogates stay what they were: opaque text, marked."""
    answer = _only(tmp_path, f'{{"{{}}": {text}}}')
    assert (answer.body, answer.media, answer.status) == (text, "text", "not-json")


def test_body_keeps_the_order_of_fields(tmp_path: Path) -> None:
    """The candidate sees the recorded order."""
    assert _only(tmp_path, {"{}": {"response": {"b": 1, "a": 2}, "error": ""}}).body == (
        '{"response":{"b":1,"a":2},"error":""}'
    )


@pytest.mark.parametrize(
    ("expected", "answer"),
    [("no-error-field", {"response": 1}), ("no-response-field", {"error": ""}), ("not-an-object", ["a"])],
)
def test_answers_without_their_fields_are_flagged(tmp_path: Path, expected: str, answer: Json) -> None:
    """Upstream saves whatever parses; what is missing is named and the status is an error."""
    found = _only(tmp_path, {"{}": answer})
    assert (found.status, found.meta["flags"]) == ("error", [expected])


def test_filter_verdict_is_beside_each_answer(tmp_path: Path) -> None:
    """By default the filter drops nothing."""
    result = _load(tmp_path, {"{}": _answer("volume 40500"), "{'a': 1}": _answer()})
    assert [answer.meta["filter"] for answer in result.answers] == ["reject: 500", "accept"]


def test_filter_excludes_on_request(tmp_path: Path) -> None:
    """Excluded records are counted and named."""
    result = _load(tmp_path, {"{}": _answer("volume 40500"), "{'a': 1}": _answer()}, filter="exclude")
    assert len(result.answers) == 1
    assert result.report["cache"]["named"]["excluded-by-filter"] == [f"{CACHE_FILE}, record 0"]


def test_failure_records_are_no_answers(tmp_path: Path) -> None:
    """The simulator's failure record is left out and named."""
    result = _load(tmp_path, {"{}": {"error": FAILURE_TEXT, "response": ""}})
    assert result.answers == ()
    assert result.report["cache"]["named"]["failure-record-left-out"] == [f"{CACHE_FILE}, record 0"]


def test_failure_records_are_kept_on_request(tmp_path: Path) -> None:
    """Upstream would replay it for ever; so can we, marked as simulated."""
    content = {"{}": {"error": FAILURE_TEXT, "response": ""}}
    assert _only(tmp_path, content, failures="keep").origin == "simulated"


def test_origin_can_be_declared(tmp_path: Path) -> None:
    """Who knows where a cache comes from may say so."""
    assert _only(tmp_path, {"{}": _answer()}, origin="simulated").origin == "simulated"


def test_unreadable_keys_stay_reachable(tmp_path: Path) -> None:
    """A key that is no literal keeps its text as the only way in."""
    answer = _only(tmp_path, {"{'x': nan}": _answer()})
    assert answer.request is None
    assert answer.meta["flags"] == ["unreadable-key"]


def test_old_names_are_added_where_a_query_needs_them(tmp_path: Path) -> None:
    """A file of the old API-name rule answers for the API that the rule put there, and for no other file."""
    other = CACHE_FILE.replace("current", "other")
    entry = make_entry("Current for today")
    queries = [make_query(api_list=[entry])]
    files = {QUERY_FILE: queries, CACHE_FILE: {"{}": _answer()}, other: {"{}": _answer()}}
    answers = load(write_tree(tmp_path, files)).answers
    labels = {answer.source.split(",")[0]: [a.label for a in answer.aliases] for answer in answers}
    assert labels == {CACHE_FILE: ["python-repr", "old-name"], other: ["python-repr"]}


def test_a_cache_alone_answers_under_old_names_too(tmp_path: Path) -> None:
    """Without queries nothing tells which files follow the old rule, so each one may."""
    assert [alias.label for alias in _only(tmp_path, {"{}": _answer()}).aliases] == [
        "python-repr",
        "old-name",
    ]


def test_a_cache_folder_itself_can_be_imported(tmp_path: Path) -> None:
    """The root's own name plays no part."""
    root = write_tree(tmp_path, {CACHE_FILE: {"{}": _answer()}}) / "tool_response_cache"
    assert load(root).answers[0].source == "Weather/weather_desk_for_Weather/current.json, record 0"


@pytest.mark.parametrize(
    ("message", "content"),
    [
        ("not one JSON object: .*current.json, record 1", '{"{}": {"error": ""}, "{\'a\': 1}": {"err'),
        ("cut off or broken at character 6, no ':'", '{"{}" '),
        ("cut off or broken .* no ','", '{"{}": {} "a": {}}'),
        ("not one JSON object: .*no '{'", "[1]"),
        ("no key at character 1", "{1: 2}"),
        ("more text after the object", "{} {}"),
        ("not UTF-8 at byte 3 .*current.json", b'{"a\xff": 1}'),
        ("nested too deep .*current.json, record 0", '{"{}": ' + "[" * 100_000),
    ],
)
def test_broken_cache_files_are_named(tmp_path: Path, message: str, content: str | bytes) -> None:
    """A cut, foreign, misencoded or bottomless file is one clear error with its place."""
    with pytest.raises(InputError, match=message):
        _load(tmp_path, content)


@pytest.mark.slow
def test_an_oversized_answer_is_named(tmp_path: Path) -> None:
    """A 20 MiB answer is refused by file, record and path."""
    content = {"{'a': 1}": _answer("x" * (20 << 20))}
    with pytest.raises(
        InputError, match=rf"answer of 209715\d\d bytes .*record 0.*at most {MAX_ANSWER_BYTES}"
    ):
        _load(tmp_path, content)


def test_a_file_out_of_place_is_named(tmp_path: Path) -> None:
    """Half a cache (a folder level missing) is no cache."""
    content = {CACHE_FILE: {"{}": _answer()}, "tool_response_cache/Weather/current.json": {"{}": _answer()}}
    with pytest.raises(InputError, match=r"out of place in a cache .*expected <category>"):
        load(write_tree(tmp_path, content))


def test_scan_members_of_an_empty_object() -> None:
    """An empty cache file has no members."""
    assert list(scan_members(" { } ")) == []


def test_scan_members_gives_exact_texts() -> None:
    """Spans are those of the values as they were written."""
    text = '{ "a" : 1.0 , "b":[ 1,2 ]}'
    assert [(key, text[start:end]) for key, start, end in scan_members(text)] == [
        ("a", "1.0"),
        ("b", "[ 1,2 ]"),
    ]
