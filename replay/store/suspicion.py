"""What looks like a secret, by named rules: the last look at what is about to be frozen.

Redaction goes by field names before anything is stored; this goes by looks, and only refuses. A finding is
named by its rule and a digest of what was found, so that a person can allow one without writing it down.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from replay.core.errors import InputError
from replay.core.types import Record

__all__ = ["RULES", "Suspicion", "find_suspicions", "refuse_secrets"]

RULES: Final[Mapping[str, re.Pattern[str]]] = MappingProxyType(
    {
        "aws-access-key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
        "bearer-token": re.compile(r"\b[Bb]earer +([A-Za-z0-9._~+/-]{24,}=*)"),
        "github-token": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})"),
        "google-api-key": re.compile(r"\bAIza[0-9A-Za-z_-]{35}\b"),
        "json-web-token": re.compile(r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
        "llm-api-key": re.compile(r"\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{32,}"),
        "password-in-url": re.compile(r"\bhttps?://[^\s/:@\"'<>$]{1,64}:([^\s/:@\"'<>$]{3,64})@"),
        "payment-key": re.compile(r"\b[rs]k_live_[0-9A-Za-z]{20,}"),
        "private-key": re.compile(r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----"),
        "slack-token": re.compile(r"\bxox[abprs]-[0-9A-Za-z-]{20,}"),
    }
)

_MARKS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "aws-access-key": ("AKIA", "ASIA"),
        "bearer-token": ("earer ",),
        "github-token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        "google-api-key": ("AIza",),
        "json-web-token": (".eyJ",),
        "llm-api-key": ("sk-",),
        "password-in-url": ("@",),
        "payment-key": ("k_live_",),
        "private-key": ("PRIVATE KEY",),
        "slack-token": ("xox",),
    }
)
"""Texts without which a rule cannot hold; looking for one is many times faster than the rule."""

_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{32,}={0,2}")
_MAX_BASE64: Final = 1024 * 1024
_SHOWN: Final = 5


class Suspicion(Record, frozen=True, kw_only=True):
    """One text that looks like a secret."""

    id: str
    """Rule and the first 12 hex digits of the SHA-256 of what was found."""
    where: str
    """Table and row."""


def find_suspicions(text: str) -> Iterator[str]:
    """Yield the id of everything in a text that looks like a secret, in base64 too."""
    yield from _plainly(text)
    for match in _BASE64.finditer(text):
        decoded = _decode(match.group()[:_MAX_BASE64])
        if decoded:
            yield from _plainly(decoded)


def refuse_secrets(rows: Iterable[tuple[str, str]], *, allowed: Iterable[str] = ()) -> None:
    """Look through rows, as (where, text), and refuse what looks like a secret and is not allowed.

    Errors:  InputError naming the first findings by id and place, never by what they are.
    """
    known = frozenset(allowed)
    found: dict[str, Suspicion] = {}
    for where, text in rows:
        for name in find_suspicions(text):
            if name not in known:
                found.setdefault(name, Suspicion(id=name, where=where))
    if not found:
        return
    shown = [f"{item.id} in {item.where}" for item in list(found.values())[:_SHOWN]]
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    raise InputError(
        f"{len(found)} texts look like secrets: {', '.join(shown)}{more}",
        expected="an archive without secrets",
        next_step="name the field in secret_fields of the upstream and record again; what is none is let "
        f"through with --allow-finding {next(iter(found))}",
    )


def _plainly(text: str) -> Iterator[str]:
    for rule, pattern in RULES.items():
        if not any(mark in text for mark in _MARKS[rule]):
            continue
        for match in pattern.finditer(text):
            value = match.group(match.lastindex or 0)
            yield f"{rule}:{hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def _decode(text: str) -> str:
    """Decode base64 of either alphabet; empty when it is none, or no text."""
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain[: len(plain) // 4 * 4]).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return ""
