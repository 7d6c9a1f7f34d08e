"""GGUF files: what the reader finds, what it refuses and in which words, what the digests depend on."""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path

import pytest

from replay.core.errors import InputError
from replay.llm.gguf import LongArray, file_sha256, read_gguf, tensor_digest, tensor_digests
from tests.support.gguf_bytes import METADATA, TENSORS, Entry, Tensor, gguf_bytes, string, write_gguf

HUGE = 2**63


def read(tmp_path: Path, data: bytes) -> object:
    """Read these bytes as a file."""
    path = tmp_path / "model.gguf"
    path.write_bytes(data)
    return read_gguf(path)


def test_metadata_comes_out_as_values(tmp_path: Path) -> None:
    """Scalars, strings and short arrays are decoded."""
    found = read_gguf(write_gguf(tmp_path / "m.gguf")).metadata
    assert {
        "general.architecture": "llama",
        "general.name": "Tiny",
        "llama.context_length": 64,
        "llama.rope.freq_base": 0.5,
        "tokenizer.ggml.add_bos_token": True,
        "general.tags": ["a", "b"],
        "llama.short": [1, -2],
    } == {key: value for key, value in found.items() if not isinstance(value, LongArray)}


def test_long_arrays_are_measured_only(tmp_path: Path) -> None:
    """A vocabulary stays in the file; its type and length are known."""
    found = read_gguf(write_gguf(tmp_path / "m.gguf")).metadata
    assert LongArray("string", 100) == found["tokenizer.ggml.tokens"]
    assert LongArray("f32", 70) == found["tokenizer.ggml.scores"]


def test_tensors_know_where_they_lie(tmp_path: Path) -> None:
    """Offsets count from the start of the file, and the bytes there are the tensor's."""
    path = write_gguf(tmp_path / "m.gguf")
    data = path.read_bytes()
    tensors = read_gguf(path).tensors
    assert [("b.weight", "F32", (4, 2)), ("a.weight", "Q8_0", (32,))] == [
        (tensor.name, tensor.type, tensor.shape) for tensor in tensors
    ]
    assert [bytes(range(32)), bytes(range(34))] == [
        data[tensor.offset : tensor.offset + tensor.size_bytes] for tensor in tensors
    ]


def test_version_2_is_read(tmp_path: Path) -> None:
    """Version 2 has the layout of version 3."""
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf_bytes(head=b"GGUF\x02\x00\x00\x00"))
    assert 2 == read_gguf(path).version


def test_accessors_take_only_their_type(tmp_path: Path) -> None:
    """A text is a text and a number is no truth value."""
    gguf = read_gguf(write_gguf(tmp_path / "m.gguf"))
    assert ("llama", "", None, 64) == (
        gguf.architecture,
        gguf.text("llama.context_length"),
        gguf.number("tokenizer.ggml.add_bos_token"),
        gguf.number("llama.context_length"),
    )


@pytest.mark.parametrize("cut", [3, 7, 20, 40, 300, 1200, -40, -1])
def test_a_cut_file_says_so(tmp_path: Path, cut: int) -> None:
    """Wherever a file ends too early, one line says at which byte and what would go past the end."""
    with pytest.raises(InputError, match=r"model\.gguf: (it (is cut off|begins with)|.*announces)"):
        read(tmp_path, gguf_bytes()[:cut])


def test_every_cut_is_found(tmp_path: Path) -> None:
    """No prefix of a file passes for a file."""
    path = write_gguf(tmp_path / "m.gguf", METADATA[-2:], TENSORS)
    passed = []
    for end in range(path.stat().st_size - 1, 0, -1):
        os.truncate(path, end)
        try:
            read_gguf(path)
            passed.append(end)
        except InputError:
            continue
    assert [] == passed


