"""MetaTool from the command line: import, single cases, results of other harnesses, runs, a live model."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from replay.core.types import Json
from tests.support.commands import Answered, run_command
from tests.support.data import CHECKOUT, find_shared_data
from tests.support.tiny_gguf import write_tiny_llama
from tests.support.weights import need_binding

SOURCE = CHECKOUT / "snapshots" / "sources" / "metatool-mini"
SHARED = find_shared_data()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the suite's archive, which its stores are kept beside."""
    folder = tmp_path_factory.mktemp("metatool")
    made = run_command("import", "metatool", SOURCE, "-o", folder / "mini.replay")
    assert 0 == made.code, made.err
    return folder


@pytest.fixture(scope="module")
def tiny(place: Path) -> str:
    """A tiny random model, registered in that place."""
    need_binding()
    added = run_command("models", "add", write_tiny_llama(place / "tiny.gguf"), "--home", place)
    assert 0 == added.code, added.err
    return "model:tiny"


def score(place: Path, *lines: Json, name: str = "x.jsonl", words: Sequence[str] = ()) -> Answered:
    """Score lines."""
    path = place / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    archive = place / "mini.replay"
    return run_command("score", "metatool", archive, "--outputs", path, "--home", place, *words, "--json")


def case(output: str, verdict: str) -> Json:
    """Build a line that asks for a reading."""
    return {"category": "match_awareness", "id": "", "model_output": output, "verdict": verdict}


def test_single_cases_are_one_line_each(place: Path) -> None:
    """In order, the counts last; every one agrees."""
    done = score(place, case("No.", "no"), case("Yes.", "yes"))
    assert [["no", "yes"], 0] == [[line["verdict"] for line in done.documents[:-1]], done.code]
    assert (2, 2, []) == tuple(done.documents[-1][name] for name in ("cases", "agree", "disagree"))


def test_a_case_that_disagrees_or_cannot_be_scored_is_code_1(place: Path) -> None:
    """Named by its line."""
    wrong = {"category": "match_single_similar", "id": "Nobody", "model_output": "x"}
    done = score(place, case("No.", "yes"), wrong)
    assert (1, [1], [2]) == (
        done.code,
        done.documents[-1]["disagree"],
        done.documents[-1]["cannot_be_scored"],
    )


def test_answers_are_scored_over_the_whole_plan(place: Path) -> None:
    """One line a task; what has no answer is missing, not left out."""
    done = score(place, {"id": "awareness-0000", "model_output": "Yes."})
    summary = done.documents[-1]
    assert (0, 157, 1, {"missing-output": 156}) == (
        done.code,
        summary["planned"],
        summary["scored"],
        summary["unscored"],
    )
    assert 158 == len(done.documents)
    first = next(line for line in done.documents if line["id"] == "awareness-0000")
    assert 1.0 == first["compat"]["awareness"]["value"] == first["strict"]["awareness"]["value"]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([{"id": "nowhere", "model_output": "x"}], "unknown id 'nowhere'"),
        ([{"id": "awareness-0000", "model_output": "x"}] * 2, "is given twice"),
        ([{"id": "awareness-0000"}], "model_output"),
    ],
)
def test_what_does_not_belong_is_one_error(place: Path, lines: list[Json], said: str) -> None:
    """With code 3, and nothing scored."""
    done = score(place, *lines)
    assert (3, "") == (done.code, done.out)
    assert said in done.error["what"]


def test_hostile_answers_are_scored(place: Path) -> None:
    """A megabyte, brackets, code, emoji, full width: a verdict each."""
    texts = [
        "[" * 10_000,
        "a" * 1_000_000,
        "__import__('os').remove('x')",
        "\U0001f602" * 1000,
        "\uff39\uff45\uff53",
    ]
    lines = [{"id": f"awareness-{number:04}", "model_output": text} for number, text in enumerate(texts)]
    done = score(place, *lines, words=("--select", "awareness"))
    assert (0, 5) == (done.code, done.documents[-1]["scored"])


def test_an_archive_of_another_benchmark_is_refused(place: Path) -> None:
    """Before anything is read of it."""
    path = place / "x.jsonl"
    path.write_text(json.dumps(case("No.", "no")), encoding="utf-8")
    other = CHECKOUT / "snapshots" / "stabletoolbench-mini-1.0.replay"
    done = run_command("score", "metatool", other, "--outputs", path, "--home", place)
    assert 3 == done.code
    assert "is of benchmark 'stabletoolbench'" in done.err


def play(place: Path, out: str, *words: str | Path, archive: Path | None = None) -> Json:
    """Run the suite."""
    done = run_command(
        "run", archive or place / "mini.replay", *words, "--out", place / out, "--home", place, "--json"
    )
    assert done.code in (0, 4), done.err
    return done.document


