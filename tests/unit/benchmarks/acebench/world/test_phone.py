"""Messages and reminders: order of checks, capacity, numbers, times that are missing."""

# ruff: noqa: RUF001 - what the sandbox says

from __future__ import annotations

import pytest

from replay.benchmarks.acebench.world.sandbox import Sandbox
from tests.unit.benchmarks.acebench.world.sandboxes import ask, make_box, text

HELLO = {"sender_name": "Eve", "receiver_name": "Frank", "message": "hello"}


def make_room(language: str = "en", *, clean: bool = False) -> Sandbox:
    """A sandbox whose inbox has one place."""
    box = make_box(language, clean=clean)
    ask(box, "delete_message", message_id=2)
    return box


def test_a_message_needs_login_then_wifi_then_room_then_people() -> None:
    """The first thing that is wrong is the one that is told."""
    box = make_box(on=False)
    wrong = {**HELLO, "receiver_name": "Zoe"}
    said = [text(box, "send_message", **wrong)]
    for tool in ("login_device", "turn_on_wifi"):
        ask(box, tool)
        said.append(text(box, "send_message", **wrong))
    ask(box, "delete_message", message_id=1)
    said.append(text(box, "send_message", **wrong))
    assert said == [
        "Device not logged in, unable to send message",
        "Wi-Fi is turned off, cannot send messages at this time",
        "Inbox capacity is full. You need to ask the user which message to delete.",
        "Sender or receiver does not exist",
    ]


def test_a_sent_message_gets_the_next_number_and_no_time() -> None:
    """Numbers of deleted messages do not come again."""
    box = make_room()
    assert text(box, "send_message", **HELLO) == "Message successfully sent to Frank."
    inbox = box.state()["saved"][1]["MessageApi"]["inbox"]
    assert {"sender_id": "USR100", "receiver_id": "USR101", "message": "hello"} == inbox["7"]


@pytest.mark.parametrize(
    "tool", ["get_latest_message_id", "get_earliest_message_id", "get_all_message_times_with_ids"]
)
def test_after_sending_questions_of_time_fail(tool: str) -> None:
    """Python names the missing time."""
    box = make_room()
    ask(box, "send_message", **HELLO)
    assert ask(box, tool) == "'time'"


def test_a_clean_sandbox_leaves_messages_without_time_out() -> None:
    """The oldest and newest of the others are found."""
    box = make_room(clean=True)
    ask(box, "send_message", **HELLO)
    assert ask(box, "get_latest_message_id")["message_id"] == 4
    assert ask(box, "get_earliest_message_id")["message_id"] == 3


def test_an_empty_inbox_says_so() -> None:
    """Newest and oldest of nothing."""
    box = make_box("zh")
    for number in range(1, 7):
        ask(box, "delete_message", message_id=number)
    assert text(box, "get_latest_message_id") == "短信记录为空"
    assert ask(box, "get_all_message_times_with_ids") == {}


@pytest.mark.parametrize("number", [99, "3", None, 3.5])
def test_what_is_no_number_of_a_message_does_not_exist(number: object) -> None:
    """A number written as text is none."""
    assert text(make_box(), "delete_message", message_id=number) == "Message ID does not exist"


def test_a_float_that_is_whole_is_the_number() -> None:
    """As Python has it, and the text shows it."""
    assert (
        text(make_box(), "delete_message", message_id=3.0) == "Message ID 3.0 has been successfully deleted."
    )


@pytest.mark.parametrize(
    ("language", "tool", "arguments", "said"),
    [
        ("en", "delete_message", {"message_id": 1}, "Device not logged in, unable to delete message"),
        (
            "en",
            "view_messages_between_users",
            {"sender_name": "Eve", "receiver_name": "Frank"},
            "Device not logged in, unable to view message information",
        ),
        (
            "en",
            "get_latest_message_id",
            {},
            "Device not logged in, unable to retrieve the latest sent message ID.",
        ),
        ("zh", "get_earliest_message_id", {}, "device未登录，无法获取最早发送的短信ID"),
        (
            "zh",
            "get_all_message_times_with_ids",
            {},
            "device未登录，获取所有短信的时间以及对应的短信编号。",
        ),
        ("zh", "view_reminder_by_title", {"title": "x"}, "device未登录，无法查看提醒"),
        (
            "en",
            "delete_reminder",
            {"reminder_id": 1},
            "Device not logged in. Unable to delete the specified reminder.",
        ),
    ],
)
def test_without_login_the_phone_says_no(
    language: str, tool: str, arguments: dict[str, object], said: str
) -> None:
    """Each tool in its own words."""
    assert said == text(make_box(language, on=False), tool, **arguments)


def test_searches_and_lists_need_no_login() -> None:
    """So it is upstream."""
    box = make_box(on=False)
    assert ask(box, "search_messages", user_name="Jack", keyword="AVAILABLE")["messages"][0]["id"] == 5
    assert len(ask(box, "view_all_reminders")["reminders"]) == 3
    assert (
        text(box, "search_messages", user_name="Eve", keyword="zzz")
        == "No messages found containing the keyword"
    )
    assert text(box, "search_messages", user_name="Zoe", keyword="a") == "User does not exist"


def test_people_are_checked_sender_first() -> None:
    """Then the receiver, then the messages between them."""
    box = make_box()
    pairs = (("Zoe", "Max"), ("Eve", "Max"), ("Eve", "Jack"))
    said = [text(box, "view_messages_between_users", sender_name=a, receiver_name=b) for a, b in pairs]
    assert said == ["Sender does not exist", "Receiver does not exist", "No related message records found"]


def test_a_new_reminder_is_number_four() -> None:
    """In the list and in what it shows; older ones show 1001 to 1003."""
    box = make_box()
    assert (
        text(box, "add_reminder", title="A", description="B", time="C")
        == "Reminder 'A' was successfully added."
    )
    reminders = box.state()["saved"][2]["ReminderApi"]["reminder_list"]
    assert {"reminder_id": 4, "title": "A", "description": "B", "time": "C", "notified": False} == reminders[
        "4"
    ]
    assert text(box, "delete_reminder", reminder_id=1001) == "Reminder ID does not exist."
    assert text(box, "delete_reminder", reminder_id=1) == "Reminder ID 1 was successfully deleted."


def test_six_reminders_are_all() -> None:
    """The seventh is refused and nothing is counted on."""
    box = make_box("zh")
    for title in "ABC":
        ask(box, "add_reminder", title=title, description="", time="")
    assert text(box, "add_reminder", title="D", description="", time="") == "提醒容量已满，无法添加新的提醒"
    assert box.state()["rest"]["ReminderApi"]["counter"] == 6


def test_no_reminders_at_all() -> None:
    """The list says so."""
    box = make_box()
    for number in (1, 2, 3):
        ask(box, "delete_reminder", reminder_id=number)
    assert text(box, "view_all_reminders") == "No reminders found."
    assert text(box, "view_reminder_by_title", title="x") == "No reminder found with the title 'x'."


def test_chinese_searches_fail_on_a_hit_unless_clean() -> None:
    """A text has no date format."""
    assert (
        ask(make_box("zh"), "search_reminders", keyword="team") == "'str' object has no attribute 'strftime'"
    )
    found = ask(make_box("zh", clean=True), "search_reminders", keyword="team")
    assert [entry["title"] for entry in found["reminders"]] == ["Team Meeting"]
