"""Frames of a table member: runs of 256 lines, each an independent zstd frame with a checksum.

Stock `zstd -d` reads the frames as one stream. A frame can be found, bounded and checked without reading the
others, which is what sampled verification and bounded memory rest on. Compressed bytes are never identity.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final

import msgspec
import zstandard

from replay.core.errors import DamagedError, FormatError, LimitError
from replay.store.archive.rows import MAX_LINE_BYTES

__all__ = [
    "FRAME_ROWS",
    "MAX_WINDOW_BYTES",
    "WHOLE_FRAME_BYTES",
    "FrameCompressor",
    "FrameFacts",
    "read_frame",
]

FRAME_ROWS: Final = 256
"""A power of two, so that a frame is one node of the Merkle tree; large enough to compress well."""
MAX_WINDOW_BYTES: Final = 8 << 20
"""Memory one decoder may take; stock zstd allows the same without options."""

_LEVEL: Final = 10
"""Measured on API answers: level 12 saves 3 % and takes three times as long, level 6 costs 6 %."""
WHOLE_FRAME_BYTES: Final = 8 << 20
"""A frame up to this size is compressed and decompressed in one go; a larger one is streamed. It is less than
a line may have, so a frame that is read in one go cannot hold one that is too long."""
_READ_BYTES: Final = 1 << 20
_HEADER_BYTES: Final = 18


class FrameFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """One frame, written as an array of four to keep manifests short."""

    rows: int
    content_bytes: int
    """Length of the uncompressed lines with their line feeds."""
    file_bytes: int
    """Length of the compressed frame inside the member."""
    node: str
    """Hex of the Merkle node above the frame's rows."""


class FrameCompressor:
    """Compresses the lines of one frame after the other; equal lines give equal bytes (same libzstd)."""

    def __init__(self) -> None:
        """Start with an empty frame."""
        self._zstd = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True, write_content_size=True)
        self._lines: list[bytes] = []
        self._buffered = 0
        self._stream: zstandard.ZstdCompressionObj | None = None
        self._out: list[bytes] = []

    def add(self, line: bytes) -> None:
        """Add one line with its line feed."""
        self._lines.append(line)
        self._buffered += len(line)
        if self._buffered > WHOLE_FRAME_BYTES:
            if self._stream is None:
                self._stream = self._zstd.compressobj()
            self._out.append(self._stream.compress(self._take()))

    def finish(self) -> bytes:
        """Close the frame and return its compressed bytes."""
        if self._stream is None:
            return self._zstd.compress(self._take())
        self._out += [self._stream.compress(self._take()), self._stream.flush()]
        self._stream = None
        frame, self._out = b"".join(self._out), []
        return frame

    def _take(self) -> bytes:
        content = b"".join(self._lines)
        self._lines, self._buffered = [], 0
        return content


def read_frame(file: BinaryIO, offset: int, frame: FrameFacts, *, where: str) -> Iterator[bytes]:
    """Iterate over the content of one frame in runs of whole lines, line feeds included.

    Shape:   one run for a frame of ordinary size; a run a line for a larger one: memory stays bounded.
    Errors:  DamagedError when the frame cannot be read or is not as the manifest says; LimitError for a
             window or a line over the bounds.
    """
    file.seek(offset)
    data = file.read(frame.file_bytes)
    if len(data) != frame.file_bytes:
        raise DamagedError("the frame is cut", where=where, expected=f"{frame.file_bytes} bytes")
    try:
        _check_header(data, frame, where)
        if frame.content_bytes <= WHOLE_FRAME_BYTES:
            yield _decompress(data, frame, where)
        else:
            yield from _stream_lines(data, frame, where)
    except zstandard.ZstdError as error:
        raise DamagedError(f"the frame cannot be decompressed: {error}", where=where) from None


def _check_header(data: bytes, frame: FrameFacts, where: str) -> None:
    facts = zstandard.get_frame_parameters(data[:_HEADER_BYTES])
    if facts.dict_id:
        raise DamagedError(
            f"the frame asks for dictionary {facts.dict_id}",
            where=where,
            expected="no dictionary: members must open with stock zstd",
        )
    if facts.content_size not in {frame.content_bytes, zstandard.CONTENTSIZE_UNKNOWN}:
        raise DamagedError(
            f"the frame states {facts.content_size} bytes", where=where, expected=f"{frame.content_bytes}"
        )
    if facts.window_size > MAX_WINDOW_BYTES:
        raise LimitError(
            f"the frame asks for a window of {facts.window_size} bytes",
            where=where,
            expected=f"at most {MAX_WINDOW_BYTES}",
        )
    if not facts.has_checksum:
        raise DamagedError("the frame has no checksum", where=where, expected="a frame with a checksum")


def _decompress(data: bytes, frame: FrameFacts, where: str) -> bytes:
    decoder = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)
    content = decoder.decompress(
        data, max_output_size=frame.content_bytes, read_across_frames=False, allow_extra_data=False
    )
    whole = len(content) == frame.content_bytes and content.endswith(b"\n")
    if not whole or content.count(b"\n") != frame.rows:
        raise _wrong_length(frame, where)
    return content


def _stream_lines(data: bytes, frame: FrameFacts, where: str) -> Iterator[bytes]:
    """Decompress piece by piece: at most one line and one piece are held."""
    decoder = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)
    left, rows, pieces, held = frame.content_bytes, 0, list[bytes](), 0
    with decoder.stream_reader(data, read_across_frames=False) as reader:
        while piece := reader.read(_READ_BYTES):
            left -= len(piece)
            *ended, rest = piece.split(b"\n")
            for end in ended:
                if held + len(end) > MAX_LINE_BYTES:
                    raise _too_long(held + len(end), where)
                yield b"".join((*pieces, end, b"\n"))
                pieces, held, rows = [], 0, rows + 1
            pieces.append(rest)
            held += len(rest)
            if left < 0 or rows > frame.rows:
                raise _wrong_length(frame, where)
            if held > MAX_LINE_BYTES:
                raise _too_long(held, where)
    if left or held or rows != frame.rows:
        raise _wrong_length(frame, where)


def _too_long(size: int, where: str) -> FormatError:
    return LimitError(f"a line of {size} bytes or more", where=where, expected=f"at most {MAX_LINE_BYTES}")


def _wrong_length(frame: FrameFacts, where: str) -> FormatError:
    return DamagedError(
        "the frame holds more or less than the manifest says",
        where=where,
        expected=f"{frame.rows} lines, {frame.content_bytes} bytes",
    )
