"""Laws of the GGUF reader: no bytes make it fail in another way than by saying what is wrong."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from replay.core.errors import InputError
from replay.llm.gguf import read_gguf, tensor_digest
from replay.llm.model_kinds import survey_model
from replay.llm.template_scan import find_clock_use
from tests.support.gguf_bytes import Entry, Tensor, gguf_bytes

BASE = gguf_bytes()

flips = st.lists(
    st.tuples(st.integers(0, len(BASE) - 1), st.binary(min_size=1, max_size=8)), min_size=1, max_size=4
)
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
entries = st.lists(
    st.one_of(
        st.builds(Entry, names, st.just("string"), st.text(st.characters(codec="utf-8"), max_size=40)),
        st.builds(Entry, names, st.just("u32"), st.integers(0, 2**32 - 1)),
        st.builds(Entry, names, st.just("bool"), st.booleans()),
        st.builds(Entry, names, st.just("[i32]"), st.lists(st.integers(-(2**31), 2**31 - 1), max_size=90)),
    ),
    unique_by=lambda entry: entry.key,
    max_size=6,
)


def read(data: bytes) -> None:
    """Read bytes as a file and look at everything that is read from files."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.gguf"
        path.write_bytes(data)
        survey = survey_model(read_gguf(path))
        find_clock_use(survey.chat_template)
        tensor_digest(path)


@given(flips)
def test_changed_bytes_are_read_or_refused(changes: list[tuple[int, bytes]]) -> None:
    """A file with any bytes overwritten is either a file or an InputError."""
    data = bytearray(BASE)
    for at, new in changes:
        data[at : at + len(new)] = new[: len(data) - at]
    try:
        read(bytes(data))
    except InputError:
        return


@given(st.binary(max_size=200))
def test_any_bytes_after_the_magic_are_read_or_refused(tail: bytes) -> None:
    """So is anything that begins like one."""
    try:
        read(b"GGUF\x03\x00\x00\x00" + tail)
    except InputError:
        return


@given(entries, st.lists(st.binary(min_size=4, max_size=4), max_size=5))
def test_what_is_written_is_read(metadata: list[Entry], weights: list[bytes]) -> None:
    """Metadata and tensors come back as they were written."""
    kept = [entry for entry in metadata if entry.key != "general.alignment"]
    tensors = [Tensor(f"t{number}", 0, (1,), data) for number, data in enumerate(weights)]
    data = gguf_bytes(kept, tensors)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.gguf"
        path.write_bytes(data)
        gguf = read_gguf(path)
    short = {
        entry.key: entry.value for entry in kept if not entry.type.startswith("[") or len(entry.value) <= 64
    }
    assert short == {key: value for key, value in gguf.metadata.items() if key in short}
    assert {entry.key for entry in kept} == gguf.metadata.keys()
    assert weights == [data[tensor.offset : tensor.offset + 4] for tensor in gguf.tensors]
