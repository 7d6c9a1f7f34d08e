"""Bad input through the command line: one clear line, the right exit code, nothing lost."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.commands import MINI, SOURCES, Answered, read_folder, run_command
from tests.support.data import CHECKOUT
from tests.support.libraries import freeze_library
from tests.support.scripts import answer_turn, write_script

ARCHIVE = CHECKOUT / "snapshots" / f"{MINI}.replay"
QUERIES = "solvable_queries/test_instruction/G1_instruction.json"
ANSWERS = "tool_response_cache/Transportation/tramline_live_for_Transportation/departures.json"


def is_refused(answered: Answered, code: int, message: str) -> None:
    """Nothing on standard output, one line on standard error that says all of the message."""
    assert (code, "") == (answered.code, answered.out), answered
    assert re.search(message, answered.err), answered.err
    assert 1 == len(answered.err.splitlines())
    assert "Traceback" not in answered.err


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of the upstream files of the shipped suite, to be spoilt."""
    return shutil.copytree(SOURCES, tmp_path / "source")


def refuse_import(source: Path, message: str) -> None:
    """Import a spoilt folder over an existing archive: refused, and both stay what they were."""
    target = source.parent / "target"
    target.mkdir()
    (target / "a.replay").write_bytes(b"precious")
    before = read_folder(source.parent)
    words = ("import", "stabletoolbench", source, "-o", target / "a.replay", "--overwrite")
    is_refused(run_command(*words, "--report", target / "report.json"), 3, message)
    assert before == read_folder(source.parent)


def edit_json(path: Path, change: Callable[[list[dict[str, object]]], object]) -> None:
    """Change the records of an upstream file in place."""
    records = json.loads(path.read_text("utf-8"))
    change(records)
    path.write_text(json.dumps(records, ensure_ascii=False), "utf-8")


# ---- import --------------------------------------------------------------------------------------------


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    """The path is named."""
    words = ("import", "stabletoolbench", tmp_path / "nowhere", "-o", tmp_path / "a.replay")
    is_refused(
        run_command(*words), 3, r"no such folder \(nowhere\); expected a folder with.*next: check the path"
    )
    assert {} == read_folder(tmp_path)


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    """What was looked for is listed."""
    (tmp_path / "music").mkdir()
    (tmp_path / "music" / "song.json").write_text("{}")
    words = ("import", "stabletoolbench", tmp_path / "music", "-o", tmp_path / "a.replay")
    is_refused(run_command(*words), 3, r"nothing of StableToolBench.*expected .*solvable_queries")
    assert ["music", "music/song.json"] == list(read_folder(tmp_path))


def test_a_file_instead_of_a_folder(tmp_path: Path) -> None:
    """An archive is no upstream folder."""
    words = ("import", "stabletoolbench", ARCHIVE, "-o", tmp_path / "a.replay")
    is_refused(run_command(*words), 3, r"expected a folder")


def test_an_unknown_benchmark(tmp_path: Path) -> None:
    """The benchmarks that there are are listed."""
    words = ("import", "toolbox", SOURCES, "-o", tmp_path / "a.replay")
    is_refused(run_command(*words), 3, r"no benchmark 'toolbox'; expected one of .*stabletoolbench")


def test_an_unknown_import_option(source: Path) -> None:
    """The options that there are are listed."""
    words = ("import", "stabletoolbench", source, "-o", source.parent / "a.replay", "--option", "speed=1")
    is_refused(run_command(*words), 3, r"unknown import option 'speed'; expected one of failures, filter")


def test_a_file_cut_in_the_middle(source: Path) -> None:
    """File and place are named."""
    path = source / QUERIES
    path.write_bytes(path.read_bytes()[:4321])
    refuse_import(source, r"G1_instruction\.json")


def test_a_cache_file_cut_in_the_middle(source: Path) -> None:
    """Half a cache is refused by the file that is half."""
    path = source / ANSWERS
    path.write_bytes(path.read_bytes()[:100])
    refuse_import(source, r"departures\.json")


