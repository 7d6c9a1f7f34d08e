"""Tools of the contact book. Source: upstream tools/contact.py at 165848b."""

from __future__ import annotations

from typing import Final

from replay.benchmarks.toolsandbox.tools.failures import DUPLICATE, ToolError
from replay.benchmarks.toolsandbox.tools.filters import SAME_NAME, exact, fuzzy, search
from replay.benchmarks.toolsandbox.tools.ranges import check_phone_number
from replay.benchmarks.toolsandbox.tools.rows import read_changes, remove_row, update_row
from replay.benchmarks.toolsandbox.tools.tool import NOT_GIVEN, Arguments, Moment, Parameter, Tool
from replay.benchmarks.toolsandbox.world.tables import Row
from replay.core.types import Json

__all__ = ["TABLE", "TOOLS", "find_contacts"]

TABLE: Final = "CONTACT"
_TOUCHED: Final = frozenset({TABLE})
_FIELDS: Final = ("name", "phone_number", "relationship", "is_self")


def find_contacts(moment: Moment, **wanted: Json) -> list[Row]:
    """Search contacts; fields that are not named are not looked at."""
    columns = ("person_id", *_FIELDS)
    values = {name: wanted.get(name, NOT_GIVEN) for name in columns}
    check_phone_number(values["phone_number"])
    rules = {"name": fuzzy(SAME_NAME), "relationship": fuzzy(SAME_NAME)}
    criteria = [(name, values[name], rules.get(name, exact)) for name in columns]
    return search(moment.tables.read(TABLE), criteria)


def _add(moment: Moment, arguments: Arguments) -> Json:
    check_phone_number(arguments["phone_number"])
    person = moment.new_id()
    if arguments["is_self"] and find_contacts(moment, is_self=True):
        raise _second_self()
    moment.tables.add(TABLE, [{"person_id": person, **arguments}])
    return person


def _modify(moment: Moment, arguments: Arguments) -> Json:
    changes = read_changes(arguments, _FIELDS, of="contact")
    check_phone_number(changes["phone_number"])
    selves = find_contacts(moment, is_self=True)
    if selves and changes["is_self"] and selves[0]["person_id"] != arguments["person_id"]:
        raise _second_self()
    update_row(moment.tables, TABLE, ("person_id", arguments["person_id"]), changes)
    return None


def _remove(moment: Moment, arguments: Arguments) -> Json:
    remove_row(moment.tables, TABLE, ("person_id", arguments["person_id"]))
    return None


def _search(moment: Moment, arguments: Arguments) -> Json:
    return find_contacts(moment, **arguments)


def _second_self() -> ToolError:
    return ToolError(DUPLICATE, "Self entry already exists. Cannot add another one.")


_ID: Final = "Identifier of the contact, as a search returns it"

TOOLS: Final = (
    Tool(
        name="add_contact",
        module="contact",
        about="Saves a new contact; two may hold the same details. Returns the contact's identifier.",
        run=_add,
        reads=_TOUCHED,
        writes=_TOUCHED,
        parameters=(
            Parameter(name="name", kind="str", required=True, about="Name of the person"),
            Parameter(
                name="phone_number", kind="str", required=True, about="Phone number, with country code"
            ),
            Parameter(
                name="relationship",
                kind="str",
                nullable=True,
                about="What the person is to the user, if known",
            ),
            Parameter(
                name="is_self",
                kind="bool",
                default=False,
                about="True if the contact is the user; false if not given",
            ),
        ),
    ),
    Tool(
        name="modify_contact",
        module="contact",
        about="Changes details of a saved contact; what is not given stays as it is.",
        run=_modify,
        reads=_TOUCHED,
        writes=_TOUCHED,
        parameters=(
            Parameter(name="person_id", kind="str", required=True, about=_ID),
            Parameter(name="name", kind="str", omissible=True, about="New name"),
            Parameter(name="phone_number", kind="str", omissible=True, about="New phone number"),
            Parameter(name="relationship", kind="str", omissible=True, about="New relationship to the user"),
            Parameter(name="is_self", kind="bool", omissible=True, about="Whether the contact is the user"),
        ),
    ),
    Tool(
        name="remove_contact",
        module="contact",
        about="Deletes a saved contact.",
        run=_remove,
        reads=_TOUCHED,
        writes=_TOUCHED,
        parameters=(Parameter(name="person_id", kind="str", required=True, about=_ID),),
    ),
    Tool(
        name="search_contacts",
        module="contact",
        about="Finds the contacts that meet every given criterion; an empty list when there is none.",
        run=_search,
        reads=_TOUCHED,
        checked=False,
        parameters=(
            Parameter(name="person_id", kind="str", omissible=True, about=f"{_ID}; compared exactly"),
            Parameter(name="name", kind="str", omissible=True, about="Name; compared loosely"),
            Parameter(
                name="phone_number", kind="str", omissible=True, about="Phone number; compared exactly"
            ),
            Parameter(
                name="relationship",
                kind="str",
                omissible=True,
                about="Relationship to the user; compared loosely",
            ),
            Parameter(
                name="is_self",
                kind="bool",
                omissible=True,
                about="Whether the contact is the user; compared exactly",
            ),
        ),
    ),
)
