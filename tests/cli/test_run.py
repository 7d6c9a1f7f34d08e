"""`run` and `score`: what they print, as text and as JSON."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from replay.core.types import Json
from tests.support.commands import MINI, Answered, read_folder, run_command
from tests.support.scripts import write_script

G1 = ("--select", "G1_instruction")


def play(stores: Path, out: Path, *words: str | Path) -> Answered:
    """Run the shipped suite strictly."""
    return run_command("run", MINI, "--mode", "strict", "--home", stores, "--out", out, *words)


def score(stores: Path, *words: str | Path) -> Answered:
    """Score outputs with the shipped suite."""
    return run_command("score", "stabletoolbench", MINI, "--home", stores, *words)


def count_planned(document: Json) -> int:
    """Scored and unscored episodes together."""
    return int(document["scored"] + sum(document["unscored"].values()))


@pytest.fixture(scope="module")
def g1(stores: Path, tmp_path_factory: pytest.TempPathFactory) -> Json:
    """The document of a strict run over one split."""
    out = tmp_path_factory.mktemp("g1") / "run"
    return play(stores, out, "--candidate", "dfs", "--reference", "cot", *G1, "--json").document


def test_a_run_is_one_document(g1: Json) -> None:
    """`run --json` says at least what the issue lists."""
    expected = {
        "run_root",
        "benchmark",
        "planned",
        "scored",
        "unscored",
        "scores",
        "provenance",
        "network_attempts",
    }
    assert expected <= g1.keys()
    assert ("stabletoolbench", 7, 7, 0) == (
        g1["benchmark"],
        g1["planned"],
        count_planned(g1),
        g1["network_attempts"],
    )
    assert re.fullmatch("sha256:[0-9a-f]{64}", g1["run_root"])


@pytest.mark.parametrize("side", ["compat", "strict"])
@pytest.mark.parametrize("metric", ["SoPR", "SoWR", "FAC"])
def test_a_score_has_value_n_interval_and_groups(g1: Json, side: str, metric: str) -> None:
    """Each score under the paper's name holds its value, denominator, interval and groups by split."""
    score = g1["scores"][side][metric]
    assert {"value", "n", "planned", "missing", "abstained", "interval", "groups"} <= score.keys()
    assert 0 <= score["interval"][0] <= score["value"] <= score["interval"][1] <= 100
    assert ["G1_instruction"] == [name for name, group in score["groups"].items() if group["planned"]]


def test_only_repeated_judgements_have_a_std(g1: Json) -> None:
    """`std` is there where several judge runs were summed up, and left out elsewhere."""
    assert {"SoPR"} == {name for name, score in g1["scores"]["compat"].items() if "std" in score}


def test_provenance_is_counted_by_class(g1: Json) -> None:
    """Classes are counted over all answers, and the counts by boundary add up to them."""
    by_boundary: dict[str, int] = {}
    for counts in g1["provenance_by_boundary"].values():
        for name, count in counts.items():
            by_boundary[name] = by_boundary.get(name, 0) + count
    assert {"scripted", "world"} == g1["provenance"].keys()
    assert by_boundary == g1["provenance"]


def test_the_text_shows_what_the_document_says(stores: Path, tmp_path: Path, g1: Json) -> None:
    """Planned, scored, scores of both sides, shares, attempts and root are on the screen."""
    shown = play(stores, tmp_path / "run", "--candidate", "dfs", "--reference", "cot", *G1)
    assert ("", 0) == (shown.err, shown.code)
    assert f"run root   {g1['run_root']}" in shown.out
    assert "planned 7  scored 7  unscored 0" in shown.out
    assert "network_attempts 0" in shown.out
    assert re.search(rf"SoPR +compat +{g1['scores']['compat']['SoPR']['value']:.1f} ", shown.out)
    assert re.search(rf"SoWR +strict +{g1['scores']['strict']['SoWR']['value']:.1f} ", shown.out)
    assert re.search(r"provenance scripted \d+ \(\d+\.\d%\), world", shown.out)


def test_the_same_command_prints_the_same_bytes(stores: Path, tmp_path: Path) -> None:
    """Neither the first output nor that of the finished run holds a time or a random name."""
    words = ("--candidate", "cot", "--select", "1001")
    first, again = play(stores, tmp_path / "run", *words), play(stores, tmp_path / "run", *words)
    assert (first.code, first.out) == (again.code, again.out)
    assert again == play(stores, tmp_path / "run", *words)