@pytest.mark.slow
def test_half_a_cache_is_reported(source: Path) -> None:
    """A cache without some of its files imports, and the report counts what is there."""
    (source / ANSWERS).unlink()
    words = ("import", "stabletoolbench", source, "-o", source.parent / "a.replay", "--json")
    whole = run_command("import", "stabletoolbench", SOURCES, "-o", source.parent / "b.replay", "--json")
    half = run_command(*words)
    assert half.document["rows"]["snapshots-api"] < whole.document["rows"]["snapshots-api"]
    assert half.document["rows"]["tasks"] == whole.document["rows"]["tasks"]


def test_the_same_id_twice(source: Path) -> None:
    """Two queries with one id are named with it."""
    edit_json(source / QUERIES, lambda records: records[1].update(query_id=records[0]["query_id"]))
    refuse_import(source, r"1001.*G1_instruction\.json|G1_instruction\.json.*1001")


def test_nan_among_the_queries(source: Path) -> None:
    """NaN is no JSON, and the place is named."""
    edit_json(source / QUERIES, lambda records: records[0].update(weight=float("nan")))
    refuse_import(source, r"NaN.*G1_instruction\.json|G1_instruction\.json.*NaN")


@pytest.mark.slow
def test_a_response_of_20_mib(source: Path) -> None:
    """A value over the bound is refused by file, size and bound."""
    path = source / ANSWERS
    answers = json.loads(path.read_text("utf-8"))
    first = next(iter(answers))
    answers[first]["response"] = "x" * (20 << 20)
    path.write_text(json.dumps(answers), "utf-8")
    refuse_import(source, r"answer of 209\d+ bytes .*departures\.json.*at most 16777216 bytes")


@pytest.mark.parametrize("where", ["/proc", "/sys"])
def test_a_place_that_cannot_be_written(where: str) -> None:
    """A file system that takes no files is named as such."""
    is_refused(
        run_command("import", "stabletoolbench", SOURCES, "-o", f"{where}/a.replay"),
        3,
        r"cannot write a\.replay: .*; expected a writable folder",
    )


def test_a_report_that_cannot_be_written(tmp_path: Path) -> None:
    """No archive is left behind when the report that was asked for has no place."""
    words = (
        "import",
        "stabletoolbench",
        SOURCES,
        "-o",
        tmp_path / "a.replay",
        "--report",
        "/proc/report.json",
    )
    is_refused(run_command(*words), 3, r"cannot write report\.json.*choose another place")
    assert {} == read_folder(tmp_path)


# ---- outputs and verdicts ------------------------------------------------------------------------------


def make_outputs(stores: Path, run: Path, folder: Path) -> Path:
    """Export a run as converted answers; returns the first file."""
    assert 0 == run_command("export", run, "-o", folder / "cot", "--home", stores).code
    return next(path for path in sorted(folder.rglob("G1_instruction*.json")))


def refuse_score(stores: Path, folder: Path, message: str) -> None:
    """Score a spoilt folder: refused, and it stays what it was."""
    before = read_folder(folder)
    words = ("score", "stabletoolbench", MINI, "--outputs", folder, "--home", stores)
    is_refused(run_command(*words), 3, message)
    assert before == read_folder(folder)


def test_outputs_that_are_cut(stores: Path, tmp_path: Path, cot_run: Path) -> None:
    """File and place are named."""
    path = make_outputs(stores, cot_run, tmp_path)
    path.write_bytes(path.read_bytes()[:999])
    refuse_score(stores, tmp_path / "cot", r"G1_instruction\.json")


def test_an_answer_for_an_unknown_id(stores: Path, tmp_path: Path, cot_run: Path) -> None:
    """An answer to a task that the archive does not have is named with its id."""
    path = make_outputs(stores, cot_run, tmp_path)
    answers = json.loads(path.read_text("utf-8"))
    answers["999999"] = answers["1001"]
    path.write_text(json.dumps(answers), "utf-8")
    refuse_score(stores, tmp_path / "cot", r"999999")


def test_a_verdict_with_an_unknown_status(stores: Path, tmp_path: Path) -> None:
    """A status that no evaluator writes is named with the ones there are."""
    folder = tmp_path / "pass_rate_results" / "cot"
    folder.mkdir(parents=True)
    record = {"query": "q", "is_solved": {"0": "AnswerStatus.Perhaps"}, "compare_details": []}
    (folder / "G1_instruction_cot.json").write_text(json.dumps({"1001": record}))
    refuse_score(stores, tmp_path / "pass_rate_results", r"Perhaps.*(Solved|expected)")


