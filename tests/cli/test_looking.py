"""`verify`, `compare`, `explain`, `misses`, `export`, `doctor`, `shipped`: looking at what is there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from tests.support.commands import MINI, SOURCES, read_folder, run_command
from tests.support.data import CHECKOUT
from tests.support.scripts import write_script

ARCHIVE = CHECKOUT / "snapshots" / f"{MINI}.replay"


def test_a_sound_run_verifies(stores: Path, cot_run: Path) -> None:
    """Every episode is re-hashed, scored again and, on request, played again to the same steps."""
    before = read_folder(cot_run)
    document = run_command("verify", cot_run, "--recompute", "--home", stores, "--json").document
    assert (True, 7, 7, 7) == (
        document["ok"],
        document["episodes"],
        document["rescored"],
        document["recomputed"],
    )
    assert before == read_folder(cot_run)


def test_a_run_without_its_archive_says_what_was_not_checked(
    stores: Path, tmp_path: Path, cot_run: Path
) -> None:
    """A run of an archive that is not to be had is re-hashed only, and the answer says so."""
    for name, content in read_folder(cot_run).items():
        (tmp_path / name).write_bytes(content)
    manifest = tmp_path / "manifest.json"
    archive = re.compile(rb'("stabletoolbench-mini":"sha256:)[0-9a-f]{64}')
    manifest.write_bytes(archive.sub(rb"\g<1>" + b"0" * 64, manifest.read_bytes()))
    document = run_command("verify", tmp_path, "--home", stores, "--json").document
    assert 0 == document["rescored"]
    assert re.search("is not a shipped one.*--archive", document["not_rescored"])


@pytest.mark.parametrize("option", [["--sample", "0.1"], ["--key", "key.pem"]])
def test_options_of_archives_are_refused_for_runs(cot_run: Path, option: list[str]) -> None:
    """An option that would be without effect is a usage error."""
    answered = run_command("verify", cot_run, *option)
    assert 2 == answered.code
    assert re.search(f"{option[0]} means nothing for a run", answered.err)


def test_options_of_runs_are_refused_for_archives() -> None:
    """Nobody must believe that an archive was checked against a candidate."""
    answered = run_command("verify", ARCHIVE, "--candidate", "cot")
    assert 2 == answered.code
    assert re.search("--candidate means nothing for an archive", answered.err)


def test_an_archive_without_generated_answers_says_so(stores: Path, tmp_path: Path) -> None:
    """Recomputing looks for what a local model has made; imported data holds none of it."""
    archive = tmp_path / "a.replay"
    run_command("import", "stabletoolbench", SOURCES, "-o", archive)
    document = run_command("verify", archive, "--recompute", "--home", stores, "--json").document
    assert {"generated": 0, "recomputed": 0, "elsewhere": {}, "differ": []} == document["answers"]


def test_answers_of_a_model_that_is_not_here_are_counted(stores: Path) -> None:
    """What the shipped suite's model said cannot be computed again without it, and that is no fault."""
    answered = run_command("verify", ARCHIVE, "--recompute", "--home", stores, "--json")
    answers = answered.document["answers"]
    assert (0, 0, []) == (answered.code, answers["recomputed"], answers["differ"])
    assert answers["generated"] == sum(answers["elsewhere"].values()) > 0


def test_equal_runs_compare_as_one(cot_run: Path) -> None:
    """A run compared with itself is the same, with exit 0 and no difference in any list."""
    answered = run_command("compare", cot_run, cot_run, "--json")
    document = answered.document
    assert (0, True) == (answered.code, document["same"])
    assert [[], [], []] == [document["inputs"], document["diverged"], document["changed"]]


def test_different_runs_are_compared_step_by_step(stores: Path, tmp_path: Path, cot_run: Path) -> None:
    """The first differing step of each episode, changed verdicts and deltas on shared items are named."""
    words = ("--candidate", "weak", "--mode", "strict", "--select", "100[1-5]", "--home", stores)
    run_command("run", MINI, *words, "--out", tmp_path / "weak")
    answered = run_command("compare", cot_run, tmp_path / "weak", "--content")
    assert 1 == answered.code
    assert re.search(
        r"^input differs  inputs\.models\.candidate\.name: 'mini-cot' left, 'mini-weak'",
        answered.out,
        re.MULTILINE,
    )
    assert re.search(r"(?m)^only in left: 2 episodes, the first 1006 trial 0", answered.out)
    assert re.search(r"(?m)^task 1002 trial 0 first differs in step 0 at \$\.completion", answered.out)
    assert re.search(r"(?m)^verdict SoPR \(compat\) task \d+ trial 0: 1\.000 -> 0\.000", answered.out)
    assert re.search(r"(?m)^SoPR \(strict\) .* delta -0\.\d+ .* on 5 shared items", answered.out)
    assert answered.out.endswith("different run roots\n")


def test_a_task_is_explained_from_question_to_verdict(cot_run: Path) -> None:
    """Each step says who answered, by which lookup and key; each verdict says why."""
    document = run_command("explain", cot_run, "1001", "--json").document
    kinds = [step["kind"] for step in document["steps"]]
    call = next(step for step in document["steps"] if step["kind"] == "call")
    assert "completion" == kinds[0]
    assert ("scripted", "python-repr") == (call["provenance"], call["lookup"])
    assert re.fullmatch("sha256:[0-9a-f]{64}", call["key"])
    assert {"SoPR", "FAC"} <= {verdict["metric"] for verdict in document["verdicts"]}
    assert document["judged"]


