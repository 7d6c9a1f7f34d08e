"""The five tables of the world: their names, columns and value kinds.

Source: upstream tool_sandbox/common/execution_context.py at 165848b, where they are polars schemas.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["AGENT", "COLUMNS", "ENVIRONMENT", "INDEX", "ROLES", "SANDBOX", "SYSTEM", "TABLES", "USER"]

SYSTEM: Final = "SYSTEM"
USER: Final = "USER"
AGENT: Final = "AGENT"
ENVIRONMENT: Final = "EXECUTION_ENVIRONMENT"
ROLES: Final = (SYSTEM, USER, AGENT, ENVIRONMENT)

SANDBOX: Final = "SANDBOX"
INDEX: Final = "sandbox_message_index"
"""Column of every table that says to which message a row's snapshot belongs; hidden from tools."""

COLUMNS: Final[Mapping[str, Mapping[str, str]]] = {
    SANDBOX: {
        "sender": "role",
        "recipient": "role",
        "content": "str",
        "openai_tool_call_id": "str",
        "openai_function_name": "str",
        "conversation_active": "bool",
        "tool_call_exception": "str",
        "tool_trace": "list[str]",
        "visible_to": "list[role]",
    },
    "SETTING": {
        "device_id": "str",
        "cellular": "bool",
        "wifi": "bool",
        "location_service": "bool",
        "low_battery_mode": "bool",
        "latitude": "float",
        "longitude": "float",
    },
    "CONTACT": {
        "person_id": "str",
        "name": "str",
        "phone_number": "str",
        "relationship": "str",
        "is_self": "bool",
    },
    "MESSAGING": {
        "message_id": "str",
        "sender_person_id": "str",
        "sender_phone_number": "str",
        "recipient_person_id": "str",
        "recipient_phone_number": "str",
        "content": "str",
        "creation_timestamp": "float",
    },
    "REMINDER": {
        "reminder_id": "str",
        "content": "str",
        "creation_timestamp": "float",
        "reminder_timestamp": "float",
        "latitude": "float",
        "longitude": "float",
    },
}
"""Columns of each table in order, with the kind of their values; every value may be null."""

TABLES: Final = tuple(COLUMNS)