def test_outputs_of_nobody(stores: Path, tmp_path: Path) -> None:
    """An empty folder holds no outputs."""
    (tmp_path / "empty").mkdir()
    refuse_score(stores, tmp_path / "empty", r"expected")


# ---- archives and stores -------------------------------------------------------------------------------


def write_newer(path: Path) -> Path:
    """Write the shipped archive as a later version of the program would have: sound, of format 9."""
    data = ARCHIVE.read_bytes()
    with tarfile.open(ARCHIVE) as archive:
        file = archive.extractfile("manifest.json")
        assert file is not None
        manifest = file.read()
    newer = manifest.replace(b'"format_version":1', b'"format_version":9', 1)
    old_sum, new_sum = (hashlib.sha256(content).hexdigest().encode() for content in (manifest, newer))
    path.write_bytes(data.replace(manifest, newer).replace(old_sum, new_sum))
    return path


@pytest.mark.parametrize("command", [["verify"], ["run"], ["archive", "thaw"], ["archive", "list"]])
def test_an_archive_newer_than_the_program(tmp_path: Path, command: list[str]) -> None:
    """Every command says that a newer program wrote it, and none reads on."""
    newer = write_newer(tmp_path / "newer.replay")
    output = ["-o", str(tmp_path / "store")] if "thaw" in command else []
    home = ["--home", str(tmp_path / "home")] if "run" in command else []
    answered = run_command(*command, newer, *output, *home)
    is_refused(answered, 5, r"archive format version 9.*expected at most version 1; next: upgrade")
    assert ["newer.replay"] == list(read_folder(tmp_path))


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (b"", 3, r"an empty file \(bad\.replay\); expected a frozen archive"),
        (b"PK\x03\x04 not an archive", 3, r"not a tar file \(bad\.replay\); expected a frozen archive"),
        (ARCHIVE.read_bytes()[:50_000], 5, r"cut|truncat|end|short"),
    ],
    ids=["empty", "foreign", "cut"],
)
def test_a_file_that_is_no_archive(tmp_path: Path, content: bytes, code: int, message: str) -> None:
    """What is wrong with the file is said, and no store is left half-built."""
    (tmp_path / "bad.replay").write_bytes(content)
    answered = run_command(
        "run", tmp_path / "bad.replay", "--home", tmp_path / "home", "--out", tmp_path / "run"
    )
    is_refused(answered, code, message)
    assert not [name for name in read_folder(tmp_path) if name.startswith(("run", "home/stores/"))]


def test_a_damaged_archive_builds_no_store(tmp_path: Path) -> None:
    """A flipped byte is found on the way into the store; neither store nor run is begun."""
    data = bytearray(ARCHIVE.read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "bad.replay").write_bytes(data)
    words = ("run", tmp_path / "bad.replay", "--candidate", "cot", "--mode", "strict")
    answered = run_command(*words, "--home", tmp_path / "home", "--out", tmp_path / "run")
    is_refused(answered, 5, r"bad\.replay|jsonl\.zst")
    assert not [name for name in read_folder(tmp_path) if name.startswith(("run", "home/stores/"))]


@pytest.mark.parametrize("name", ["bad/../name", "x" * 200])
def test_a_name_that_no_archive_may_have(tmp_path: Path, name: str) -> None:
    """Names of archives are letters, digits and a few signs."""
    run_command("archive", "thaw", freeze_library(tmp_path / "a.replay"), "-o", tmp_path / "store")
    answered = run_command(
        "archive", "freeze", tmp_path / "store", "-o", tmp_path / "b.replay", "--name", name
    )
    is_refused(answered, 3, r"is not 1 to 100 letters")
    assert not (tmp_path / "b.replay").exists()


def test_a_folder_that_is_no_store(tmp_path: Path) -> None:
    """A foreign data.mdb is never opened."""
    (tmp_path / "data.mdb").write_bytes(b"\x00" * 8192)
    before = read_folder(tmp_path)
    answered = run_command("archive", "freeze", tmp_path, "-o", tmp_path.parent / "b.replay")
    is_refused(answered, 3, r"no store here.*a foreign data\.mdb is never opened")
    assert before == read_folder(tmp_path)


