"""The tables keep a snapshot at each message that changed them, and read back what was true then."""

from __future__ import annotations

import pytest

from replay.benchmarks.toolsandbox.world.tables import NoRowError, Tables
from replay.core.errors import InputError
from tests.support.sandboxes import make_contact

ADA, BOB = make_contact("a", "Ada"), make_contact("b", "Bob")


def make_tables() -> Tables:
    """One contact, and two messages said."""
    tables = Tables.start({"CONTACT": [ADA]})
    tables.add("SANDBOX", [say("USER", "AGENT"), say("AGENT", "USER")])
    return tables


def say(sender: str, recipient: str, **fields: object) -> dict[str, object]:
    """A message row."""
    return {"sender": sender, "recipient": recipient, "content": "hi", **fields}


def test_write_lands_on_the_coming_reply() -> None:
    """A write after message 1 is seen at 2, not at 1."""
    tables = make_tables()
    tables.add("CONTACT", [BOB])
    tables.add("SANDBOX", [say("USER", "AGENT")])
    assert [ADA] == tables.read("CONTACT", 1)
    assert [ADA, BOB] == tables.read("CONTACT", 2)


def test_unchanged_table_has_no_snapshot() -> None:
    """Only what changes is copied."""
    tables = make_tables()
    tables.add("CONTACT", [BOB])
    assert ([0, 2], [0]) == (tables.snapshot_indices("CONTACT"), tables.snapshot_indices("SETTING"))


def test_emptied_table_reads_as_empty() -> None:
    """The headguard keeps an empty snapshot apart from none."""
    tables = make_tables()
    tables.remove("CONTACT", lambda row: row["person_id"] == "a")
    tables.add("SANDBOX", [say("USER", "AGENT")])
    assert ([ADA], []) == (tables.read("CONTACT", 1), tables.read("CONTACT", 2))


def test_message_table_reads_one_row() -> None:
    """Each message is its own snapshot."""
    rows = make_tables().read("SANDBOX", 1)
    assert ["AGENT"] == [row["sender"] for row in rows]


def test_activity_is_carried_over() -> None:
    """A message without conversation_active has that of the one before."""
    tables = make_tables()
    tables.replace("SANDBOX", [{**tables.read("SANDBOX")[0], "conversation_active": False}])
    tables.add("SANDBOX", [say("USER", "AGENT")])
    assert [True, False, False] == [row["conversation_active"] for row in tables.messages()]


def test_first_user_message_is_no_demonstration() -> None:
    """Messages that only the user sees do not count; a null visibility does."""
    tables = Tables.start({})
    tables.add("SANDBOX", [say("USER", "AGENT", visible_to=["USER"]), say("USER", "AGENT")])
    assert (1, -1) == (tables.first_user_index, Tables.start({}).first_user_index)


def test_whole_numbers_become_floats() -> None:
    """Columns of floats hold floats, as upstream's do."""
    tables = make_tables()
    tables.add("REMINDER", [{"reminder_id": "r", "reminder_timestamp": 5}])
    assert "5.0" == repr(tables.read("REMINDER")[0]["reminder_timestamp"])


def test_unknown_column_is_refused() -> None:
    """A column that the table does not have is a KeyError."""
    with pytest.raises(KeyError, match="unknown column age"):
        make_tables().add("CONTACT", [{"age": 3}])


def test_row_of_nulls_is_refused() -> None:
    """Such a row would be a headguard."""
    with pytest.raises(ValueError, match="headguard"):
        make_tables().add("CONTACT", [{"name": None}])


def test_removing_nothing_is_told() -> None:
    """A removal that fits no row says so, and leaves a snapshot as upstream does."""
    tables = make_tables()
    with pytest.raises(NoRowError, match="CONTACT"):
        tables.remove("CONTACT", lambda row: row["person_id"] == "z")
    assert [0, 2] == tables.snapshot_indices("CONTACT")


def test_messages_cannot_be_removed() -> None:
    """The conversation only grows."""
    with pytest.raises(KeyError, match="messages"):
        make_tables().remove("SANDBOX", lambda _: True)


def test_reading_ahead_is_refused() -> None:
    """Nothing is known beyond the coming reply."""
    with pytest.raises(IndexError, match="past the coming reply 2"):
        make_tables().read("CONTACT", 9)


def test_json_round_trip() -> None:
    """Tables written and read again are the same tables."""
    tables = make_tables()
    tables.add("CONTACT", [BOB])
    assert tables.to_json() == Tables.from_json(tables.to_json()).to_json()


def test_copies_part() -> None:
    """A change of a copy is no change of the original."""
    tables = make_tables()
    tables.copy().add("CONTACT", [BOB])
    assert [ADA] == tables.read("CONTACT")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "tables are no object"),
        ({"MAPS": []}, "unknown table 'MAPS'"),
        ({"CONTACT": {}}, "no list of rows"),
        ({"CONTACT": [5]}, "a row is no object"),
        ({"CONTACT": [{"sandbox_message_index": "0"}]}, "a whole number"),
        ({"CONTACT": [{"sandbox_message_index": 0, "name": 5}]}, r"\$.CONTACT\[0\].name"),
        ({"CONTACT": [{"sandbox_message_index": 0, "age": 5}]}, "unknown column 'age'"),
        ({"SANDBOX": [{"sandbox_message_index": 0, "sender": "BOB"}]}, "role or null"),
        ({"SANDBOX": [{"sandbox_message_index": 0, "tool_trace": [1]}]}, r"list\[str\] or null"),
    ],
)
def test_bad_context_is_named(data: object, message: str) -> None:
    """Each fault of a stored context is told with its place."""
    with pytest.raises(InputError, match=message):
        Tables.from_json(data)
