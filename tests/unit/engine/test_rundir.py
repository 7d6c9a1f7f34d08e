"""A run directory is written once, resumed anywhere, and proves what it holds."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from replay.core.errors import DamagedError, InputError, LimitError, NewerFormatError, StoreError
from replay.core.trajectory import Trajectory
from replay.engine.plan import PlanItem
from replay.engine.roles import EpisodeVerdicts
from replay.engine.rundir.checking import verify_run
from replay.engine.rundir.lines import encode_episode, read_lines
from replay.engine.rundir.manifest import RunManifest
from replay.engine.rundir.reading import load_run
from replay.engine.rundir.writing import RunFolder
from replay.engine.worker import WorkerSpec, make_worker
from tests.support.demo_run import FACTORY, demo_manifest, demo_plan, open_folder, run_demo
from tests.support.rights import held_to_rights
from tests.support.run_summary import collect_wants

HASHED = ("manifest.json", "trajectories.jsonl", "verdicts.jsonl", "summary.json")
APPENDED = ("timings.jsonl", "verdicts.jsonl", "trajectories.jsonl")


def read_hashed(path: Path) -> dict[str, bytes]:
    """Bytes of everything but the timings."""
    return {name: (path / name).read_bytes() for name in HASHED}


def finish_copy(tmp_path: Path, *, tasks: int = 4, name: str = "whole") -> Path:
    """Run a demo to its end."""
    run_demo(tmp_path / name, {"tasks": tasks})
    return tmp_path / name


def unfinish(path: Path) -> Path:
    """Take the roots off the manifest: what a run looks like that was killed before its end."""
    manifest = json.loads((path / "manifest.json").read_bytes())
    (path / "manifest.json").write_text(json.dumps(manifest | {"roots": None, "guard": None}))
    return path


# ---- resume --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", APPENDED)
@pytest.mark.parametrize("cut", [1, 10, 200])
def test_a_torn_last_line_is_run_again(tmp_path: Path, name: str, cut: int) -> None:
    """Whichever file a kill left torn, the resumed run ends with the same bytes."""
    whole = finish_copy(tmp_path)
    before = read_hashed(whole)
    unfinish(whole)
    content = (whole / name).read_bytes()
    (whole / name).write_bytes(content[: max(0, len(content) - cut)])
    run_demo(whole, {"tasks": 4})
    assert before == read_hashed(whole)


def test_files_of_different_length_are_cut_to_the_shortest(tmp_path: Path) -> None:
    """An episode counts as done when all files hold it."""
    whole = finish_copy(tmp_path)
    before = read_hashed(whole)
    unfinish(whole)
    lines = (whole / "trajectories.jsonl").read_bytes().splitlines(keepends=True)
    (whole / "trajectories.jsonl").write_bytes(b"".join(lines[:2]))
    plan = demo_plan(4)
    with open_folder(whole, plan) as folder:
        assert folder.done == 2
    run_demo(whole, {"tasks": 4})
    assert before == read_hashed(whole)


def test_zeros_after_a_power_cut_are_a_torn_line(tmp_path: Path) -> None:
    """A file system may leave zeros where the last write should be."""
    whole = finish_copy(tmp_path)
    before = read_hashed(whole)
    unfinish(whole)
    with (whole / "trajectories.jsonl").open("ab") as file:
        file.write(bytes(4096))
    run_demo(whole, {"tasks": 4})
    assert before == read_hashed(whole)


def test_damage_in_the_middle_is_named(tmp_path: Path) -> None:
    """A bad line that is not the last is no torn write and is not thrown away."""
    whole = unfinish(finish_copy(tmp_path))
    lines = (whole / "verdicts.jsonl").read_bytes().splitlines(keepends=True)
    (whole / "verdicts.jsonl").write_bytes(b"".join([lines[0], b"{}\n", *lines[2:]]))
    with pytest.raises(DamagedError, match=r"missing required field `task`.*\(verdicts\.jsonl, record 2\)"):
        run_demo(whole, {"tasks": 4})


def test_lines_of_another_order_are_named(tmp_path: Path) -> None:
    """Lines stand in plan order or the folder is damaged."""
    whole = unfinish(finish_copy(tmp_path))
    lines = (whole / "verdicts.jsonl").read_bytes().splitlines(keepends=True)
    (whole / "verdicts.jsonl").write_bytes(b"".join([lines[1], lines[0], *lines[2:]]))
    with pytest.raises(DamagedError, match=r"line is of task t1, trial 0 \(verdicts\.jsonl, record 1\)"):
        run_demo(whole, {"tasks": 4})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 5}, r"inputs\.settings\.seed: 0 in the folder, 5 asked for"),
        ({"mode": "strict"}, r"conditions\.modes\.tools: 'replay' in the folder, 'strict' asked for"),
    ],
)
def test_other_inputs_are_refused_by_name(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    """A folder is only resumed with the inputs it was started with."""
    whole = finish_copy(tmp_path)
    with pytest.raises(InputError, match=message):
        open_folder(whole, demo_plan(4), **changes)


def test_another_plan_is_refused(tmp_path: Path) -> None:
    """Selection, limit and trials are inputs too."""
    whole = finish_copy(tmp_path)
    with pytest.raises(InputError, match=r"inputs\.planned: 4 in the folder, 3 asked for"):
        open_folder(whole, demo_plan(3))


def test_a_foreign_folder_is_left_alone(tmp_path: Path) -> None:
    """A folder that holds something else is refused, not written into."""
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"not a run folder: it holds notes\.txt"):
        open_folder(tmp_path, demo_plan(1))
    assert ["notes.txt"] == [entry.name for entry in tmp_path.iterdir()]


def test_a_start_that_was_killed_is_started_again(tmp_path: Path) -> None:
    """A half-written manifest is no foreign file."""
    (tmp_path / ".manifest.json.tmp").write_bytes(b'{"inp')
    run_demo(tmp_path, {"tasks": 1})
    assert verify_run(tmp_path).ok


@pytest.mark.parametrize("name", ["trajectories.jsonl", "verdicts.jsonl", "summary.json"])
def test_a_finished_run_that_was_changed_is_never_finished_anew(tmp_path: Path, name: str) -> None:
    """The same command on a changed finished run is damage with the file's name, not another root."""
    path = finish_copy(tmp_path)
    before = (path / "manifest.json").read_bytes()
    content = (path / name).read_bytes()
    (path / name).write_bytes(content[:-3] + b" " + content[-3:])
    with pytest.raises(DamagedError, match=rf"{name} of a finished run.*replay verify"):
        run_demo(path, {"tasks": 4})
    assert before == (path / "manifest.json").read_bytes()


