"""The phone: device, messages, reminders. Each class changes its own state and says what happened.

Owns the rules of spec section 4 in the order in which they are checked, mistakes included: whoever passes the
wrong kind of value gets Python's own error, as upstream's candidate does. Class and argument names are the
candidate's interface. `clean` repairs what the spec lists as crashes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from replay.benchmarks.acebench.world.start import PHONE_USERS, make_inbox, make_reminders
from replay.core.types import Json

__all__ = ["BaseApi", "MessageApi", "ReminderApi"]

_CAPACITY: Final = 6
"""Of the inbox and of the reminders."""


def _done(text: str) -> dict[str, Json]:
    return {"status": True, "message": text}


def _refused(text: str) -> dict[str, Json]:
    return {"status": False, "message": text}


class BaseApi:
    """Wi-Fi and login of the device, which every other class of the phone looks at."""

    def __init__(self, words: Mapping[str, str], *, wifi: Json, logged_in: Json) -> None:
        """Start as the task says."""
        self.wifi = wifi
        self.logged_in = logged_in
        self._words = words

    def saved(self) -> dict[str, Json]:
        """Attributes that are compared at the end."""
        return {"wifi": self.wifi, "logged_in": self.logged_in}

    def turn_on_wifi(self) -> Json:
        """Switch the Wi-Fi on; there is no way back."""
        self.wifi = True
        return _done(self._words["wifi-on"])

    def login_device(self) -> Json:
        """Log in to the device; there is no way back."""
        self.logged_in = True
        return _done(self._words["device-in"])


class MessageApi:
    """Inbox of six messages among six people."""

    def __init__(self, device: BaseApi, words: Mapping[str, str], language: str, *, clean: bool) -> None:
        """Start with a full inbox."""
        self.inbox = make_inbox(language)
        self.counter = 6
        self._device = device
        self._words = words
        self._clean = clean

    def saved(self) -> dict[str, Json]:
        """Attributes that are compared at the end."""
        return {"inbox": self.inbox}

    def send_message(self, sender_name: Json, receiver_name: Json, message: Json) -> Json:
        """Put a message into the inbox, without a time."""
        if self._device.logged_in == False:  # noqa: E712 - a task may say 0 or None; only what equals False counts
            return _refused(self._words["send-no-login"])
        if self._device.wifi == False:  # noqa: E712
            return _refused(self._words["send-no-wifi"])
        if len(self.inbox) >= _CAPACITY:
            return _refused(self._words["inbox-full"])
        if sender_name not in PHONE_USERS or receiver_name not in PHONE_USERS:
            return _refused(self._words["no-party"])
        self.counter += 1
        self.inbox[self.counter] = {
            "sender_id": PHONE_USERS[sender_name],
            "receiver_id": PHONE_USERS[receiver_name],
            "message": message,
        }
        return _done(self._words["sent"].format(receiver=receiver_name))

    def delete_message(self, message_id: Json) -> Json:
        """Take a message out of the inbox; a number written as text is no number."""
        if self._device.logged_in == False:  # noqa: E712
            return _refused(self._words["delete-no-login"])
        if message_id not in self.inbox:
            return _refused(self._words["no-message"])
        del self.inbox[message_id]
        return _done(self._words["deleted"].format(id=message_id))

    def view_messages_between_users(self, sender_name: Json, receiver_name: Json) -> Json:
        """Show what one person wrote to another."""
        if self._device.logged_in == False:  # noqa: E712
            return _refused(self._words["view-no-login"])
        if sender_name not in PHONE_USERS:
            return _refused(self._words["no-sender"])
        if receiver_name not in PHONE_USERS:
            return _refused(self._words["no-receiver"])
        pair = (PHONE_USERS[sender_name], PHONE_USERS[receiver_name])
        found = [
            {"id": number, "sender": sender_name, "receiver": receiver_name, "message": entry["message"]}
            for number, entry in self.inbox.items()
            if (entry["sender_id"], entry["receiver_id"]) == pair
        ]
        if not found:
            return _refused(self._words["none-between"])
        return {"status": True, "messages": found}

    def search_messages(self, user_name: Json, keyword: Json) -> Json:
        """Show what a person wrote or got that holds a word; the device need not be logged in."""
        if user_name not in PHONE_USERS:
            return _refused(self._words["no-user"])
        person = PHONE_USERS[user_name]
        found = [
            {
                "id": number,
                "sender_id": entry["sender_id"],
                "receiver_id": entry["receiver_id"],
                "message": entry["message"],
            }
            for number, entry in self.inbox.items()
            if person in (entry["sender_id"], entry["receiver_id"])
            and keyword.lower() in entry["message"].lower()
        ]
        if not found:
            return _refused(self._words["none-found"])
        return {"status": True, "messages": found}

    def get_all_message_times_with_ids(self) -> Json:
        """Show the time of every message; fails once a message has none."""
        if self._device.logged_in == False:  # noqa: E712
            return _refused(self._words["times-no-login"])
        return {number: entry["time"] for number, entry in self._dated()}

    def get_latest_message_id(self) -> Json:
        """Find the newest message by date; fails once a message has none."""
        if self._device.logged_in == False:  # noqa: E712
            return _refused(self._words["latest-no-login"])
        return self._find("latest", newest=True)

    def get_earliest_message_id(self) -> Json:
        """Find the oldest message by date; fails once a message has none."""
        if self._device.logged_in == False:  # noqa: E712
            return _refused(self._words["earliest-no-login"])
        return self._find("earliest", newest=False)

    def _find(self, name: str, *, newest: bool) -> Json:
        # Dates of one form compare as their texts do; the first of equal ones wins.
        dated = [(entry["time"], number) for number, entry in self._dated()]
        if not dated:
            return _refused(self._words["inbox-empty"])
        choose = max if newest else min
        _, found = choose(dated, key=lambda pair: pair[0])
        return {**_done(self._words[name].format(id=found)), "message_id": found}

    def _dated(self) -> list[tuple[Json, dict[str, Json]]]:
        """All messages; in a clean sandbox only those that have a time."""
        return [(number, entry) for number, entry in self.inbox.items() if not self._clean or "time" in entry]


class ReminderApi:
    """Up to six reminders, by a number that is not the one they show."""

    def __init__(self, device: BaseApi, words: Mapping[str, str], language: str, *, clean: bool) -> None:
        """Start with three reminders."""
        self.reminder_list = make_reminders(language)
        self.counter = 3
        self._device = device
        self._words = words
        self._clean = clean

    def saved(self) -> dict[str, Json]:
        """Attributes that are compared at the end."""
        return {"reminder_list": self.reminder_list}

    def view_reminder_by_title(self, title: Json) -> Json:
        """Show the first reminder with exactly this title."""
        if self._device.logged_in == False:  # noqa: E712
            return _refused(self._words["reminder-view-no-login"])
        for reminder in self.reminder_list.values():
            if reminder["title"] == title:
                return {"status": True, "reminder": reminder}
        return _refused(self._words["no-title"].format(title=title))

    def add_reminder(self, title: Json, description: Json, time: Json) -> Json:
        """Add a reminder; from the fourth on it shows its own number."""
        if self._device.logged_in == False:  # noqa: E712
            return _refused(self._words["reminder-add-no-login"])
        if len(self.reminder_list) >= _CAPACITY:
            return _refused(self._words["reminders-full"])
        self.counter += 1
        self.reminder_list[self.counter] = {
            "reminder_id": self.counter,
            "title": title,
            "description": description,
            "time": time,
            "notified": False,
        }
        return _done(self._words["reminder-added"].format(title=title))

    def delete_reminder(self, reminder_id: Json) -> Json:
        """Delete by number in the list, not by the number that is shown."""
        if self._device.logged_in == False:  # noqa: E712
            return _refused(self._words["reminder-delete-no-login"])
        if reminder_id not in self.reminder_list:
            return _refused(self._words["no-reminder"])
        del self.reminder_list[reminder_id]
        return _done(self._words["reminder-deleted"].format(id=reminder_id))

    def view_all_reminders(self) -> Json:
        """Show all reminders; the device need not be logged in."""
        if not self.reminder_list:
            return _refused(self._words["reminders-empty"])
        shown = ("title", "description", "time", "notified")
        return {
            "status": True,
            "reminders": [{name: entry[name] for name in shown} for entry in self.reminder_list.values()],
        }

    def mark_as_notified(self, reminder_id: Json) -> Json:
        """Mark a reminder (Chinese sandbox only)."""
        if reminder_id not in self.reminder_list:
            return _refused(self._words["no-reminder"])
        self.reminder_list[reminder_id]["notified"] = True
        return _done(self._words["reminder-notified"].format(id=reminder_id))

    def search_reminders(self, keyword: Json) -> Json:
        """Search titles and descriptions (Chinese sandbox only); upstream fails on every hit."""
        found = []
        for entry in self.reminder_list.values():
            if keyword.lower() in entry["title"].lower() or keyword.lower() in entry["description"].lower():
                time = entry["time"] if self._clean else entry["time"].strftime("%Y-%m-%d %H:%M")
                found.append({"title": entry["title"], "description": entry["description"], "time": time})
        if not found:
            return _refused(self._words["no-reminder-found"])
        return {"status": True, "reminders": found}