@pytest.mark.parametrize(
    ("words", "planned"),
    [
        (("--select", "100?"), 7),
        (("--select", "G3_*"), 4),
        (("--select", "G1_tool/3001"), 1),
        (("--select", "1001", "--select", "6001"), 2),
        (("--limit", "2"), 2),
        (("--select", "1001", "--trials", "3"), 3),
        (("--limit", "2", "--trials", "2"), 4),
    ],
)
def test_a_part_of_the_tasks_is_planned(
    stores: Path, tmp_path: Path, words: tuple[str, ...], planned: int
) -> None:
    """Globs over id, split and split/id, a limit and trials decide the plan; all of it is accounted for."""
    document = play(stores, tmp_path / "run", "--candidate", "cot", *words, "--json").document
    assert (planned, planned) == (document["planned"], count_planned(document))


def test_the_expected_root_is_checked(stores: Path, tmp_path: Path) -> None:
    """The right root ends with 0; another one with 8 and both roots in the error."""
    words = ("--candidate", "cot", "--select", "1001")
    root = play(stores, tmp_path / "run", *words, "--json").document["run_root"]
    assert 0 == play(stores, tmp_path / "run", *words, "--expect-root", root).code
    wrong = play(stores, tmp_path / "run", *words, "--expect-root", "sha256:0")
    assert 8 == wrong.code
    assert re.search(rf"run root {root} .*expected sha256:0", wrong.err)


def test_a_run_has_a_place_of_its_own(stores: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --out a run lies under runs/, and the same command finds it again and says so."""
    monkeypatch.chdir(tmp_path)
    words = ("run", "stabletoolbench", "--candidate", "cot", "--limit", "1", "--home", stores)
    first, again = run_command(*words), run_command(*words)
    assert (first.code, first.out) == (again.code, again.out)
    assert ("", True) == (first.err, "1 episode of runs/" in again.err)
    assert "kept as played before; a new --out folder plays anew" in again.err
    assert 1 == len(list((tmp_path / "runs").iterdir()))


def test_a_scripted_candidate_needs_no_recording(stores: Path, tmp_path: Path) -> None:
    """A script of the user's plays in strict mode too."""
    script = write_script(
        tmp_path / "s.json", "1001", {"tool_calls": [{"name": "Finish", "arguments": "{}"}]}
    )
    document = play(
        stores, tmp_path / "run", "--candidate", f"scripted:{script}", "--select", "1001", "--json"
    ).document
    assert {"scripted": 1, "world": 1} == document["provenance"]
    assert "tester" == document["candidate"]


def test_a_score_is_a_line_an_item_and_a_summary(stores: Path) -> None:
    """`score --json` prints id, compat and strict for each item, then the summary."""
    answered = score(stores, "--candidate", "dfs", "--reference", "cot", *G1, "--json")
    *items, summary = answered.documents
    assert 7 == len(items) == summary["planned"]
    assert [True] * 7 == [{"id", "compat", "strict"} <= item.keys() for item in items]
    assert {"SoPR", "SoWR", "FAC"} == items[0]["compat"].keys() == items[0]["strict"].keys()
    assert summary["summary"]
    assert {"compat", "strict"} == summary["scores"].keys()


def test_an_item_without_a_score_says_why(stores: Path) -> None:
    """An unscored item keeps its line, with a null value and the reason."""
    answered = score(stores, "--candidate", "weak", "--select", "4002", "--json")
    item, summary = answered.documents
    assert (None, "missing-output") == (
        item["strict"]["SoPR"]["value"],
        item["strict"]["SoPR"]["unscored"],
    )
    assert {"missing-output": 1} == summary["unscored"]


def test_outputs_score_as_the_run_that_made_them(stores: Path, tmp_path: Path, cot_run: Path) -> None:
    """What a run exports scores like the run itself, whatever the form."""
    expected = play(stores, cot_run, "--candidate", "cot", *G1, "--json").document["scores"]
    for form in ("converted", "raw"):
        folder = tmp_path / form / "cot"
        assert 0 == run_command("export", cot_run, "--form", form, "-o", folder, "--home", stores).code
        *_, summary = score(stores, "--outputs", folder, *G1, "--json").documents
        assert expected == summary["scores"], form


def test_outputs_are_a_candidate_of_a_run(stores: Path, tmp_path: Path, cot_run: Path) -> None:
    """`--candidate outputs:PATH` makes a run directory of them, with a root that the path is not part of."""
    roots = set()
    for name in ("a", "b"):
        folder = tmp_path / name / "cot"
        run_command("export", cot_run, "-o", folder, "--home", stores)
        document = play(
            stores, tmp_path / f"run-{name}", "--candidate", f"outputs:{folder}", *G1, "--json"
        ).document
        roots.add(document["run_root"])
    assert 1 == len(roots)


def test_scoring_leaves_the_outputs_alone(stores: Path, tmp_path: Path, cot_run: Path) -> None:
    """Nothing is written into a folder that is scored."""
    run_command("export", cot_run, "-o", tmp_path / "cot", "--home", stores)
    before = read_folder(tmp_path)
    assert 0 == score(stores, "--outputs", tmp_path / "cot", *G1).code
    assert before == read_folder(tmp_path)
