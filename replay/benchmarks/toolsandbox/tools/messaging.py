"""Tools of the message box. Source: upstream tools/messaging.py at 165848b."""

from __future__ import annotations

from typing import Final

from replay.benchmarks.toolsandbox.tools.contact import TABLE as CONTACTS
from replay.benchmarks.toolsandbox.tools.contact import find_contacts
from replay.benchmarks.toolsandbox.tools.failures import DUPLICATE, ToolError
from replay.benchmarks.toolsandbox.tools.filters import CLOSE_TEXT, at_least, at_most, exact, fuzzy, search
from replay.benchmarks.toolsandbox.tools.ranges import check_phone_number, check_timestamp
from replay.benchmarks.toolsandbox.tools.setting import TABLE as SETTINGS
from replay.benchmarks.toolsandbox.tools.setting import is_on
from replay.benchmarks.toolsandbox.tools.tool import Arguments, Moment, Parameter, Tool
from replay.core.types import Json

__all__ = ["TOOLS"]

_TABLE: Final = "MESSAGING"
_EXACT: Final = (
    "message_id",
    "sender_person_id",
    "sender_phone_number",
    "recipient_person_id",
    "recipient_phone_number",
)
_SINCE: Final = "creation_timestamp_lowerbound"
_UNTIL: Final = "creation_timestamp_upperbound"


def _send(moment: Moment, arguments: Arguments) -> Json:
    number = arguments["phone_number"]
    check_phone_number(number)
    if not is_on(moment.tables, "cellular"):
        raise ToolError("ConnectionError", "Cellular service is not enabled")
    message = moment.new_id()
    selves = find_contacts(moment, is_self=True)
    if len(selves) != 1:
        raise ToolError(
            DUPLICATE,
            f"1 and only 1 self entry should exist in contacts database, instead found {len(selves)}",
        )
    known = find_contacts(moment, phone_number=number)
    row = {
        "message_id": message,
        "sender_person_id": selves[0]["person_id"],
        "sender_phone_number": selves[0]["phone_number"],
        "recipient_person_id": known[0]["person_id"] if known else None,
        "recipient_phone_number": number,
        "content": arguments["content"],
        "creation_timestamp": moment.clock.timestamp(),
    }
    moment.tables.add(_TABLE, [row])
    return message


def _search(moment: Moment, arguments: Arguments) -> Json:
    check_phone_number(arguments["sender_phone_number"])
    check_phone_number(arguments["recipient_phone_number"])
    check_timestamp(_SINCE, arguments[_SINCE])
    check_timestamp(_UNTIL, arguments[_UNTIL])
    criteria = [
        *((name, arguments[name], exact) for name in _EXACT),
        ("content", arguments["content"], fuzzy(CLOSE_TEXT)),
        ("creation_timestamp", arguments[_SINCE], at_least),
        ("creation_timestamp", arguments[_UNTIL], at_most),
    ]
    return search(moment.tables.read(_TABLE), criteria)


TOOLS: Final = (
    Tool(
        name="search_messages",
        module="messaging",
        about="Finds the text messages that meet every given criterion; an empty list when there is none.",
        run=_search,
        reads=frozenset({_TABLE}),
        parameters=(
            Parameter(name="message_id", kind="str", omissible=True, about="Identifier of the message"),
            Parameter(
                name="sender_person_id", kind="str", omissible=True, about="Contact identifier of the sender"
            ),
            Parameter(name="sender_phone_number", kind="str", omissible=True, about="Sender's phone number"),
            Parameter(
                name="recipient_person_id",
                kind="str",
                omissible=True,
                about="Contact identifier of the recipient",
            ),
            Parameter(
                name="recipient_phone_number", kind="str", omissible=True, about="Recipient's phone number"
            ),
            Parameter(name="content", kind="str", omissible=True, about="Text; compared loosely"),
            Parameter(
                name=_SINCE,
                kind="float",
                omissible=True,
                about="Earliest time of sending, seconds since 1970 UTC",
            ),
            Parameter(
                name=_UNTIL,
                kind="float",
                omissible=True,
                about="Latest time of sending, seconds since 1970 UTC",
            ),
        ),
    ),
    Tool(
        name="send_message_with_phone_number",
        module="messaging",
        about="Sends a text message to a phone number and returns the message's identifier.",
        run=_send,
        reads=frozenset({SETTINGS, CONTACTS}),
        writes=frozenset({_TABLE}),
        parameters=(
            Parameter(name="phone_number", kind="str", required=True, about="Phone number of the recipient"),
            Parameter(name="content", kind="str", required=True, about="Text of the message"),
        ),
    ),
)