def test_an_explanation_for_eyes_is_laid_out_to_the_last_leaf(cot_run: Path) -> None:
    """Verdicts and judgements stand one value a line, and what is empty is a dash."""
    lines = run_command("explain", cot_run, "1001").out.splitlines()
    assert "    metric: SoPR" in lines
    assert "stop_detail: -" in lines or "stop_detail:" in lines
    assert [] == [line for line in lines if line.endswith((" None", "()", " True", " False"))]


def test_a_key_is_explained_with_its_preimage(stores: Path, cot_run: Path) -> None:
    """The key that a call was answered by leads to the recorded answer and the request it was keyed from."""
    steps = run_command("explain", cot_run, "1001", "--json").document["steps"]
    key = next(step["key"] for step in steps if step["kind"] == "call")
    document = run_command("explain", MINI, key, "--home", stores, "--json").document
    (answer,) = document["answers"]
    assert {"city": "Porto"} == answer["request"]["arguments"]
    assert "api" == answer["kind"]


def test_nothing_missed_is_said(cot_run: Path) -> None:
    """A run without misses has an empty want list and exit 0."""
    answered = run_command("misses", cot_run)
    assert (0, "0 misses\n", "") == answered


def test_a_miss_is_listed_and_written(stores: Path, tmp_path: Path) -> None:
    """The want list names call, key, nearest recorded calls and the command; it ends with exit 4."""
    script = write_script(tmp_path / "s.json", "1001")
    words = ("--candidate", f"scripted:{script}", "--select", "1001", "--mode", "strict", "--home", stores)
    run_command("run", MINI, *words, "--out", tmp_path / "run")
    answered = run_command("misses", tmp_path / "run", "-o", tmp_path / "want.json", "--json")
    assert 4 == answered.code
    assert answered.document == msgspec.json.decode((tmp_path / "want.json").read_bytes())
    (want,) = answered.document["wants"]
    assert ("1001", "tool-miss", {"city": "Atlantis"}) == (
        want["task"],
        want["stop"],
        want["want"]["arguments"],
    )
    assert "city" in want["want"]["nearest"]["near"][0]["differ"][0]["path"]
    assert "replay run stabletoolbench-mini --select 1001 --mode record" == want["want"]["command"]


def test_a_missing_verdict_is_a_want_too(stores: Path, tmp_path: Path) -> None:
    """An answer that no judge has seen is listed with rubric and run."""
    turn = {
        "tool_calls": [{"name": "Finish", "arguments": {"return_type": "give_answer", "final_answer": "?"}}]
    }
    script = write_script(tmp_path / "s.json", "1001", turn)
    words = ("--candidate", f"scripted:{script}", "--select", "1001", "--mode", "strict", "--home", stores)
    assert 4 == run_command("run", MINI, *words, "--out", tmp_path / "run").code
    (want,) = run_command("misses", tmp_path / "run", "--json").document["wants"]
    assert ("judge-miss", "verdict") == (want["stop"], want["want"]["kind"])
    assert {"rubric": "sopr", "run": 0} in want["want"]["questions"]


def test_files_are_exported_in_the_forms_of_the_benchmark(
    stores: Path, tmp_path: Path, cot_run: Path
) -> None:
    """Every file that is named exists, and nothing else does; a wrong form lists all."""
    answered = run_command("export", cot_run, "-o", tmp_path / "out", "--home", stores, "--json")
    found = sorted(
        path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.json")
    )
    assert found == sorted(answered.document["files"])
    wrong = run_command("export", cot_run, "-o", tmp_path / "out2", "--form", "xml", "--home", stores)
    assert 3 == wrong.code
    assert re.search("unknown output form 'xml'; expected one of converted, raw", wrong.err)
    assert not (tmp_path / "out2").exists()


def test_the_doctor_finds_everything(tmp_path: Path) -> None:
    """Packages, keys, guard, the place for stores and each shipped archive are looked at; none has failed."""
    answered = run_command("doctor", "--home", tmp_path, "--json")
    checks = {check["name"]: check for check in answered.document["checks"]}
    assert (0, True) == (answered.code, answered.document["ok"])
    assert {"python", "msgspec", "keys", "network guard", "stores", ARCHIVE.name} <= checks.keys()
    assert re.search(r"\d+ single changes .* every one in a key is a miss", checks["keys"]["found"])
    assert {} == read_folder(tmp_path)


def test_every_package_of_a_plain_installation_is_looked_at() -> None:
    """What pyproject.toml names as a dependency is one of the doctor's checks."""
    needed = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {re.split("[=>]", word)[0] for word in needed}
    assert names <= {check["name"] for check in run_command("doctor", "--json").document["checks"]}


def test_the_doctor_names_what_is_wrong() -> None:
    """A place where no store can be written is a failed check, with exit 1."""
    answered = run_command("doctor", "--home", "/proc/nowhere")
    assert (1, "") == (answered.code, answered.err)
    assert re.search(r"(?m)^failed +stores ", answered.out)
    assert answered.out.endswith("1 checks failed\n")


@pytest.mark.slow
def test_every_shipped_run_has_its_recorded_root(stores: Path, tmp_path: Path) -> None:
    """`replay shipped` finds every archive root and run root that is recorded beside the archives."""
    answered = run_command("shipped", "--home", stores, "--out", tmp_path, "--json")
    recorded = msgspec.json.decode((CHECKOUT / "snapshots" / "run-roots.json").read_bytes())["runs"]
    runs = answered.document["runs"]
    assert [(run["archive"], run["run_root"]) for run in recorded] == [
        (run["archive"], run["run_root"]) for run in runs
    ]
    assert [run["archive_root"] for run in recorded] == [run["archive_root"] for run in runs]
    assert [0] * len(runs) == [run["network_attempts"] for run in runs]
    assert 0 == answered.code
