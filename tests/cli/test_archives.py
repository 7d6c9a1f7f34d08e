"""`import` and `archive freeze | thaw | verify | list | diff | sign`."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import msgspec
import pytest

from tests.support.commands import MINI, SOURCES, read_folder, run_command
from tests.support.data import CHECKOUT
from tests.support.libraries import freeze_library

ARCHIVE = CHECKOUT / "snapshots" / f"{MINI}.replay"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of the shipped suite, imported."""
    path = tmp_path_factory.mktemp("imported") / "mini.replay"
    assert 0 == run_command("import", "stabletoolbench", SOURCES, "-o", path).code
    return path


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a new key pair."""
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    folder = tmp_path_factory.mktemp("keys")
    private = ed25519.Ed25519PrivateKey.generate()
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(private.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    public = private.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    (folder / "key.pub").write_bytes(public)
    return folder


def test_an_import_reports_everything(tmp_path: Path) -> None:
    """The document holds root, rows and the report; --report writes the same report; text shows it too."""
    words = ("import", "stabletoolbench", SOURCES, "-o", tmp_path / "a.replay")
    document = run_command(*words, "--report", tmp_path / "report.json", "--json").document
    assert {"tasks": 33, "tools": 67} == {name: document["rows"][name] for name in ("tasks", "tools")}
    assert 33 == document["report"]["queries"]["total"]
    assert document["report"] == msgspec.json.decode((tmp_path / "report.json").read_bytes())
    shown = run_command(*words)
    assert f"root     {document['root']}" in shown.out
    assert "suffix-ambiguous-names: 1" in shown.out


@pytest.mark.slow
def test_importing_again_gives_the_same_bytes(tmp_path: Path, imported: Path) -> None:
    """The same files in another folder give the same archive, byte for byte."""
    shutil.copytree(SOURCES, tmp_path / "elsewhere")
    run_command("import", "stabletoolbench", tmp_path / "elsewhere", "-o", tmp_path / "b.replay")
    assert imported.read_bytes() == (tmp_path / "b.replay").read_bytes()


def test_another_archive_is_not_written_over(tmp_path: Path) -> None:
    """Other content at the place is refused and left alone; the word --overwrite replaces it."""
    shutil.copyfile(ARCHIVE, tmp_path / "a.replay")
    before = read_folder(tmp_path)
    words = ("import", "stabletoolbench", SOURCES, "-o", tmp_path / "a.replay")
    refused = run_command(*words)
    assert 3 == refused.code
    assert re.search("a file with other content is already there.*--overwrite", refused.err)
    assert before == read_folder(tmp_path)
    assert 0 == run_command(*words, "--overwrite").code
    assert before != read_folder(tmp_path)


@pytest.mark.slow
def test_what_is_thawed_freezes_to_the_same_bytes(tmp_path: Path) -> None:
    """freeze(thaw(a)) is a, through the command line."""
    thawed = run_command("archive", "thaw", ARCHIVE, "-o", tmp_path / "store", "--json")
    frozen = run_command("archive", "freeze", tmp_path / "store", "-o", tmp_path / "b.replay", "--json")
    assert thawed.document["root"] == frozen.document["root"]
    assert ARCHIVE.read_bytes() == (tmp_path / "b.replay").read_bytes()


def test_a_store_is_not_thawed_over(tmp_path: Path) -> None:
    """A folder that holds something is refused and left alone."""
    archive = freeze_library(tmp_path / "a.replay")
    run_command("archive", "thaw", archive, "-o", tmp_path / "store")
    before = read_folder(tmp_path)
    answered = run_command("archive", "thaw", archive, "-o", tmp_path / "store")
    assert 3 == answered.code
    assert re.search("something is there already.*expected a new or empty folder", answered.err)
    assert before == read_folder(tmp_path)


def test_an_archive_can_be_renamed(tmp_path: Path) -> None:
    """Name and version are statements: the root stays, and the difference is named."""
    archive = freeze_library(tmp_path / "a.replay")
    run_command("archive", "thaw", archive, "-o", tmp_path / "store")
    words = ("--name", "other", "--version", "2")
    run_command("archive", "freeze", tmp_path / "store", "-o", tmp_path / "b.replay", *words)
    answered = run_command("archive", "diff", archive, tmp_path / "b.replay", "--json")
    assert (1, ["name", "version"], []) == (
        answered.code,
        answered.document["facts"],
        answered.document["items"],
    )
    assert answered.document["left_root"] == answered.document["right_root"]


@pytest.mark.parametrize("word", ["verify", "archive verify"])
@pytest.mark.slow
def test_a_sound_archive_verifies(word: str) -> None:
    """Both commands check every row and say what they covered."""
    document = run_command(*word.split(), ARCHIVE, "--json").document
    assert (True, []) == (document["ok"], document["findings"])
    assert document["rows_total"] == document["rows_checked"]
    assert re.search("every byte of the file", document["covered"])


def test_a_sample_says_what_it_covered() -> None:
    """A part of the rows is checked, chosen by the root, and the answer says which part."""
    document = run_command("verify", ARCHIVE, "--sample", "0.1", "--json").document
    assert 0 < document["rows_checked"] < document["rows_total"]
    assert re.search("chosen by the archive root", document["covered"])


@pytest.mark.slow
def test_a_flipped_byte_is_named(tmp_path: Path) -> None:
    """One wrong byte is exit 5, with the member that holds it."""
    data = bytearray(ARCHIVE.read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "bad.replay").write_bytes(data)
    answered = run_command("verify", tmp_path / "bad.replay")
    assert 5 == answered.code
    assert re.search(r"(?m)^damaged: \S+\.jsonl\.zst ", answered.out)
    assert re.search(r"(?m)^\d+ findings?$", answered.out)


def test_shipped_archives_tables_and_rows_are_listed() -> None:
    """Without a name all shipped archives; with one its tables; with a table its row ids."""
    shipped = run_command("archive", "list", "--json").documents
    assert (MINI, "stabletoolbench") in [(archive["archive"], archive["benchmark"]) for archive in shipped]
    tables = {
        table["name"]: table["rows"]
        for table in run_command("archive", "list", MINI, "--json").document["tables"]
    }
    rows = run_command("archive", "list", MINI, "--table", "tasks").out.split()
    assert (tables["tasks"], "1001") == (len(rows), rows[0])
    assert [
        {"table": "candidates", "id": name} for name in ("cot", "dfs", "smollm2-135m", "weak")
    ] == run_command("archive", "list", MINI, "--table", "candidates", "--json").documents


def test_a_known_difference_is_listed_with_its_reason() -> None:
    """What upstream does and why strict does not stands under the name of each difference."""
    words = ("archive", "list", MINI, "--table", "differences")
    first = run_command(*words, "--json").documents[0]
    assert {"table", "id", "source", "what", "why"} == first.keys()
    assert f"{first['id']}\n  what  {first['what']}\n  why   {first['why']}\n" in run_command(*words).out


def test_an_unknown_table_lists_the_tables() -> None:
    """A wrong table is bad input, with all that there are."""
    answered = run_command("archive", "list", MINI, "--table", "songs")
    assert (3, "") == (answered.code, answered.out)
    assert re.search("no table 'songs'.*one of: candidates, .*, tasks, tools", answered.err)


@pytest.mark.slow
def test_a_changed_answer_is_found_by_diff(tmp_path: Path, imported: Path) -> None:
    """Two archives that differ in one recorded answer differ in one item, named with its path; exit 1."""
    shutil.copytree(SOURCES, tmp_path / "sources")
    file = next(iter(sorted((tmp_path / "sources" / "tool_response_cache").rglob("departures.json"))))
    answers = json.loads(file.read_text("utf-8"))
    first = next(iter(answers))
    answers[first]["response"] = "no trams today"
    file.write_text(json.dumps(answers), "utf-8")
    run_command("import", "stabletoolbench", tmp_path / "sources", "-o", tmp_path / "b.replay")
    answered = run_command("archive", "diff", imported, tmp_path / "b.replay", "--json")
    changed = [item for item in answered.document["items"] if item["table"] == "snapshots-api"]
    assert (1, ["changed"]) == (answered.code, [item["change"] for item in changed])
    assert run_command("archive", "diff", imported, imported).out.endswith("same\n")


@pytest.mark.slow
def test_a_signature_holds_until_something_changes(tmp_path: Path, keys: Path) -> None:
    """Signed and verified with the key: 0. Without a signature, or by another archive: 1, with the reason."""
    freeze_library(tmp_path / "a.replay")
    signed = run_command("archive", "sign", tmp_path / "a.replay", "--key", keys / "key.pem", "--json")
    assert (0, "a.replay.sig.json") == (signed.code, signed.document["signature"])
    assert 0 == run_command("verify", tmp_path / "a.replay", "--key", keys / "key.pub").code
    freeze_library(tmp_path / "b.replay", judges=["other"])
    unsigned = run_command("verify", tmp_path / "b.replay", "--key", keys / "key.pub")
    assert 1 == unsigned.code
    assert re.search("there is no signature file beside the archive", unsigned.out)
    assert "ok" not in unsigned.out.splitlines()
    shutil.copyfile(tmp_path / "a.replay.sig.json", tmp_path / "b.replay.sig.json")
    assert 1 == run_command("verify", tmp_path / "b.replay", "--key", keys / "key.pub").code


@pytest.mark.slow
def test_a_damaged_archive_is_not_signed(tmp_path: Path, keys: Path) -> None:
    """Nobody's name gets under bytes that do not verify."""
    data = bytearray(ARCHIVE.read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "bad.replay").write_bytes(data)
    answered = run_command("archive", "sign", tmp_path / "bad.replay", "--key", keys / "key.pem")
    assert 5 == answered.code
    assert re.search("the archive does not verify", answered.err)
    assert ["bad.replay"] == list(read_folder(tmp_path))
