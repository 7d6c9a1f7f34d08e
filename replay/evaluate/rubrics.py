"""Versioned prompt files for judges: load, digest, render.

A file has three parts divided by lines of `---`: a head of `name: value` lines (name, version, choices,
fields), the system text and the user text. `{{field}}` stands for evidence. Everything that shapes the
question (both texts, choices, order of the answer's fields) is under the digest, so an edited file is
another rubric.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import Final

from replay.core.canonical import canonical_bytes, digest
from replay.core.errors import InputError, InternalError
from replay.core.types import Digest, Json, JudgeRequest, Message, Record

__all__ = ["Rubric", "load_rubric", "parse_rubric"]

_PLACEHOLDER: Final = re.compile(r"\{\{([a-z_]+)\}\}")
_HEAD: Final = ("choices", "fields", "name", "version")


class Rubric(Record, frozen=True, kw_only=True):
    """One question to judges, without its evidence."""

    name: str
    version: int
    choices: tuple[str, ...]
    fields: tuple[str, ...]
    """Names of the evidence that both texts may show."""
    system: str
    user: str

    def schema(self, *, reason_first: bool = True) -> dict[str, Json]:
        """JSON Schema of the answer; property order is the order a constrained judge writes in."""
        parts: dict[str, Json] = {
            "reason": {"type": "string", "maxLength": 600},
            "verdict": {"type": "string", "enum": list(self.choices)},
        }
        names = ["reason", "verdict"] if reason_first else ["verdict", "reason"]
        return {
            "type": "object",
            "properties": {name: parts[name] for name in names},
            "required": names,
            "additionalProperties": False,
        }

    def digest(self, *, reason_first: bool = True) -> Digest:
        """Identity of the question as it is asked."""
        order = ["reason", "verdict"] if reason_first else ["verdict", "reason"]
        return digest(
            "rubric",
            {
                "name": self.name,
                "version": self.version,
                "choices": list(self.choices),
                "fields": list(self.fields),
                "system": self.system,
                "user": self.user,
                "order": order,
            },
        )

    def ask(
        self, benchmark: str, evidence: dict[str, Json], *, run: int = 0, reason_first: bool = True
    ) -> JudgeRequest:
        """Render the question about some evidence.

        Errors:  InternalError when the evidence has other fields than the rubric names.
        """
        if sorted(evidence) != sorted(self.fields):
            raise InternalError(f"rubric {self.name} wants {sorted(self.fields)}, got {sorted(evidence)}")
        order = "reason, then verdict" if reason_first else "verdict, then reason"
        # The mark depends on what it encloses: evidence cannot hold the line that closes it.
        mark = digest("evidence", evidence)[7:19]
        shown = {name: value if isinstance(value, str) else _text(value) for name, value in evidence.items()}
        shown |= {"mark": mark, "order": order, "choices": ", ".join(self.choices)}
        return JudgeRequest(
            benchmark=benchmark,
            rubric=self.name,
            rubric_digest=self.digest(reason_first=reason_first),
            evidence=evidence,
            run=run,
            choices=self.choices,
            messages=(
                Message(role="system", content=_fill(self.system, shown)),
                Message(role="user", content=_fill(self.user, shown)),
            ),
            response_schema=self.schema(reason_first=reason_first),
        )


def load_rubric(package: str, name: str) -> Rubric:
    """Load `rubrics/<name>.txt` from a package.

    Errors:  InputError when the file is absent, malformed or names another rubric.
    """
    file = resources.files(package) / "rubrics" / f"{name}.txt"
    where = f"{package}/rubrics/{name}.txt"
    if not file.is_file():
        raise InputError(f"no rubric {name!r}", where=where)
    rubric = parse_rubric(file.read_text(encoding="utf-8"), where=where)
    if rubric.name != name:
        raise InputError(f"rubric {rubric.name!r} in a file of another name", where=where)
    return rubric


def parse_rubric(text: str, *, where: str) -> Rubric:
    """Parse a rubric file. Raises InputError naming the file and what is wrong with it."""
    parts = re.split(r"^---$\n?", text, flags=re.MULTILINE)
    if len(parts) != 3:
        raise InputError(
            f"{len(parts)} parts", where=where, expected="head, system and user text divided by ---"
        )
    head = dict(line.split(": ", 1) for line in parts[0].splitlines() if ": " in line)
    if sorted(head) != list(_HEAD) or not head["version"].isdigit():
        raise InputError(f"head {sorted(head)}", where=where, expected=f"{', '.join(_HEAD)} (a whole number)")
    fields = _items(head["fields"])
    allowed = {*fields, "mark", "order", "choices"}
    unknown = sorted(set(_PLACEHOLDER.findall(parts[1] + parts[2])) - allowed)
    unshown = sorted(set(fields) - set(_PLACEHOLDER.findall(parts[1] + parts[2])))
    if unknown or unshown:
        raise InputError(f"placeholders unknown {unknown}, fields never shown {unshown}", where=where)
    return Rubric(
        name=head["name"],
        version=int(head["version"]),
        choices=_items(head["choices"]),
        fields=fields,
        system=parts[1].strip(),
        user=parts[2].strip(),
    )


def _items(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",") if item.strip())


def _fill(template: str, shown: dict[str, str]) -> str:
    """Replace every placeholder in one pass, so that braces inside evidence stay what they are."""
    return _PLACEHOLDER.sub(lambda match: shown[match.group(1)], template)


def _text(value: Json) -> str:
    return canonical_bytes(value).decode()