BAD = [
    pytest.param(b"PK\x03\x04" + bytes(60), r"begins with b'PK.*no GGUF file", id="another format"),
    pytest.param(gguf_bytes(head=b"GGUF\x00\x00\x00\x03"), r"it is big-endian", id="big-endian"),
    pytest.param(
        gguf_bytes(head=b"GGUF\x01\x00\x00\x00"), r"version 1 is not one that loads", id="version 1"
    ),
    pytest.param(gguf_bytes(head=b"GGUF\x04\x00\x00\x00"), r"version 4 is not one", id="version 4"),
    pytest.param(gguf_bytes(head=b"GGUF\x00\x00\x00\x00"), r"version 0 is not one", id="version 0"),
    pytest.param(gguf_bytes(counts=(HUGE, 9)), rf"announces {HUGE} tensors", id="absurd tensor count"),
    pytest.param(gguf_bytes(counts=(2, HUGE)), rf"announces {HUGE} metadata keys", id="absurd key count"),
    pytest.param(gguf_bytes(counts=(99, 9)), r"announces 99 tensors", id="tensors that are not there"),
    pytest.param(
        gguf_bytes([*METADATA, METADATA[0]]), r"'general.architecture' is there twice", id="key twice"
    ),
    pytest.param(gguf_bytes([Entry("", "u32", 1)]), r"key 0 '' is empty", id="empty key"),
    pytest.param(
        gguf_bytes([Entry("general.alignment", "u32", 3)]), r"alignment is 3, no power of two", id="alignment"
    ),
    pytest.param(
        gguf_bytes([Entry("general.alignment", "string", "32")]),
        r"alignment is '32', no power",
        id="alignment text",
    ),
    pytest.param(
        gguf_bytes(tensors=[TENSORS[0], TENSORS[0]]), r"'b.weight' is there twice", id="tensor twice"
    ),
    pytest.param(
        gguf_bytes(tensors=[TENSORS[0], TENSORS[1]._replace(offset=0)]),
        r"'.*' and '.*' overlap",
        id="overlap",
    ),
    pytest.param(
        gguf_bytes(tensors=[TENSORS[0]._replace(offset=1 << 40)]),
        r"cut off: the 32 bytes of tensor",
        id="far away",
    ),
    pytest.param(
        gguf_bytes(tensors=[TENSORS[0]._replace(offset=8)]),
        r"lies at 8, not on a multiple of 32",
        id="misaligned",
    ),
    pytest.param(gguf_bytes(tensors=[TENSORS[0]._replace(type=4)]), r"unknown type 4", id="withdrawn type"),
    pytest.param(gguf_bytes(tensors=[TENSORS[0]._replace(type=999)]), r"unknown type 999", id="unknown type"),
    pytest.param(
        gguf_bytes(tensors=[Tensor("t", 8, (33,), bytes(40))]),
        r"impossible shape \[33\] for Q8_0",
        id="part block",
    ),
    pytest.param(gguf_bytes(tensors=[Tensor("t", 0, (0,), b"")]), r"impossible shape \[0\]", id="no weights"),
    pytest.param(
        gguf_bytes(tensors=[Tensor("t", 0, (2**40, 2**40), b"")]),
        r"impossible shape",
        id="shape that overflows",
    ),
    pytest.param(
        gguf_bytes(tensors=[Tensor("t", 0, (1,) * 5, bytes(4))]),
        r"5 dimensions, over 4",
        id="five dimensions",
    ),
    pytest.param(
        gguf_bytes(tensors=[Tensor("n" * 64, 0, (1,), bytes(4))]), r"64 bytes long, over 63", id="name"
    ),
]


@pytest.mark.parametrize(("data", "message"), BAD)
def test_a_wrong_file_is_named(tmp_path: Path, data: bytes, message: str) -> None:
    """Each fault is one line that names the file, the byte and the fault, and nothing is allocated for it."""
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, data)
    assert str(caught.value).startswith("model.gguf: ")


HEAD = b"GGUF\x03\x00\x00\x00" + struct.pack("<QQ", 0, 1)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (string("k") + struct.pack("<IQ", 8, HUGE), r"text of 'k' is \d+ bytes long"),
        (string("k") + struct.pack("<IQ", 8, 4 << 20), r"cut off: the text of 'k'"),
        (string("k") + struct.pack("<I", 13), r"'k' has the unknown type 13"),
        (string("k") + struct.pack("<IIQ", 9, 9, 1), r"array 'k' has elements of the unknown type 9"),
        (string("k") + struct.pack("<IIQ", 9, 4, HUGE), r"array 'k' announces \d+ elements"),
        (string("k") + struct.pack("<IIQ", 9, 8, HUGE), r"array 'k' announces \d+ strings"),
        (
            string("k") + struct.pack("<IIQ", 9, 8, 100) + (string("") * 99) + struct.pack("<Q", HUGE),
            r"cut off: the strings of 'k'",
        ),
        (
            string("k") + struct.pack("<IIQ", 9, 8, 100) + struct.pack("<Q", 500) + bytes(792),
            r"cut off: string \d+ of 'k'",
        ),
        (struct.pack("<Q", HUGE) + bytes(20), r"'metadata key 0' is \d+ bytes long, over 65535"),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, entry: bytes, message: str) -> None:
    """Lengths and types of metadata are compared with what the file can hold."""
    with pytest.raises(InputError, match=message):
        read(tmp_path, HEAD + entry)


