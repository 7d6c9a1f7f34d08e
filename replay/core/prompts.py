"""Versioned prompt files of the roles that a model plays: parse, digest, fill.

A file has three parts divided by lines of `---`: a head of `name: value` lines (name, version, fields), the
system text and the user text. `{{field}}` stands for a value. The digest covers everything, so an edited
file is another prompt and another key. Reading the file is left to whoever ships it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from replay.core.canonical import digest
from replay.core.errors import InputError, InternalError
from replay.core.types import Digest, Message, Record

__all__ = ["Prompt", "parse_prompt"]

_PLACEHOLDER: Final = re.compile(r"\{\{([a-z_]+)\}\}")
_HEAD: Final = ("fields", "name", "version")


class Prompt(Record, frozen=True, kw_only=True):
    """One prompt without its values."""

    name: str
    version: int
    fields: tuple[str, ...]
    system: str
    user: str
    """May be empty: then the prompt is a system message alone."""

    @property
    def digest(self) -> Digest:
        """Identity of the prompt: name, version, fields and both texts."""
        return digest(
            "prompt",
            {
                "name": self.name,
                "version": self.version,
                "fields": list(self.fields),
                "system": self.system,
                "user": self.user,
            },
        )

    def fill(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """Fill in the values and return the system message and, where there is one, the user message.

        Errors:  InternalError when the values are not exactly the fields.
        """
        if sorted(values) != sorted(self.fields):
            raise InternalError(f"prompt {self.name} wants {sorted(self.fields)}, got {sorted(values)}")
        system = Message(role="system", content=_fill(self.system, values))
        if not self.user:
            return (system,)
        return system, Message(role="user", content=_fill(self.user, values))


def parse_prompt(text: str, *, where: str) -> Prompt:
    """Parse a prompt file. Raises InputError naming the file and what is wrong with it."""
    parts = re.split(r"^---$\n?", text, flags=re.MULTILINE)
    if len(parts) != 3:
        raise InputError(
            f"{len(parts)} parts", where=where, expected="head, system and user text divided by ---"
        )
    head = dict(line.split(": ", 1) for line in parts[0].splitlines() if ": " in line)
    if sorted(head) != list(_HEAD) or not head["version"].isdigit():
        raise InputError(f"head {sorted(head)}", where=where, expected=f"{', '.join(_HEAD)} (a whole number)")
    fields = tuple(item.strip() for item in head["fields"].split(",") if item.strip())
    shown = set(_PLACEHOLDER.findall(parts[1] + parts[2]))
    if shown != set(fields):
        unknown, unshown = sorted(shown - set(fields)), sorted(set(fields) - shown)
        raise InputError(f"placeholders unknown {unknown}, fields never shown {unshown}", where=where)
    return Prompt(
        name=head["name"],
        version=int(head["version"]),
        fields=fields,
        system=parts[1].strip(),
        user=parts[2].strip(),
    )


def _fill(template: str, values: Mapping[str, str]) -> str:
    """Replace every placeholder in one pass, so that braces inside a value stay what they are."""
    return _PLACEHOLDER.sub(lambda match: values[match.group(1)], template)
