"""Words become candidates and judges."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from replay.benchmarks.registry import get_benchmark
from replay.core.errors import InputError
from replay.wiring.candidates import choose_candidate, choose_judge, choose_role
from replay.wiring.roles import RolePlan
from replay.wiring.sources import CandidatePlan
from tests.support.libraries import freeze_library, make_candidate, make_output, opened
from tests.support.scripts import write_script


def choose(archive: Path, word: str, name: str = "") -> CandidatePlan:
    """Choose a candidate of an archive."""
    with opened(archive) as library:
        return choose_candidate(word, name, get_benchmark("stabletoolbench"), library)


def test_a_recorded_name_is_its_row(tmp_path: Path) -> None:
    """The identity comes from the archive's table."""
    archive = freeze_library(tmp_path / "a.replay", candidates=[make_candidate(), make_candidate("dfs")])
    assert CandidatePlan(kind="recorded", name="cot", identity=make_candidate().identity) == choose(
        archive, "cot"
    )


def test_the_only_candidate_needs_no_name(tmp_path: Path) -> None:
    """Nothing named means the one that there is."""
    assert "cot" == choose(freeze_library(tmp_path / "a.replay", candidates=[make_candidate()]), "").name


@pytest.mark.parametrize(
    ("names", "word", "message"),
    [
        (("cot", "dfs"), "", r"the archive has 2 candidates and none was named.*one of: cot, dfs"),
        ((), "", r"the archive has 0 candidates.*\(none recorded\)"),
        (("cot", "dfs"), "cit", r"no candidate 'cit'.*did you mean cot\?"),
        (("cot", "dfs"), "zzz", r"no candidate 'zzz'.*one of: cot, dfs; next: name one with --candidate"),
        (("cot",), "robot:x", r"unknown kind of candidate 'robot'.*scripted:FILE, outputs:PATH"),
    ],
)
def test_other_words_list_what_there_is(
    tmp_path: Path, names: tuple[str, ...], word: str, message: str
) -> None:
    """A word that names no candidate is answered with those that there are."""
    archive = freeze_library(tmp_path / "a.replay", candidates=[make_candidate(name) for name in names])
    with pytest.raises(InputError, match=message):
        choose(archive, word)


def test_a_script_is_known_by_what_it_says(tmp_path: Path) -> None:
    """The same script under another path is the same candidate; another script is another one."""
    archive = freeze_library(tmp_path / "a.replay")
    (tmp_path / "b").mkdir()
    plans = [
        choose(archive, f"scripted:{path}")
        for path in (
            write_script(tmp_path / "one.json", "1"),
            write_script(tmp_path / "b" / "two.json", "1"),
            write_script(tmp_path / "three.json", "2"),
        )
    ]
    assert plans[0].identity == plans[1].identity != plans[2].identity
    assert ("scripted", "tester") == (plans[0].kind, plans[0].name)
    assert str(tmp_path) not in str(plans[0].identity)


def test_a_name_with_outputs_only_is_scored_from_them(tmp_path: Path) -> None:
    """Outputs in the archive are a candidate when no completions of that name are there."""
    archive = freeze_library(tmp_path / "a.replay", outputs=[make_output("paper")])
    assert ("outputs", "paper") == ((plan := choose(archive, "paper")).kind, plan.name)


def test_completions_go_before_outputs(tmp_path: Path) -> None:
    """A name with both is played; asked for outputs by all means, its outputs are taken."""
    archive = freeze_library(tmp_path / "a.replay", candidates=[make_candidate()], outputs=[make_output()])
    assert "recorded" == choose(archive, "cot").kind
    assert "outputs" == choose(archive, "outputs:", "cot").kind


def test_outputs_are_known_by_their_content(tmp_path: Path) -> None:
    """Another output makes another candidate; the same ones in another archive do not."""
    one = choose(freeze_library(tmp_path / "a.replay", outputs=[make_output()]), "outputs:")
    same = choose(freeze_library(tmp_path / "b.replay", outputs=[make_output()], judges=["x"]), "outputs:")
    more = choose(
        freeze_library(tmp_path / "c.replay", outputs=[make_output(), make_output(task="2")]), "outputs:"
    )
    assert one.identity == same.identity != more.identity


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", r"outputs of 2 candidates and none was named.*one of: cot, dfs"),
        ("me", r"no outputs of candidate 'me'.*one of: cot, dfs"),
    ],
)
def test_outputs_of_several_need_a_name(tmp_path: Path, name: str, message: str) -> None:
    """The candidates whose outputs the archive holds are listed."""
    archive = freeze_library(tmp_path / "a.replay", outputs=[make_output(), make_output("dfs")])
    with pytest.raises(InputError, match=message):
        choose(archive, "outputs:", name)


def test_the_only_judge_needs_no_name(tmp_path: Path) -> None:
    """One judge is chosen, none is none, and one of several must be named."""
    for judges, expected in (((), None), (("panel",), {"name": "panel"})):
        with opened(freeze_library(tmp_path / f"{len(judges)}.replay", judges=judges)) as library:
            assert expected == choose_judge("", library)
    with opened(freeze_library(tmp_path / "two.replay", judges=("a", "b"))) as library:
        assert {"name": "b"} == choose_judge("b", library)
        with pytest.raises(InputError, match=re.escape("the archive has 2 judges and none was named")):
            choose_judge("", library)


def test_an_unknown_judge_is_answered_with_the_judges(tmp_path: Path) -> None:
    """A judge that is not in the archive never answers for another one."""
    with (
        opened(freeze_library(tmp_path / "a.replay", judges=("panel",))) as library,
        pytest.raises(InputError, match=r"no judge 'pannel'.*one of: panel; next: did you mean panel\?"),
    ):
        choose_judge("pannel", library)


def play_role(word: str, *, takes_script: bool = True) -> RolePlan | None:
    """Choose who plays a role of which a model `toy` is recorded."""
    rows = {"toy": {"name": "toy"}}
    return choose_role(
        word, "--user-model", rows, find=None, describe=lambda identity: identity, takes_script=takes_script
    )


def test_a_script_can_play_the_user(tmp_path: Path) -> None:
    """It is known by what it says; its path is only where it is."""
    script = write_script(tmp_path / "user.json", "1001", name="somebody")
    role = play_role(f"scripted:{script}")
    assert role is not None
    assert (str(script), None) == (role.script, role.model)
    assert "somebody" == role.name == role.identity["name"]


def test_a_script_plays_no_other_role(tmp_path: Path) -> None:
    """Simulators and judges answer to what they are shown."""
    script = write_script(tmp_path / "user.json", "1001")
    with pytest.raises(
        InputError, match=r"unknown kind of model 'scripted'.*model:NAME, remote:NAME, or the name of a"
    ):
        play_role(f"scripted:{script}", takes_script=False)


def test_a_recorded_role_is_its_row() -> None:
    """By its name alone."""
    assert RolePlan(name="toy", identity={"name": "toy"}) == play_role("toy")