def test_an_unfinished_run_cannot_be_finished(tmp_path: Path) -> None:
    """There are no roots before the last episode."""
    with open_folder(tmp_path / "run", demo_plan(2)) as folder, pytest.raises(InputError, match="0 of 2"):
        folder.finish({})


def test_episodes_are_appended_in_plan_order_only(tmp_path: Path) -> None:
    """A result that is not next is refused."""
    plan = demo_plan(2)
    worker = make_worker(WorkerSpec(factory=FACTORY, spec={"tasks": 2}))
    lines = encode_episode(worker.run(plan[1]))
    with (
        open_folder(tmp_path / "run", plan) as folder,
        pytest.raises(InputError, match=r"task t1.*is not next"),
    ):
        folder.append(lines)


# ---- who may write -------------------------------------------------------------------------------------


def test_two_writers_are_refused(tmp_path: Path) -> None:
    """A second process is told so at once; the first one's folder stays as it was."""
    with (
        open_folder(tmp_path / "run", demo_plan(1)),
        pytest.raises(StoreError, match="another process is writing this run folder"),
    ):
        open_folder(tmp_path / "run", demo_plan(1))


def test_a_closed_folder_can_be_opened_again(tmp_path: Path) -> None:
    """The lock goes with its holder."""
    for _ in range(2):
        with open_folder(tmp_path / "run", demo_plan(1)) as folder:
            assert folder.done == 0


