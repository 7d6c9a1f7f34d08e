"""The weights folder: what is put in, found, refused and verified."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from replay.core.errors import DamagedError, InputError, ModelError, StoreError
from replay.llm.gguf import tensor_digest
from replay.llm.weights import ModelLibrary
from tests.support.commands import read_folder
from tests.support.gguf_bytes import METADATA, TENSORS, Entry, gguf_bytes, write_gguf
from tests.support.wheels import make_manifest

DATA = gguf_bytes()
SHA256 = hashlib.sha256(DATA).hexdigest()


def make_library(tmp_path: Path, *, pinned: bool = False) -> ModelLibrary:
    """Build a library in an empty folder, knowing the toy manifest or nothing."""
    return ModelLibrary(tmp_path / "home", [make_manifest(tmp_path / "wheels")] if pinned else ())


def test_a_file_is_copied_and_described(tmp_path: Path) -> None:
    """The copy lies read-only under its hash; facts name digests, kind and template."""
    source = write_gguf(tmp_path / "My Model.gguf")
    row = make_library(tmp_path).add(source)
    assert (tmp_path / "home" / f"{SHA256}.gguf") == row.path
    assert DATA == row.path.read_bytes()
    assert 0o444 == row.path.stat().st_mode & 0o777
    assert ("my-model", SHA256, tensor_digest(source), "generator", "file", False, ()) == (
        row.name,
        row.file_sha256,
        row.tensor_digest,
        row.facts.kind,
        row.facts.source,
        row.facts.has_chat_template,
        row.facts.clock_names,
    )


def test_a_template_that_asks_for_the_time_is_flagged(tmp_path: Path) -> None:
    """What the template calls is a fact of the model."""
    entry = Entry("tokenizer.chat_template", "string", "{{ strftime_now('%d') }}{{ messages }}")
    row = make_library(tmp_path).add(write_gguf(tmp_path / "m.gguf", [*METADATA, entry]))
    assert (True, ("strftime_now",)) == (row.facts.has_chat_template, row.facts.clock_names)


def test_adding_twice_changes_nothing(tmp_path: Path) -> None:
    """The second time the file is only looked at."""
    library = make_library(tmp_path)
    source = write_gguf(tmp_path / "m.gguf")
    library.add(source)
    before = read_folder(library.home)
    library.add(source)
    assert before == read_folder(library.home)


def test_adding_a_fetched_file_keeps_where_it_came_from(tmp_path: Path) -> None:
    """A model that is here stays as it was registered, source included."""
    library = make_library(tmp_path)
    library.put([DATA], sha256=SHA256, size_bytes=len(DATA))
    fetched = library.register(SHA256, name="toy", source="toy-part1 1.0.0")
    assert fetched == library.add(write_gguf(tmp_path / "m.gguf"))


def test_another_name_is_taken_over(tmp_path: Path) -> None:
    """Adding a file again under another name renames it."""
    library = make_library(tmp_path)
    source = write_gguf(tmp_path / "m.gguf")
    library.add(source)
    library.add(source, name="better")
    assert ["better"] == [row.name for row in library.list()]


def test_a_removed_model_is_gone(tmp_path: Path) -> None:
    """Weights, facts and self-tests go together."""
    library = make_library(tmp_path)
    row = library.add(write_gguf(tmp_path / "m.gguf"))
    library.store_selftest(row, row.tensor_digest, {})
    library.remove(row)
    assert {} == read_folder(library.home)


def test_a_pinned_file_gets_its_name(tmp_path: Path) -> None:
    """A file that a manifest pins is that model, whatever the file was called."""
    row = make_library(tmp_path, pinned=True).add(write_gguf(tmp_path / "download(1).gguf"))
    assert ("toy", "toy") == (row.name, row.facts.manifest)


def test_another_file_cannot_take_a_pinned_name(tmp_path: Path) -> None:
    """Asking for a model's name with other bytes is a wrong SHA-256, exit 6, and nothing is kept."""
    library = make_library(tmp_path, pinned=True)
    other = write_gguf(tmp_path / "m.gguf", METADATA[1:])
    other.write_bytes(gguf_bytes([METADATA[0], Entry("general.name", "string", "Other")]))
    with pytest.raises(
        ModelError, match=rf"m\.gguf is not toy: its SHA-256 is .*expected {SHA256}"
    ) as caught:
        library.add(other, name="toy")
    assert 6 == caught.value.exit_code
    assert {} == read_folder(library.home)


def test_a_name_means_one_model(tmp_path: Path) -> None:
    """A second file cannot have the name of the first."""
    library = make_library(tmp_path)
    library.add(write_gguf(tmp_path / "m.gguf"))
    (tmp_path / "other").mkdir()
    other = write_gguf(tmp_path / "other" / "m.gguf", METADATA[:1])
    with pytest.raises(InputError, match=r"another model is named 'm' \(--name\)"):
        library.add(other)
    assert ["m"] == [row.name for row in library.list()]


@pytest.mark.parametrize("name", ["Big", "a/b", "..", "-x", "a" * 65, "a b"])
def test_a_name_is_plain(tmp_path: Path, name: str) -> None:
    """Names are words that a shell, a file and a key can hold."""
    with pytest.raises(InputError, match=r"not a name for a model"):
        make_library(tmp_path).add(write_gguf(tmp_path / "m.gguf"), name=name)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (DATA[:-1], InputError, r"it is cut off"),
        (b"GGUF", InputError, r"it is cut off"),
        (gguf_bytes(tensors=()), ModelError, r"vocabulary only"),
        (gguf_bytes([Entry("general.architecture", "string", "bert")]), ModelError, r"an embedding model"),
    ],
)
def test_a_useless_file_leaves_nothing(
    tmp_path: Path, data: bytes, error: type[Exception], message: str
) -> None:
    """What cannot generate is refused before anything is copied."""
    (tmp_path / "m.gguf").write_bytes(data)
    library = make_library(tmp_path)
    with pytest.raises(error, match=message):
        library.add(tmp_path / "m.gguf")
    assert {} == read_folder(library.home)