def test_text_that_is_not_utf8_is_kept_readable(tmp_path: Path) -> None:
    """A file may say anything in its texts; what is not UTF-8 becomes a replacement character."""
    path = tmp_path / "m.gguf"
    path.write_bytes(HEAD + string("k") + struct.pack("<I", 8) + string(b"\xff\xfe"))
    assert "\ufffd\ufffd" == read_gguf(path).text("k")


@pytest.mark.parametrize("what", ["missing", "folder", "empty"])
def test_what_is_no_file_is_said(tmp_path: Path, what: str) -> None:
    """A path without a file, a folder and an empty file are named as such."""
    path = tmp_path / "x.gguf"
    if what == "folder":
        path.mkdir()
    elif what == "empty":
        path.touch()
    with pytest.raises(InputError, match=r"no such file: x.gguf|not a file: x.gguf|x.gguf is empty"):
        read_gguf(path)


def test_the_file_hash_is_sha256(tmp_path: Path) -> None:
    """The file's digest is what `sha256sum` prints."""
    path = write_gguf(tmp_path / "m.gguf")
    assert hashlib.sha256(path.read_bytes()).hexdigest() == file_sha256(path)


def test_an_edited_name_changes_the_file_only(tmp_path: Path) -> None:
    """A metadata edit changes the file's hash and leaves the digest of the weights."""
    before = write_gguf(tmp_path / "a.gguf")
    edited = [entry._replace(value="Other") if entry.key == "general.name" else entry for entry in METADATA]
    after = write_gguf(tmp_path / "b.gguf", edited)
    assert file_sha256(before) != file_sha256(after)
    assert tensor_digest(before) == tensor_digest(after)


def test_every_flipped_bit_of_a_weight_shows(tmp_path: Path) -> None:
    """One bit of one tensor changes the digest of that tensor, of the weights, and of no other tensor."""
    path = write_gguf(tmp_path / "m.gguf")
    before, whole = tensor_digests(path), tensor_digest(path)
    tensor = read_gguf(path).tensors[0]
    data = bytearray(path.read_bytes())
    for position in range(tensor.offset, tensor.offset + tensor.size_bytes):
        data[position] ^= 1 << position % 8
        path.write_bytes(data)
        after = tensor_digests(path)
        assert ["b.weight"] == [name for name, digest in after.items() if digest != before[name]]
        assert whole != tensor_digest(path)
        data[position] ^= 1 << position % 8


def test_the_order_in_the_file_does_not_matter(tmp_path: Path) -> None:
    """Two files with the same tensors in another order hold the same weights."""
    one = write_gguf(tmp_path / "a.gguf")
    two = write_gguf(tmp_path / "b.gguf", tensors=TENSORS[::-1])
    assert tensor_digest(one) == tensor_digest(two)


@pytest.mark.parametrize(
    "other",
    [
        TENSORS[0]._replace(name="c.weight"),
        TENSORS[0]._replace(shape=(2, 4)),
        TENSORS[0]._replace(type=26),
    ],
    ids=["name", "shape", "type"],
)
def test_name_shape_and_type_are_weights_too(tmp_path: Path, other: Tensor) -> None:
    """The same bytes under another name, in another shape or of another type are other weights."""
    one = write_gguf(tmp_path / "a.gguf")
    two = write_gguf(tmp_path / "b.gguf", tensors=[other, TENSORS[1]])
    assert tensor_digest(one) != tensor_digest(two)


def test_padding_is_no_weight(tmp_path: Path) -> None:
    """Bytes between and behind the tensors belong to the file, not to the weights."""
    path = write_gguf(tmp_path / "m.gguf")
    before = tensor_digest(path)
    path.write_bytes(path.read_bytes() + b"more")
    assert before == tensor_digest(path)
