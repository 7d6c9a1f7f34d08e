"""Runs of lines -> checked rows; snapshots in a few calls for all of them instead of a few for each.

The checks are those of `rows`, nothing less. When one of them fails, the lines are looked at one by one
there, which gives the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Final

import msgspec

from replay.core.errors import CanonicalError
from replay.core.types import SnapshotKind
from replay.store.archive.canonicity import check_canonical
from replay.store.archive.rows import KEY, MEDIA, SEQUENCES, SNAPSHOT_TABLES, Row, SnapshotLine, decode_line

__all__ = ["choose_decoder"]

_decode_lines: Final = msgspec.json.Decoder(SnapshotLine).decode_lines
_encode_lines: Final = msgspec.json.Encoder().encode_lines


def choose_decoder(table: str) -> Callable[[bytes, Sequence[bytes], int], list[Row]]:
    """Choose how lines of this table are read; the result takes a run, its lines and the number of the first.

    Errors: (of the result) DamagedError or LimitError naming the row.
    """
    kind = SNAPSHOT_TABLES.get(table)
    decode = decode_line(table)

    def decode_run(run: bytes, lines: Sequence[bytes], first: int) -> list[Row]:
        rows = None if kind is None else _decode_snapshots(kind, run, lines)
        if rows is None:
            return [decode(line, number) for number, line in enumerate(lines, start=first)]
        return rows

    return decode_run


def _decode_snapshots(kind: SnapshotKind, run: bytes, lines: Sequence[bytes]) -> list[Row] | None:
    """Decode and check all lines at once, or return None when they must be looked at one by one."""
    try:
        snapshots: list[SnapshotLine] = _decode_lines(run)
        if _encode_lines(snapshots) != run:
            return None
        requests = [bytes(each.request) for each in snapshots]
        metas = [bytes(each.meta) for each in snapshots]
        # One list of canonical values is canonical; each value was delimited by the decoder above.
        check_canonical(b"[%b]" % b",".join(requests))
        if any(meta != b"null" for meta in metas):
            check_canonical(b"[%b]" % b",".join(metas))
    except (msgspec.MsgspecError, RecursionError, CanonicalError):
        return None
    tag = b"%b\x00" % kind.value.encode()
    for each, request in zip(snapshots, requests, strict=True):
        if (
            each.key != "sha256:" + sha256(tag + request).hexdigest()
            or each.kind is not kind
            or (each.aliases and not all(map(KEY.fullmatch, each.aliases)))
            or each.media not in MEDIA
            or each.sequence not in SEQUENCES
        ):
            return None
    return [
        Row((each.key, each.sequence), f"{each.key}#{each.sequence}", line, each, request, meta)
        for each, line, request, meta in zip(snapshots, lines, requests, metas, strict=True)
    ]
