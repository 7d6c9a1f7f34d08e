"""Lines of tables: only what this program would write is read."""

from __future__ import annotations

import msgspec
import pytest

from replay.core.canonical import canonical_bytes
from replay.core.errors import CanonicalError, DamagedError, InputError, LimitError
from replay.core.keys import alias_key, alias_request
from replay.core.types import CallAlias, Key, Snapshot
from replay.store.archive.canonicity import check_canonical
from replay.store.archive.rows import MAX_RECORD_BYTES, decode_line, encode_row, encode_snapshot
from tests.support.archives import make_snapshot, make_verdict

FIELDS_OF_FORMAT_1 = [
    "aliases",
    "body",
    "key",
    "kind",
    "media",
    "meta",
    "origin",
    "provenance",
    "request",
    "scope",
    "sequence",
    "status",
]


def _snapshot_line(**changes: object) -> bytes:
    """A line with fields changed and everything else right."""
    value = msgspec.to_builtins(make_snapshot(1)) | changes
    return canonical_bytes({name: item for name, item in value.items() if item != "DROP"})


def test_a_table_row_round_trips() -> None:
    """Id and record come back, the record byte for byte."""
    record = canonical_bytes({"b": 1, "a": ["é", 2.5]})
    _, line = encode_row('x"\n', record, table="tasks")
    assert b'{"id":"x\\"\\n","record":{"a":["\xc3\xa9",2.5],"b":1}}' == line
    row = decode_line("tasks")(line, 0)
    assert ('x"\n', record) == (row.id, row.record)


def test_a_snapshot_round_trips_in_canonical_form() -> None:
    """The line is the canonical JSON of the whole snapshot."""
    snapshot = msgspec.structs.replace(
        make_snapshot(1, body="CRLF\r\n\x00\ufeff \U0001f602"), meta={"n": 1e21}, media="text"
    )
    row, line = encode_snapshot(snapshot)
    assert canonical_bytes(msgspec.to_builtins(snapshot)) == line
    assert snapshot == decode_line("snapshots-api")(line, 0).snapshot
    assert f"{snapshot.key}#0" == row.id


def test_format_1_writes_exactly_these_fields() -> None:
    """A new stored field must come with a decision: left out while it has its default, or a new format."""
    assert FIELDS_OF_FORMAT_1 == sorted(Snapshot.__struct_fields__)
    assert FIELDS_OF_FORMAT_1 == list(msgspec.json.decode(encode_snapshot(make_snapshot(1))[1]))


def test_an_answer_that_only_an_alias_reaches_has_the_alias_key() -> None:
    """The loser of a collision is keyed by its alias recipe, and that is checked too."""
    alias = CallAlias(label="python-repr", tool="Data/t/get", text="{'q': 1}")
    snapshot = msgspec.structs.replace(
        make_snapshot(1), key=alias_key("demo", alias), request=alias_request("demo", alias)
    )
    assert snapshot == decode_line("snapshots-api")(encode_snapshot(snapshot)[1], 0).snapshot


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'{"id":1,"record":{}}',
        b'{"id":"a"}',
        b'{"record":{}}',
        b'{"id":"a","record":{},"x":1}',
        b'{"id":"a","record":{}} ',
        b' {"id":"a","record":{}}',
        b'{"id":"a", "record":{}}',
        b'{"record":{},"id":"a"}',
        b'{"id":"\\u0061","record":{}}',
        b'{"id":"a","id":"a","record":{}}',
        b'{"id":"a","record":{"b":1,"a":2}}',
        b'{"id":"a","record":{"a":1,"a":1}}',
        b'{"id":"a","record":{"a":1.0}}',
        b'{"id":"a","record":{"a":1e2}}',
        b'{"id":"a","record":{"a":-0}}',
        b'{"id":"a","record":{"a": 1}}',
        b'{"id":"a","record":NaN}',
        b'{"id":"a","record":1e999}',
        b'{"id":"a","record":"\\ud800"}',
        b'{"id":"a","record":"\xff"}',
        b'{"id":"a","record":"\\/"}',
        b'{"id":"a","record":"\x01"}',
        b'{"id":"a","record":' + b"[" * 201 + b"]" * 201 + b"}",
        b'{"id":"a","record":' + b"[" * 100_000 + b"}",
        b'{"id":"a","record":' + b"9" * 5000 + b"}",
        b'{"id":"","record":{}}',
    ],
)
def test_a_table_line_that_we_would_not_write_is_refused(line: bytes) -> None:
    """Other spellings of a row, and what is none, name the row."""
    with pytest.raises((DamagedError, LimitError), match=r"tasks\.jsonl\.zst, row 7"):
        decode_line("tasks")(line, 7)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"meta": "DROP"}, "missing required field `meta`"),
        ({"extra": 1}, "unknown field `extra`"),
        ({"sequence": "0"}, "Expected `int`, got `str`"),
        ({"sequence": -1}, "sequence -1 is out of bounds"),
        ({"sequence": 2**60}, "sequence 1152921504606846976 is out of bounds"),
        ({"media": "pickle"}, r"media 'pickle' is unknown \(known: bytes, json, text\)"),
        ({"status": "fine"}, "Invalid enum value 'fine'"),
        ({"kind": "verdict"}, "a snapshot of kind verdict"),
        ({"key": "sha256:" + "0" * 64}, "is not the digest of the request"),
        ({"request": {"benchmark": "demo"}}, "is not the digest of the request"),
        ({"aliases": ["../x"]}, "is not a key"),
    ],
)
def test_a_snapshot_line_that_we_would_not_write_is_refused(changes: dict[str, object], what: str) -> None:
    """A wrong field is named; a key that is not the digest of its request would answer wrongly."""
    with pytest.raises(DamagedError, match=what):
        decode_line("snapshots-api")(_snapshot_line(**changes), 0)