def test_an_overlay_alone_is_no_archive(tmp_path: Path) -> None:
    """What a run added is named as that, with the option that makes it whole; a shipped base goes by name."""
    script = write_script(tmp_path / "s.json", "1001", answer_turn("It rains."))
    words = ("--candidate", f"scripted:{script}", "--select", "1001", "--mode", "record")
    home, overlay, layer = tmp_path / "home", tmp_path / "run" / "overlay", tmp_path / "layer.replay"
    played = run_command("run", "stabletoolbench", *words, "--home", home, "--out", tmp_path / "run")
    assert f"replay archive freeze {overlay} -o NAME.replay --base " in played.out
    freeze = ("archive", "freeze", overlay, "-o", layer)
    is_refused(run_command(*freeze), 3, r"only what was added to an archive.*--base ARCHIVE")
    is_refused(run_command(*freeze, "--name", "a", "--version", "1"), 3, r"added to an archive.*--base")
    is_refused(run_command(*freeze, "--base", "nobody"), 3, r"no archive 'nobody'.*stabletoolbench-mini-1\.0")
    assert not layer.exists()
    assert 0 == run_command(*freeze, "--base", "stabletoolbench", "--home", home).code


def test_a_layer_without_its_base(tmp_path: Path) -> None:
    """The base is named by its root, with what to do; beside the layer it is found."""
    base, layer, home = tmp_path / "base.replay", tmp_path / "far" / "layer.replay", tmp_path / "home"
    layer.parent.mkdir()
    run_command("import", "stabletoolbench", SOURCES, "-o", base)
    script = write_script(tmp_path / "s.json", "1001", answer_turn("It rains."))
    words = ("--candidate", f"scripted:{script}", "--select", "1001", "--mode", "record", "--home", home)
    run_command("run", base, *words, "--out", tmp_path / "run")
    freeze = ("--base", base, "--name", "layer", "--version", "1", "--home", home)
    run_command("archive", "freeze", tmp_path / "run" / "overlay", "-o", layer, *freeze)
    again = (
        "run",
        layer,
        "--mode",
        "strict",
        "--select",
        "1001",
        "--home",
        home,
        "--out",
        tmp_path / "again",
    )
    is_refused(run_command(*again), 3, r"base archive sha256:[0-9a-f]{64} is not here.*name it with --base")
    assert not (tmp_path / "again").exists()
    assert 4 == run_command(*again, "--base", base).code


