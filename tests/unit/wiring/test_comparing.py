"""Two runs side by side."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from replay.core.errors import InputError
from replay.core.trajectory import NoteStep, Trajectory, make_trajectory
from replay.core.types import Json
from replay.engine.plan import PlanItem
from replay.engine.roles import EpisodeVerdicts
from replay.engine.rundir.lines import encode_episode
from replay.engine.rundir.writing import RunFolder
from replay.engine.worker import EpisodeResult
from replay.wiring.comparing import Comparison, compare_runs
from tests.support.demo_run import demo_manifest, demo_plan
from tests.support.verdicts import make_verdict_of


def make_episode(
    item: PlanItem, *, notes: tuple[str, ...] = ("a", "b"), score: float = 1.0, **end: Json
) -> EpisodeResult:
    """An episode that noted some words and got a score."""
    trajectory = make_trajectory(
        benchmark="squares",
        task=item.task,
        split=item.split,
        trial=item.trial,
        seed=item.seed,
        steps=tuple(NoteStep(name="said", data=word) for word in notes),
        stop=end.get("stop", "finished"),
        outcome=end.get("outcome"),
    )
    verdict = make_verdict_of(item.task, score, split=item.split, metric="exact")
    verdicts = EpisodeVerdicts(task=item.task, split=item.split, trial=item.trial, verdicts=(verdict,))
    return EpisodeResult(trajectory=trajectory, verdicts=verdicts)


Changes = dict[str, dict[str, Json]]


def write_run(
    path: Path,
    *,
    tasks: int = 3,
    benchmark: str = "squares",
    changed: Changes | None = None,
    archive: str = "",
) -> Path:
    """Write a finished run; `changed` says by task what is different in it."""
    plan = demo_plan(tasks)
    manifest = demo_manifest(plan)
    archives = {"a": archive} if archive else manifest.inputs.archives
    inputs = replace(manifest.inputs, benchmark=benchmark, archives=archives)
    manifest = replace(manifest, inputs=inputs)
    with RunFolder(path, manifest, plan) as folder:
        for item in plan:
            folder.append(encode_episode(make_episode(item, **(changed or {}).get(item.task, {}))))
        folder.finish({"candidate": "me"})
    return path


def compare(folder: Path, **changed: dict[str, Json]) -> Comparison:
    """Compare a plain run with one in which something is different."""
    return compare_runs(write_run(folder / "left"), write_run(folder / "right", changed=changed))


def test_equal_runs_are_the_same(tmp_path: Path) -> None:
    """Equal content is one root, and no list holds anything."""
    found = compare(tmp_path)
    assert (True, (), (), ()) == (found.is_same, found.inputs, found.diverged, found.changed)
    assert list(found.lines())[-1] == "same run root"


def test_runs_of_other_inputs_with_equal_content_are_told_apart_from_different_ones(tmp_path: Path) -> None:
    """What a layer replays is the live run but for the archive's root, and that is said."""
    found = compare_runs(write_run(tmp_path / "a"), write_run(tmp_path / "b", archive="sha256:other"))
    assert (False, True) == (found.is_same, found.same_content)
    assert "every step, verdict and score is the same: the roots differ by the runs' inputs alone" in list(
        found.lines()
    )
    assert not compare(tmp_path / "c", t1={"score": 0.0}).same_content


def test_the_first_differing_step_is_named(tmp_path: Path) -> None:
    """Later differences of the same episode are not shown: they may follow from the first."""
    found = compare(tmp_path, t1={"notes": ("a", "x", "y")})
    (parted,) = found.diverged
    assert ("t1", 1, "$.data") == (parted.task, parted.step, parted.path)
    assert "task t1 trial 0 first differs in step 1 at $.data" in list(found.lines())


def test_an_episode_that_goes_on_parts_where_the_other_ends(tmp_path: Path) -> None:
    """One step more is the first difference."""
    (parted,) = compare(tmp_path, t0={"notes": ("a", "b", "c")}).diverged
    assert (2, None) == (parted.step, parted.left)


@pytest.mark.parametrize("end", [{"stop": "gave-up"}, {"outcome": {"answer": 4}}])
def test_an_end_that_differs_is_no_step(tmp_path: Path, end: dict[str, Json]) -> None:
    """Equal steps with another stop or outcome part at the end, with the field named."""
    found = compare(tmp_path, t2=end)
    (parted,) = found.diverged
    assert (None, True) == (parted.step, parted.path.endswith(next(iter(end))))
    assert any("t2 trial 0 first differs in its end at" in line for line in found.lines())


def test_changed_verdicts_are_named_on_both_sides(tmp_path: Path) -> None:
    """A changed score is shown for compat and strict, with the paired difference of the metric."""
    found = compare(tmp_path, t1={"score": 0.0})
    assert [("compat", 1.0, 0.0), ("strict", 1.0, 0.0)] == [
        (change.side, change.left, change.right) for change in found.changed
    ]
    delta = found.deltas["strict"]["exact"]
    assert (3, 1, 0) == (delta.n, delta.worse, delta.better)
    assert "verdict exact (strict) task t1 trial 0: 1.000 -> 0.000" in list(found.lines())


def test_episodes_of_one_run_only_are_counted(tmp_path: Path) -> None:
    """A longer plan holds episodes that the other run does not have; the shared ones are compared."""
    found = compare_runs(write_run(tmp_path / "a", tasks=2), write_run(tmp_path / "b", tasks=4))
    assert ((), ("t2 trial 0", "t3 trial 0")) == (found.only_left, found.only_right)
    assert "only in right: 2 episodes, the first t2 trial 0" in list(found.lines())
    assert 2 == found.deltas["compat"]["exact"].n


def test_long_lists_are_cut_in_text_only(tmp_path: Path) -> None:
    """Twenty differences are shown and the rest counted; the document holds all."""
    changed: Changes = {f"t{n}": {"notes": ("x",), "score": 0.0} for n in range(30)}
    left, right = write_run(tmp_path / "a", tasks=30), write_run(tmp_path / "b", tasks=30, changed=changed)
    found = compare_runs(left, right)
    assert (30, 60) == (len(found.diverged), len(found.changed))
    assert {"and 10 more episodes differ", "and 40 more verdicts changed"} <= set(found.lines())


def test_runs_of_two_benchmarks_are_not_compared(tmp_path: Path) -> None:
    """Their tasks have nothing to do with each other."""
    other = write_run(tmp_path / "b", benchmark="cubes")
    with pytest.raises(InputError, match=r"runs of 'squares' and 'cubes'; expected two runs of one"):
        compare_runs(write_run(tmp_path / "a"), other)


def test_a_seed_that_differs_is_an_end(tmp_path: Path) -> None:
    """Equal steps under another seed part in the seed, not in a step."""
    plan = demo_plan(1)
    runs = []
    for seed in (1, 2):
        changed = tuple(replace(item, seed=seed) for item in plan)
        with RunFolder(tmp_path / str(seed), demo_manifest(changed), changed) as folder:
            folder.append(encode_episode(make_episode(changed[0])))
            folder.finish({"candidate": "me"})
        runs.append(tmp_path / str(seed))
    (parted,) = compare_runs(*runs).diverged
    assert (None, "$.seed") == (parted.step, parted.path)


def test_a_trajectory_is_told_by_its_digests() -> None:
    """What the builder makes is what the engine would have made."""
    (item,) = demo_plan(1)
    built: Trajectory = make_episode(item).trajectory
    assert 2 == len(built.digests)