def test_bytes_that_are_not_the_digest_are_not_kept(tmp_path: Path) -> None:
    """A stream that ends early, or says something else, leaves no file."""
    library = make_library(tmp_path)
    for chunks in ([DATA[:100]], [DATA, b"x"], [bytes(len(DATA))]):
        with pytest.raises(
            ModelError, match=rf"expected {len(DATA)} bytes with SHA-256 {SHA256}.*nothing was kept"
        ):
            library.put(chunks, sha256=SHA256, size_bytes=len(DATA))
    assert [] == list(library.home.iterdir())


def test_a_broken_copy_is_put_right(tmp_path: Path) -> None:
    """Weights that no longer have their hash are copied again."""
    library = make_library(tmp_path)
    source = write_gguf(tmp_path / "m.gguf")
    row = library.add(source)
    row.path.chmod(0o644)
    row.path.write_bytes(b"damaged")
    library.add(source)
    assert DATA == row.path.read_bytes()


@pytest.mark.parametrize("word", ["m", SHA256, SHA256[:8], f"sha256:{SHA256}"])
def test_a_model_is_found_by_name_or_digest(tmp_path: Path, word: str) -> None:
    """A name, or eight digits and more of the file's digest."""
    library = make_library(tmp_path)
    assert library.add(write_gguf(tmp_path / "m.gguf")) == library.find(word)


def test_a_model_is_found_by_its_weights(tmp_path: Path) -> None:
    """The digest of the weights, which keys name, finds it too."""
    library = make_library(tmp_path)
    row = library.add(write_gguf(tmp_path / "m.gguf"))
    assert row == library.find(row.tensor_digest)


def test_weights_in_two_files_need_the_file(tmp_path: Path) -> None:
    """A digest that two files have is not decided by guessing."""
    library = make_library(tmp_path)
    row = library.add(write_gguf(tmp_path / "a.gguf"))
    library.add(write_gguf(tmp_path / "b.gguf", METADATA[:-1]))
    with pytest.raises(ModelError, match=r"is 2 models"):
        library.find(row.tensor_digest)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("toy", r"there is no model 'toy'; expected one of those here \(m\); next: replay models fetch toy"),
        ("x", r"next: replay models add FILE\.gguf --name x; by name can be fetched: toy"),
        (SHA256[:7], r"there is no model"),
    ],
)
def test_a_missing_model_says_how_to_get_it(tmp_path: Path, word: str, message: str) -> None:
    """Exit 6, what is here, and the command that brings it."""
    library = make_library(tmp_path, pinned=True)
    library.add(write_gguf(tmp_path / "m.gguf", METADATA[:1]))
    with pytest.raises(ModelError, match=message) as caught:
        library.find(word)
    assert 6 == caught.value.exit_code


def test_weights_that_are_gone_are_no_model(tmp_path: Path) -> None:
    """Facts without weights are an error that names the file."""
    library = make_library(tmp_path)
    row = library.add(write_gguf(tmp_path / "m.gguf"))
    os.truncate(row.path, 50)
    with pytest.raises(ModelError, match=rf"weights of m are gone or cut \({SHA256}\.gguf\)"):
        library.find("m")


def test_verify_finds_every_change(tmp_path: Path) -> None:
    """One flipped weight changes both digests, an edited name the file's only."""
    library = make_library(tmp_path)
    row = library.add(write_gguf(tmp_path / "m.gguf"))
    assert () == library.verify(row)
    row.path.chmod(0o644)
    row.path.write_bytes(DATA[:-1] + b"\0")
    assert 2 == len(library.verify(row))
    row.path.write_bytes(DATA.replace(b"Tiny", b"Thin"))
    (fault,) = library.verify(row)
    assert fault.startswith("the file has SHA-256 ")
    row.path.write_bytes(DATA[:-5])
    assert "it is cut off" in library.verify(row)[0]


def test_facts_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    """A damaged description is never taken for a missing model."""
    library = make_library(tmp_path)
    library.add(write_gguf(tmp_path / "m.gguf"))
    (library.home / f"{SHA256}.model.json").write_text('{"name": 3}', "utf-8")
    with pytest.raises(DamagedError, match=rf"not the facts of a model: .*\({SHA256}\.model\.json\)"):
        library.list()


def test_self_tests_are_kept_by_build(tmp_path: Path) -> None:
    """What was found out on one build says nothing about another."""
    library = make_library(tmp_path)
    row = library.add(write_gguf(tmp_path / "m.gguf"))
    one, two = tensor_digest(row.path), tensor_digest(write_gguf(tmp_path / "x.gguf", tensors=TENSORS[:1]))
    library.store_selftest(row, one, {"schedule": "invariant"})
    assert [{"schedule": "invariant"}, None] == [library.selftest(row, build) for build in (one, two)]


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    """A file where the folder should be is one line with what to do."""
    (tmp_path / "home").write_text("in the way", "utf-8")
    with pytest.raises(StoreError, match=r"cannot make the weights folder.*REPLAY_MODELS"):
        make_library(tmp_path).add(write_gguf(tmp_path / "m.gguf"))


def test_an_empty_home_has_no_models(tmp_path: Path) -> None:
    """A folder that is not there yet is an empty library."""
    assert () == make_library(tmp_path).list()