# ---- runs ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--mode", "fast"), 2, r"unknown mode 'fast' \(--mode\); expected one of: strict, replay, record"),
        (
            ("--candidate", "cto"),
            3,
            r"no candidate 'cto'.*one of: cot, dfs, smollm2-135m, weak; next: did you mean cot\?",
        ),
        ((), 3, r"4 candidates and none was named.*one of: cot, dfs, smollm2-135m, weak"),
        (("--candidate", "robot:x"), 3, r"unknown kind of candidate 'robot'.*scripted:FILE, outputs:PATH"),
        (("--candidate", "cot", "--judge", "me"), 3, r"no judge 'me'.*one of: panel"),
        (
            ("--candidate", "cot", "--reference", "you"),
            3,
            r"no outputs of the reference 'you'.*cot, dfs, weak",
        ),
        (("--candidate", "cot", "--select", "nope*"), 3, r"no task matches 'nope\*'.*G3_instruction"),
        (("--candidate", "cot", "--protocol", "ReAct"), 3, r"unknown protocol 'ReAct'.*CoT@<tries>"),
        (("--candidate", "cot", "--rules", "loose"), 3, r"unusable rules = 'loose'.*compat or strict"),
        (("--candidate", "cot", "--option", "speed=1"), 3, r"unknown option 'speed'.*max_steps"),
        (("--candidate", "cot", "--judge-runs", "1000"), 3, r"judge_runs = 1000.*from 1 to 100"),
        (("--candidate", "cot", "--overlay", "/nowhere"), 3, r"no store here \(/nowhere\)"),
        (
            ("--candidate", "cot", "--base", "/nowhere"),
            3,
            r"nowhere was named as a base of an archive that stands alone",
        ),
    ],
)
def test_a_request_that_cannot_be_run(
    stores: Path, tmp_path: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    """What is wrong is named with what there is, before there is a run directory."""
    answered = run_command("run", MINI, *words, "--home", stores, "--out", tmp_path / "run")
    is_refused(answered, code, message)
    assert {} == read_folder(tmp_path)


def test_a_run_folder_of_another_request(stores: Path, tmp_path: Path, cot_run: Path) -> None:
    """The inputs that differ are named, and the run that is there stays untouched."""
    before = read_folder(cot_run)
    words = ("--candidate", "dfs", "--mode", "strict", "--home", stores, "--out", cot_run)
    is_refused(run_command("run", MINI, *words), 3, r"a run with other inputs: .*candidate.*--out")
    assert before == read_folder(cot_run)


def test_a_folder_with_other_things(stores: Path, tmp_path: Path) -> None:
    """A folder that is no run is left alone."""
    (tmp_path / "thesis.tex").write_text("precious")
    words = ("--candidate", "cot", "--home", stores, "--out", tmp_path)
    is_refused(run_command("run", MINI, *words), 3, r"not a run folder: it holds thesis\.tex")
    assert {"thesis.tex": b"precious"} == read_folder(tmp_path)


@pytest.mark.parametrize("command", [["verify"], ["misses"], ["explain", "1001"], ["export", "-o", "x"]])
def test_a_folder_that_is_no_run(tmp_path: Path, command: list[str]) -> None:
    """Commands that look at runs say what a run is."""
    name, *rest = command
    is_refused(run_command(name, tmp_path, *rest), 3, r"not a run folder: it has no manifest\.json")


def test_a_task_that_is_not_in_the_run(cot_run: Path) -> None:
    """The task is named."""
    is_refused(run_command("explain", cot_run, "9"), 3, r"no episode of task '9', trial 0")


@pytest.mark.parametrize(
    ("key", "message"), [("sha256:12", "is not a key"), ("sha256:" + "0" * 64, "no snapshot under")]
)
def test_a_key_that_is_not_in_the_archive(stores: Path, key: str, message: str) -> None:
    """A wrong key is told from one that is not there."""
    is_refused(run_command("explain", MINI, key, "--home", stores), 3, message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"s\.json"),
        (b"{", r"s\.json"),
        (b"\xff\xfe{}", r"not UTF-8 at byte 0"),
        (b'{"scripts": NaN}', r"NaN.*s\.json|s\.json.*NaN"),
        (b'{"scripts": [], "scripts": []}', r"duplicate|twice"),
        (b'{"scripts": [{"task": 1001, "turns": []}]}', r"documented shape.*\$\.scripts\[0\]\.task"),
        (b'{"scripts": [], "motto": "x"}', r"unknown field `motto`"),
        (
            b'{"scripts": [{"task": "1", "turns": [{"finish": "maybe"}]}]}',
            r"finish 'maybe' is unknown.*one of stop",
        ),
        (b'{"a":' + b"[" * 100_000, r"nested|deep|depth"),
        (b'{"name": "\\ud800"}', r"surrogate"),
        (b'{"name": ' + b"9" * 5000 + b"}", r"s\.json"),
    ],
    ids=["empty", "cut", "utf16", "nan", "twice", "shape", "field", "finish", "deep", "surrogate", "digits"],
)
def test_a_hostile_script(stores: Path, tmp_path: Path, content: bytes, message: str) -> None:
    """A script file that cannot be read is one line with file and place, and no run is begun."""
    (tmp_path / "s.json").write_bytes(content)
    words = ("--candidate", f"scripted:{tmp_path / 's.json'}", "--home", stores, "--out", tmp_path / "run")
    is_refused(run_command("run", MINI, *words), 3, message)
    assert ["s.json"] == list(read_folder(tmp_path))


def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    """A place where no store can be built is named; no run is begun."""
    words = ("--candidate", "cot", "--home", "/proc/nowhere", "--out", tmp_path / "run")
    answered = run_command("run", MINI, *words)
    is_refused(answered, 3, r"/proc/nowhere|nowhere")
    assert {} == read_folder(tmp_path)