@pytest.mark.parametrize(
    "record", [b'{"b":1,"a":2}', b"NaN", b"{", b"1.0", b"", b"\xff", b"[" * 300 + b"]" * 300]
)
def test_a_record_that_is_not_canonical_is_not_frozen(record: bytes) -> None:
    """What would be refused on reading is refused on writing, naming table and row."""
    with pytest.raises(InputError, match=r"table tasks, row 'a'"):
        encode_row("a", record, table="tasks")


@pytest.mark.parametrize("row_id", ["", "\ud800", "x" * 441, "é" * 221])
def test_an_id_out_of_bounds_is_not_frozen(row_id: str) -> None:
    """Ids fit the store's keys."""
    with pytest.raises(InputError, match="1 to 440 bytes of UTF-8"):
        encode_row(row_id, b"{}", table="tasks")


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"key": Key("sha256:" + "0" * 64)}, "is not the digest of the request"),
        ({"body": "\ud800"}, "lone surrogate"),
        ({"scope": "\ud800"}, "lone surrogate"),
        ({"meta": {"x": float("nan")}}, "nan is not a JSON number"),
        ({"sequence": -1}, "out of bounds"),
        ({"media": "html"}, "media 'html' is unknown"),
    ],
)
def test_a_snapshot_that_would_be_refused_is_not_frozen(changes: dict[str, object], what: str) -> None:
    """Freezing is as strict as reading."""
    with pytest.raises(InputError, match=what):
        encode_snapshot(msgspec.structs.replace(make_snapshot(1), **changes))


def test_a_record_over_the_cap_is_refused_by_name() -> None:
    """A 20 MiB answer is named before anything is written."""
    with pytest.raises(LimitError, match=r"table tasks, row 'big'.*at most 16777216"):
        encode_row("big", b'"' + b"x" * MAX_RECORD_BYTES + b'"', table="tasks")
    with pytest.raises(LimitError, match=r"scope 'Data/tool1/get'.*at most 16777216"):
        encode_snapshot(make_snapshot(1, body="x" * (20 << 20)))


@pytest.mark.parametrize(
    "value",
    [
        1.5,
        1e21,
        1e-7,
        2**70,
        10**300,
        {"\ufb33": 1, "\U0001f602": 2},
        {"€": 1, "\r": 2},
        {"text": "\U0001f602", "top_p": 0.95},
        [0.001, 1e-3 / 3, 123456789.125, 999999999999999.9],
        [[[]]] * 300,
        "\x7f",
    ],
)
def test_canonical_text_of_every_kind_is_accepted(value: object) -> None:
    """The fast proof and the complete one agree on unusual values."""
    assert value == check_canonical(canonical_bytes(value))


@pytest.mark.parametrize(
    "text",
    ['{"\ufb33":1,"\U0001f602":2}', "1e21", "1E+21", "100000000000000000000000.0", "-0", "0.10", "1.0"],
)
def test_text_in_another_form_is_not_canonical(text: str) -> None:
    """Other orders and other spellings of a number are told apart."""
    with pytest.raises(CanonicalError, match="not canonical JSON"):
        check_canonical(text.encode())


@pytest.mark.parametrize(("left", "right"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_depth_is_bounded_exactly(left: bytes, right: bytes) -> None:
    """200 levels are canonical, 201 are not, wide values with many brackets are."""
    check_canonical(left * 200 + b"1" + right * 200)
    check_canonical(b"[" + (left + b"1" + right + b",") * 500 + b"1]")
    with pytest.raises(CanonicalError, match="nested too deeply"):
        check_canonical(left * 201 + b"1" + right * 201)


def test_verdicts_are_checked_against_their_own_recipe() -> None:
    """The tag of a key is its kind: the alias recipe is for API answers only."""
    assert (
        make_verdict(1) == decode_line("snapshots-verdict")(encode_snapshot(make_verdict(1))[1], 0).snapshot
    )