def test_a_path_that_cannot_be_a_folder_is_a_store_error(tmp_path: Path) -> None:
    """A file where a folder should be is one clear line."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="run folder cannot be written: Not a directory"):
        open_folder(tmp_path / "file" / "run", demo_plan(1))


def test_a_read_only_folder_is_a_store_error(tmp_path: Path) -> None:
    """No permission is named, nothing is written."""
    (tmp_path / "run").mkdir(mode=0o555)
    with held_to_rights(), pytest.raises(StoreError, match="no permission to write"):
        open_folder(tmp_path / "run", demo_plan(1))


# ---- reading and checking ------------------------------------------------------------------------------


def test_a_run_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    """Trajectories and verdicts come back in plan order."""
    whole = finish_copy(tmp_path)
    run = load_run(whole)
    expected = [(item.task, item.trial) for item in demo_plan(4)]
    assert expected == [(t.task, t.trial) for t in run.trajectories()]
    assert expected == [(v.task, v.trial) for v in run.verdicts()]
    assert expected == [(t.task, t.trial) for t in run.timings()]


def test_an_untouched_run_verifies(tmp_path: Path) -> None:
    """Every chain, every digest and every score agree."""
    whole = finish_copy(tmp_path)
    scores = {(v.task, v.trial): v for v in load_run(whole).verdicts()}
    check = verify_run(whole, rescore=lambda t: scores[t.task, t.trial])
    assert (True, 4, 4, load_run(whole).manifest.roots) == (
        check.ok,
        check.episodes,
        check.rescored,
        check.roots,
    )


@pytest.mark.parametrize("name", ["manifest.json", "trajectories.jsonl", "verdicts.jsonl", "summary.json"])
def test_every_flipped_byte_is_found(tmp_path: Path, name: str) -> None:
    """A sample of flipped bytes over each hashed file: each is found, none passes."""
    whole = finish_copy(tmp_path, tasks=1)
    content = (whole / name).read_bytes()
    for position in range(0, len(content), max(1, len(content) // 60)):
        flipped = bytearray(content)
        flipped[position] ^= 1
        (whole / name).write_bytes(bytes(flipped))
        assert not is_whole(whole), f"{name}: byte {position} flipped unseen"


def is_whole(path: Path) -> bool:
    """Tell whether a run passes its check; refusing to read it is no pass."""
    try:
        return verify_run(path).ok
    except (DamagedError, InputError, NewerFormatError):
        return False


def test_a_changed_step_is_named_with_its_task(tmp_path: Path) -> None:
    """A record that was edited does not have its chain any more."""
    whole = finish_copy(tmp_path, tasks=2)
    text = (whole / "trajectories.jsonl").read_text().replace('"content":"1"', '"content":"2"')
    (whole / "trajectories.jsonl").write_text(text)
    findings = verify_run(whole).findings
    assert ("trajectories.jsonl", "task t1, trial 0", "step 2 does not have its digest") == (
        findings[0].member,
        findings[0].record,
        findings[0].what,
    )


def test_a_changed_score_is_named(tmp_path: Path) -> None:
    """Scoring again finds a verdict that was edited or a rule that has changed."""
    whole = finish_copy(tmp_path, tasks=1)

    def rescore(trajectory: Trajectory) -> EpisodeVerdicts:
        return EpisodeVerdicts(task=trajectory.task, split="even", trial=0, verdicts=())

    assert "scores differently now" in [found.what for found in verify_run(whole, rescore=rescore).findings]


def test_a_missing_episode_is_found(tmp_path: Path) -> None:
    """A run that lost its last line is not the run that was planned."""
    whole = finish_copy(tmp_path, tasks=2)
    for name in ("trajectories.jsonl", "verdicts.jsonl"):
        lines = (whole / name).read_bytes().splitlines(keepends=True)
        (whole / name).write_bytes(lines[0])
    assert "its 1 episodes are not the 2 of the plan" in [f.what for f in verify_run(whole).findings]


def test_an_unfinished_run_is_not_verified(tmp_path: Path) -> None:
    """There is nothing to prove yet, and the message says how to go on."""
    with open_folder(tmp_path / "run", demo_plan(1)):
        pass
    with pytest.raises(InputError, match=r"run is not finished.*resumes"):
        verify_run(tmp_path / "run")


def test_a_folder_without_a_manifest_is_no_run(tmp_path: Path) -> None:
    """Any other folder is refused by name."""
    with pytest.raises(InputError, match=r"no manifest\.json"):
        load_run(tmp_path)


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"{", DamagedError, "manifest.json is not JSON"),
        (b"[]", DamagedError, "manifest is damaged"),
        (b'{"format_version": 99}', NewerFormatError, "run folder has format 99"),
        (b'{"format_version": 1, "inputs": {"benchmark": 5}}', DamagedError, r"\$\.inputs\.benchmark"),
    ],
)
def test_odd_manifests_are_named(
    tmp_path: Path, content: bytes, error: type[Exception], message: str
) -> None:
    """Damaged, newer and foreign manifests are told apart."""
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(error, match=message):
        load_run(tmp_path)


def test_an_absurd_line_is_refused(tmp_path: Path) -> None:
    """A line over the bound is refused before it is read whole."""
    (tmp_path / "trajectories.jsonl").write_bytes(b"x" * 5_000 + b"\n")
    with pytest.raises(LimitError, match=r"line is too long \(trajectories\.jsonl, record 1\)"):
        list(read_lines(tmp_path / "trajectories.jsonl", max_bytes=1_000))


def test_nothing_of_this_machine_is_hashed(tmp_path: Path) -> None:
    """No folder, host, user or time is in the hashed files."""
    whole = finish_copy(tmp_path)
    content = b"".join(read_hashed(whole).values())
    words = [str(tmp_path), os.uname().nodename, tmp_path.parts[1], str(os.getpid())]
    assert [] == [word for word in words if len(word) > 4 and word.encode() in content]


def test_roots_tell_results_from_outputs(tmp_path: Path) -> None:
    """Two runs under other settings may have one outputs digest and still be two runs."""
    plan = demo_plan(2)
    roots = []
    for seed in (0, 1):
        manifest = demo_manifest(plan, seed=seed)
        roots.append(finish_with(tmp_path / str(seed), plan, manifest).roots)
    first, second = roots
    assert first is not None
    assert second is not None
    assert (True, True, False, False) == (
        first.outputs == second.outputs,
        first.results == second.results,
        first.inputs == second.inputs,
        first.run_root == second.run_root,
    )


def finish_with(path: Path, plan: tuple[PlanItem, ...], manifest: RunManifest) -> RunManifest:
    """Run a plan under a manifest."""
    worker = make_worker(WorkerSpec(factory=FACTORY, spec={"tasks": len(plan)}))
    with RunFolder(path, manifest, plan) as folder:
        for item in plan:
            folder.append(encode_episode(worker.run(item)))
        return folder.finish({"done": True})


def test_refused_network_calls_are_counted_in_the_manifest(tmp_path: Path) -> None:
    """The guard's count is a fact of the run that anyone can read."""
    plan = demo_plan(2)
    worker = make_worker(WorkerSpec(factory=FACTORY, spec={"tasks": 2}))
    with open_folder(tmp_path / "run", plan) as folder:
        for item, attempts in zip(plan, (0, 3), strict=True):
            result = msgspec.structs.replace(worker.run(item), network_attempts=attempts)
            folder.append(encode_episode(result))
        folder.finish({})
    manifest = json.loads((tmp_path / "run/manifest.json").read_bytes())
    assert {"network_attempts": 3, "episodes_with_attempts": 1} == manifest["guard"]


def test_wants_are_listed_once_with_all_that_met_them(tmp_path: Path) -> None:
    """Two trials that miss one call want one recording."""
    run_demo(tmp_path / "run", {"tasks": 2, "recorded": [0]}, trials=2)
    (want,) = collect_wants(load_run(tmp_path / "run").trajectories())
    expected = ("square", {"n": 1}, [{"task": "t1", "trial": 0}, {"task": "t1", "trial": 1}])
    assert expected == (want["tool"], want["arguments"], want["met"])
