"""One table: written row by row into frames, and read back frame by frame against its Merkle nodes."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator, Sequence
from typing import BinaryIO, Protocol

from replay.core.errors import DamagedError, InputError
from replay.store.archive.bulk import choose_decoder
from replay.store.archive.container import Member, member_sha256
from replay.store.archive.frames import FRAME_ROWS, FrameCompressor, FrameFacts, read_frame
from replay.store.archive.manifest import TableFacts
from replay.store.archive.merkle import leaf_prefix, row_leaf, tree_node
from replay.store.archive.rows import Row

__all__ = ["TableReader", "TableWriter"]


class Hash(Protocol):
    """A hash that bytes are fed to."""

    def update(self, data: bytes, /) -> None:
        """Take the next bytes."""
        ...


class TableWriter:
    """Writes the rows of one table, already sorted, and measures everything the manifest says of it."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        """Write compressed frames to `file` from where it stands."""
        self._name = name
        self._prefix = leaf_prefix(name)
        self._file = file
        self._frame = FrameCompressor()
        self._leaves: list[bytes] = []
        self._frames: list[FrameFacts] = []
        self._frame_bytes = 0
        self._content = hashlib.sha256()
        self._compressed = hashlib.sha256()
        self._last: tuple[Row, bytes] | None = None

    def add(self, row: Row, line: bytes) -> None:
        """Add the next row; an equal one a second time changes nothing.

        Errors: InputError when another row has the same id, or rows are not sorted.
        """
        if self._last is not None and row.order <= self._last[0].order:
            if self._last[1] == line:
                return
            same = row.order == self._last[0].order
            raise InputError(
                "two different rows with one id" if same else "rows that are not sorted by id",
                where=f"table {self._name}, row {row.id!r}",
                expected="one row an id" if same else f"an id after {self._last[0].id!r}",
            )
        self._last = (row, line)
        self._leaves.append(row_leaf(self._prefix, row.id, line))
        self._frame.add(line + b"\n")
        self._content.update(line + b"\n")
        self._frame_bytes += len(line) + 1
        if len(self._leaves) == FRAME_ROWS:
            self._close_frame()

    def finish(self) -> TableFacts | None:
        """Close the last frame and return the facts of the table, or None when it has no rows."""
        if self._leaves:
            self._close_frame()
        if not self._frames:
            return None
        return TableFacts(
            name=self._name,
            rows=sum(frame.rows for frame in self._frames),
            rows_merkle_root=tree_node([bytes.fromhex(frame.node) for frame in self._frames]).hex(),
            content_bytes=sum(frame.content_bytes for frame in self._frames),
            content_sha256=self._content.hexdigest(),
            file_bytes=sum(frame.file_bytes for frame in self._frames),
            file_sha256=self._compressed.hexdigest(),
            frames=tuple(self._frames),
        )

    def _close_frame(self) -> None:
        data = self._frame.finish()
        self._file.write(data)
        self._compressed.update(data)
        self._frames.append(
            FrameFacts(
                rows=len(self._leaves),
                content_bytes=self._frame_bytes,
                file_bytes=len(data),
                node=tree_node(self._leaves).hex(),
            )
        )
        self._leaves, self._frame_bytes = [], 0


class TableReader:
    """Reads a table's frames out of an archive; every row is checked before it is given out."""

    def __init__(self, facts: TableFacts, file: BinaryIO, member: Member) -> None:
        """Read from `file`, where the table is `member`."""
        self.facts = facts
        self._file = file
        self._member = member
        self._offsets = [member.offset]
        for frame in facts.frames:
            self._offsets.append(self._offsets[-1] + frame.file_bytes)
        self._decode = choose_decoder(facts.name)

    def rows(self) -> Iterator[Row]:
        """Iterate over every row, and hold all bytes of the member against the manifest after the last.

        Errors: DamagedError or LimitError naming member and record.
        """
        last: Row | None = None
        for index in range(len(self.facts.frames)):
            last = yield from self.frame_rows(index, after=last)
        if member_sha256(self._file, self._member) != self.facts.file_sha256:
            raise DamagedError(
                "its bytes are not those of the manifest, though every row is right",
                where=self.facts.member,
                expected=f"SHA-256 {self.facts.file_sha256}",
            )

    def frame_rows(
        self, index: int, *, after: Row | None = None, content: Hash | None = None
    ) -> Generator[Row, None, Row | None]:
        """Iterate over the rows of one frame, proven against its Merkle node; returns the last one.

        A frame that is held whole is proven before its first row is given out, a larger one after its last.
        `content` is fed with the uncompressed bytes.
        Errors: DamagedError or LimitError naming member and record.
        """
        facts, frame = self.facts, self.facts.frames[index]
        where = self.frame_name(index)
        prefix = leaf_prefix(facts.name)
        leaves: list[bytes] = []
        held: list[Row] = []
        last = after
        for run in read_frame(self._file, self._offsets[index], frame, where=where):
            if content is not None:
                content.update(run)
            lines = run.split(b"\n")
            lines.pop()  # what follows the last line feed
            rows = self._decode(run, lines, index * FRAME_ROWS + len(leaves))
            self._check_order(rows, last, index * FRAME_ROWS + len(leaves))
            leaves += [row_leaf(prefix, row.id, line) for row, line in zip(rows, lines, strict=True)]
            last = rows[-1]
            if len(rows) == frame.rows:
                held = rows
            else:
                yield from rows
        if tree_node(leaves).hex() != frame.node:
            raise DamagedError(
                "these rows are not the ones the archive root was made of",
                where=where,
                expected=f"Merkle node {frame.node}",
            )
        yield from held
        return last

    def _check_order(self, rows: Sequence[Row], before: Row | None, first: int) -> None:
        order = ("", -1) if before is None else before.order
        for number, row in enumerate(rows, start=first):
            if row.order <= order:
                raise DamagedError(
                    f"row id {row.id!r} is not after the one before it",
                    where=f"{self.facts.member}, row {number}",
                    expected="rows sorted by id, each id once",
                )
            order = row.order

    def frame_name(self, index: int) -> str:
        """Name a frame by its member and rows."""
        first = index * FRAME_ROWS
        return f"{self.facts.member}, rows {first} to {first + self.facts.frames[index].rows - 1}"