@pytest.mark.slow
def test_a_script_gives_one_root_in_one_process_and_in_two(place: Path) -> None:
    """Strictly, with the tools shuffled."""
    words = ("--candidate", f"scripted:{SOURCE / 'scripts' / 'near-gold.json'}", "--mode", "strict")
    shuffled = (*words, "--option", "order=shuffled", "--protocol", "five-shot")
    one = play(place, "one", *shuffled)
    two = play(place, "two", *shuffled, "--jobs", "2")
    assert one["run_root"] == two["run_root"]
    assert 0 == one["network_attempts"]
    assert one["scores"]["compat"]["similar.constant"]["value"] < 50
    plain = play(place, "plain", *words)
    assert 100.0 == plain["scores"]["compat"]["similar.constant"]["value"]
    assert one["scores"]["strict"]["similar"]["value"] == plain["scores"]["strict"]["similar"]["value"]


def test_answers_can_be_exported_and_scored_again(place: Path) -> None:
    """In upstream's form: the same figures."""
    words = ("--candidate", f"scripted:{SOURCE / 'scripts' / 'near-gold.json'}", "--mode", "strict")
    ran = play(place, "exported", *words)
    made = run_command(
        "export", place / "exported", "--archive", place / "mini.replay", "--form", "results", "-o",
        place / "results", "--home", place,
    )  # fmt: skip
    assert 0 == made.code, made.err
    again = run_command(
        "score", "metatool", place / "mini.replay", "--outputs", place / "results", "--home", place, "--json"
    )
    assert ran["scores"] == again.documents[-1]["scores"]


@pytest.mark.model
@pytest.mark.slow
def test_sixty_tasks_play_live_and_strictly_to_one_root(place: Path, tiny: str) -> None:
    """A tiny model answers; its frozen answers give the same run root, and so does playing them anew."""
    words = ("--candidate", tiny, "--limit", "60", "--option", "max_tokens=16")
    live = ("--threads", "1", "--context", "4096")
    first = play(place, "first", *words, *live)
    assert 60 == first["planned"] == first["provenance"]["generated"]
    layer = place / "layer.replay"
    frozen = run_command(
        "archive", "freeze", place / "first" / "overlay", "-o", layer, "--base", place / "mini.replay",
        "--name", "live", "--version", "1", "--home", place,
    )  # fmt: skip
    assert 0 == frozen.code, frozen.err
    base = ("--base", place / "mini.replay")
    strict = play(place, "strict", *words, *base, "--mode", "strict", archive=layer)
    anew = play(place, "anew", *words, *live, *base, "--fresh", archive=layer)
    assert strict["run_root"] == anew["run_root"]
    parts = ("trajectories", "verdicts")
    assert [first["roots"][name] for name in parts] == [strict["roots"][name] for name in parts]
    assert {"generated": 60} == strict["provenance"]


@pytest.mark.model
@pytest.mark.slow
def test_a_judge_of_open_answers_is_frozen_like_any_other(place: Path, tiny: str) -> None:
    """Asked once for each open answer; strictly, its recorded verdicts give the same."""
    script = f"scripted:{SOURCE / 'scripts' / 'near-gold.json'}"
    words = ("--candidate", script, "--select", "reliability", "--option", "open_answers=judge")
    judge = ("--judge-model", tiny)
    first = play(place, "judged", *words, *judge, "--threads", "1")
    assert 5 == first["provenance_by_boundary"]["judge"]["generated"]
    layer = place / "judge.replay"
    frozen = run_command(
        "archive", "freeze", place / "judged" / "overlay", "-o", layer, "--base", place / "mini.replay",
        "--name", "judged", "--version", "1", "--home", place,
    )  # fmt: skip
    assert 0 == frozen.code, frozen.err
    base = ("--base", place / "mini.replay", "--mode", "strict")
    strict = play(place, "judged-strict", *words, *judge, *base, archive=layer)
    assert first["roots"]["verdicts"] == strict["roots"]["verdicts"]
    assert first["scores"] == strict["scores"]
    alone = play(place, "unjudged", *words, "--mode", "strict")
    assert {"judge-miss": 5} == alone["unscored"]


@pytest.mark.slow
@pytest.mark.skipif(
    SHARED is None or not (SHARED / "metatool").is_dir(), reason="no MetaTool data beside the checkout"
)
def test_the_full_set_replays_within_a_minute(tmp_path: Path) -> None:
    """5,327 tasks from a script that says one thing, on two processes."""
    assert SHARED is not None
    archive = tmp_path / "mt.replay"
    assert 0 == run_command("import", "metatool", SHARED / "metatool", "-o", archive).code
    script = tmp_path / "script.json"
    turn = {"content": "None."}
    script.write_text(
        json.dumps({"name": "none", "scripts": [{"task": "*", "turns": [turn]}]}), encoding="utf-8"
    )
    start = time.monotonic()
    done = run_command(
        "run", archive, "--candidate", f"scripted:{script}", "--mode", "strict", "--jobs", "2", "--out",
        tmp_path / "run", "--home", tmp_path, "--json",
    )  # fmt: skip
    assert 0 == done.code, done.err
    assert time.monotonic() - start < 60
    assert (5327, 100.0) == (
        done.document["scored"],
        done.document["scores"]["strict"]["reliability"]["value"],
    )
