"""Value -> canonical bytes -> tagged digest (RFC 8785 with one extension: integers are exact at any size)."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Final

from replay.core.errors import CanonicalError
from replay.core.types import Digest, Json

__all__ = ["MAX_DEPTH", "canonical_bytes", "digest", "digest_bytes", "parse_json"]

MAX_DEPTH: Final = 200


def canonical_bytes(value: Json) -> bytes:
    """Encode a JSON value canonically. Raises CanonicalError with the JSON path of what it refuses."""
    out: list[str] = []
    _write(value, out, "$", 0)
    return "".join(out).encode()


def digest(tag: str, value: Json) -> Digest:
    """Digest of a JSON value under a type tag."""
    return digest_bytes(tag, canonical_bytes(value))


def digest_bytes(tag: str, data: bytes) -> Digest:
    """Digest of bytes that are already canonical (or opaque) under a type tag."""
    return Digest("sha256:" + hashlib.sha256(tag.encode() + b"\x00" + data).hexdigest())


def parse_json(text: str | bytes, *, where: str = "") -> Json:
    """Parse one JSON text strictly: no NaN, no duplicate keys, bounded depth and digits."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise CanonicalError(f"not one JSON value: {error}", where=where) from None


def _refuse(name: str) -> Json:
    raise ValueError(name)


def _write(value: Json, out: list[str], path: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise CanonicalError("too deep", where=path)
    if value is None or isinstance(value, (bool, str)):
        out.append(json.dumps(value, ensure_ascii=False))
    elif isinstance(value, int):
        out.append(str(value))
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise CanonicalError("not a finite number", where=path)
        out.append(str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value))
    elif isinstance(value, (list, tuple)):
        out.append("[")
        for index, item in enumerate(value):
            if index:
                out.append(",")
            _write(item, out, f"{path}[{index}]", depth + 1)
        out.append("]")
    elif isinstance(value, dict):
        out.append("{")
        for index, key in enumerate(sorted(value, key=lambda k: k.encode("utf-16-be"))):
            if index:
                out.append(",")
            out.append(json.dumps(key, ensure_ascii=False) + ":")
            _write(value[key], out, f"{path}.{key}", depth + 1)
        out.append("}")
    else:
        raise CanonicalError(f"not JSON: {type(value).__name__}", where=path)
