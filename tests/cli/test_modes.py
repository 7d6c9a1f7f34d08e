"""The truth table of modes: who is built, who answers, what is written, and what a miss comes to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from replay.core.errors import NetworkBlockedError, UsageError
from replay.core.network import NetworkGuard
from replay.core.types import Json
from replay.engine.rundir.reading import load_run
from replay.wiring.modes import parse_modes
from replay.wiring.runs import RunReport, RunRequest, execute_run
from tests.support.commands import MINI, Answered, read_folder, run_command
from tests.support.data import CHECKOUT
from tests.support.makers import BUILT, named
from tests.support.scripts import write_script

ARCHIVE = CHECKOUT / "snapshots" / f"{MINI}.replay"
MODES = ("strict", "replay", "record")
MAKERS: dict[str, Json] = {
    "live": named("make_live"),
    "simulator": named("make_simulator"),
    "judge_maker": named("make_judge"),
}


class Site:
    """One place with stores, a script that asks for unrecorded weather, and runs."""

    def __init__(self, stores: Path, folder: Path) -> None:
        self.stores = stores
        self.folder = folder
        self.script = write_script(folder / "script.json", "1001")
        BUILT.clear()

    def play(
        self, mode: str, *, out: str = "run", modes: dict[str, str] | None = None, **words: Json
    ) -> RunReport:
        """Run task 1001 with every maker that is named."""
        asked: dict[str, Json] = {
            "archive": MINI,
            "candidate": f"scripted:{self.script}",
            "select": ("1001",),
        }
        asked |= {"out": str(self.folder / out), "home": str(self.stores)}
        return execute_run(RunRequest(**{**asked, **words}, modes=parse_modes(mode, **(modes or {}))))

    def command(self, mode: str, *words: str | Path, out: str = "run") -> Answered:
        """Run the split of task 1001 from the command line, where no maker can be named."""
        where = ("--out", self.folder / out, "--home", self.stores)
        script = ("--candidate", f"scripted:{self.script}")
        return run_command("run", MINI, "--mode", mode, *script, *where, *words)


@pytest.fixture
def site(stores: Path, tmp_path: Path) -> Site:
    """A place for runs."""
    return Site(stores, tmp_path)


@pytest.mark.parametrize(
    ("mode", "built"),
    [("strict", set()), ("replay", {"simulator", "judge"}), ("record", {"simulator", "judge", "live"})],
)
def test_a_mode_is_a_choice_of_objects(site: Site, mode: str, built: set[str]) -> None:
    """Strict builds no maker, replay the simulator and the judge, record the live upstream as well."""
    site.play(mode, **MAKERS)
    assert built == set(BUILT)


@pytest.mark.parametrize(
    ("modes", "built"),
    [
        ({"tools": "record"}, {"live", "simulator"}),
        ({"tools": "replay"}, {"simulator"}),
        ({"judge": "replay"}, {"judge"}),
        ({"judge": "record"}, {"judge"}),
        ({"candidate": "record", "user": "record"}, set()),
    ],
)
def test_each_boundary_has_its_own_mode(site: Site, modes: dict[str, str], built: set[str]) -> None:
    """A mode that is named for one boundary builds nothing at the others."""
    site.play("strict", modes=modes, **MAKERS)
    assert built == set(BUILT)


@pytest.mark.parametrize(
    ("mode", "stop", "said"),
    [("strict", "tool-miss", None), ("replay", "finished", "simulated"), ("record", "finished", "recorded")],
)
def test_the_first_source_that_can_answers(site: Site, mode: str, stop: str, said: str | None) -> None:
    """An unrecorded call is a miss, simulated, or asked for live; the provenance says which."""
    summary = site.play(mode, **MAKERS).summary
    assert {stop: 1} == summary.stops
    tools = summary.provenance_by_boundary.get("tools", {})
    assert said in tools or said is None
    assert ("recorded" in tools) == (mode == "record")


@pytest.mark.parametrize("mode", MODES)
def test_what_is_recorded_is_never_asked_for(site: Site, mode: str) -> None:
    """A candidate that is recorded whole gives one and the same trajectory in any mode."""
    report = site.play(mode, candidate="cot", **MAKERS)
    strict = site.play("strict", candidate="cot", out="strict")
    assert {} == report.recorded
    assert report.manifest.roots is not None
    assert strict.manifest.roots is not None
    assert strict.manifest.roots.trajectories == report.manifest.roots.trajectories
    assert not (site.folder / "run" / "overlay").exists()


def test_a_live_upstream_that_fails_passes_to_the_simulator(site: Site) -> None:
    """The simulator answers when live cannot; without one the miss quotes the upstream."""
    live = named("make_failing_live")
    helped = site.play("record", out="helped", **{**MAKERS, "live": live})
    assert 1 == helped.summary.provenance_by_boundary["tools"]["simulated"]
    alone = site.play("record", out="alone", live=live)
    (trajectory,) = load_run(Path(alone.out)).trajectories()
    assert ("tool-miss", True) == (trajectory.stop, "503 from the gateway" in trajectory.stop_detail)


@pytest.mark.parametrize(("mode", "code"), [("strict", 4), ("replay", 4), ("record", 7)])
def test_a_miss_ends_its_episode_only(site: Site, mode: str, code: int) -> None:
    """The episode is unscored and counted, the others are played, and the exit code says so."""
    answered = site.command(mode, "--select", "1001", "--select", "1002", "--json")
    document = answered.document
    assert (code, "") == (answered.code, answered.err)
    assert (2, 0) == (document["planned"], document["scored"])
    # The script says nothing for task 1002: the candidate is what is missing there.
    assert {"tool-miss": 1, "candidate-miss": 1} == document["unscored"]


@pytest.mark.parametrize("mode", MODES)
def test_a_miss_names_the_nearest_call_and_the_command(site: Site, mode: str) -> None:
    """The explanation says what was asked, what is nearest, which argument differs, and how to record it."""
    site.command(mode, "--select", "1001")
    (want,) = run_command("misses", site.folder / "run", "--json").document["wants"]
    assert re.search(
        r"no snapshot for call \S+/v2_current_conditions\(city='Atlantis'\) in archive 'stabletoolbench-mini'"
        r".*nearest of \d+: city 'Atlantis' vs recorded '\w+'"
        r".*replay run stabletoolbench-mini --select 1001 --mode record",
        want["detail"],
    )


def test_an_overlay_answers_in_the_next_run(site: Site) -> None:
    """What was simulated once is read from the named overlay, whose digest is an input of the run."""
    first = site.play("replay", out="first", **MAKERS)
    assert {"new"} == first.recorded.keys()
    missing = site.play("replay", out="missing")
    assert {"tool-miss": 1} == missing.summary.stops
    overlay = str(site.folder / "first" / "overlay")
    second = site.play("replay", out="second", overlay=overlay, **MAKERS)
    assert ({"finished": 1}, {}) == (second.summary.stops, second.recorded)
    assert 1 == second.summary.provenance_by_boundary["tools"]["simulated"]
    assert {"stabletoolbench-mini", "overlay"} == second.manifest.inputs.archives.keys()


def test_a_run_that_read_an_overlay_is_verified_with_it(site: Site) -> None:
    """Verifying asks for the overlay, takes the right one and refuses another."""
    site.play("replay", out="first", **MAKERS)
    site.play("replay", out="other", simulator=MAKERS["simulator"])
    overlay = site.folder / "first" / "overlay"
    site.command("replay", "--select", "1001", "--overlay", overlay, out="second")
    verify = ("verify", site.folder / "second", "--recompute", "--candidate", f"scripted:{site.script}")
    where = ("--home", site.stores)
    asked = run_command(*verify, *where)
    assert (3, True) == (asked.code, "name it with --overlay" in asked.err)
    assert 0 == run_command(*verify, "--overlay", overlay, *where).code
    other = run_command(*verify, "--overlay", site.folder / "other" / "overlay", *where)
    assert (3, True) == (other.code, "this is another overlay" in other.err)


def test_a_strict_run_reads_no_overlay(site: Site) -> None:
    """An overlay that would be without effect is refused, with the way to read it strictly."""
    with pytest.raises(UsageError, match=r"a strict run reads no overlay.*freeze it as a layer"):
        site.play("strict", overlay=str(site.folder))
    assert not (site.folder / "run").exists()


@pytest.mark.slow
def test_a_recorded_overlay_becomes_a_layer(site: Site) -> None:
    """Candidate, answers and verdicts of a recorded run replay strictly from a layer, to the same bytes."""
    first = site.play("record", out="first", **MAKERS)
    layer = site.folder / "layer.replay"
    words = ("--base", ARCHIVE, "--name", "more", "--version", "1", "--home", site.stores)
    frozen = run_command("archive", "freeze", site.folder / "first" / "overlay", "-o", layer, *words)
    assert 0 == frozen.code, frozen.err
    run_words = ("--candidate", "tester", "--judge", "content", "--mode", "strict", "--select", "1001")
    again = run_command(
        "run", layer, *run_words, "--out", site.folder / "again", "--home", site.stores, "--json"
    )
    assert (0, {}) == (again.code, again.document["unscored"])
    assert first.manifest.roots is not None
    assert first.manifest.roots.trajectories == again.document["roots"]["trajectories"]
    assert first.manifest.roots.verdicts == again.document["roots"]["verdicts"]


@pytest.mark.slow
def test_a_merged_archive_stands_alone(site: Site, tmp_path: Path) -> None:
    """Frozen with --merge, the overlay and its base are one archive that needs no other."""
    site.play("record", out="first", **MAKERS)
    whole = tmp_path / "far" / "whole.replay"
    whole.parent.mkdir()
    words = ("--base", ARCHIVE, "--merge", "--name", "whole", "--version", "1", "--home", site.stores)
    run_command("archive", "freeze", site.folder / "first" / "overlay", "-o", whole, *words)
    assert [] == run_command("archive", "list", whole, "--json").document["bases"]
    run_words = ("--candidate", "tester", "--judge", "content", "--mode", "strict", "--select", "1001")
    where = ("--out", tmp_path / "again", "--home", tmp_path / "fresh")
    assert 0 == run_command("run", whole, *run_words, *where).code


@pytest.mark.parametrize("mode", MODES)
def test_frozen_archives_are_only_read(site: Site, mode: str) -> None:
    """No run changes a byte or a date of the archive or of the sealed store it was thawed into."""
    site.play(mode, out="before", **MAKERS)
    before = read_folder(site.stores), [path.stat().st_mtime_ns for path in sorted(site.stores.rglob("*"))]
    site.play(mode, out="after", **MAKERS)
    after = read_folder(site.stores), [path.stat().st_mtime_ns for path in sorted(site.stores.rglob("*"))]
    assert before == after


def test_a_run_that_reached_for_the_network_is_void(site: Site) -> None:
    """The call is refused and counted, its episode is void, and so is the run."""
    report = site.play("replay", simulator=named("make_networked_simulator"))
    assert {"network-blocked": 1} == report.summary.unscored
    assert report.manifest.guard is not None
    assert 1 == report.manifest.guard.network_attempts == report.to_json()["network_attempts"]
    with pytest.raises(NetworkBlockedError, match="1 calls reached for the network; the run is void"):
        report.check()


def test_record_mode_has_no_guard_of_its_own(site: Site, blocked_network: NetworkGuard) -> None:
    """A live upstream may reach the network: only the guard around this test refuses and counts."""
    report = site.play("record", live=named("make_networked_simulator"))
    assert report.manifest.guard is not None
    assert (1, 0) == (blocked_network.attempts, report.manifest.guard.network_attempts)


def test_answers_that_change_are_told(site: Site) -> None:
    """Where a live upstream answers two trials differently the first is kept and the other counted."""
    report = site.play("record", live=named("make_unsteady_live"), trials=2)
    assert 1 == report.recorded["conflict"]
    same = site.play("record", live=MAKERS["live"], trials=2, out="same")
    assert "conflict" not in same.recorded


def test_makers_are_inputs_of_the_run(site: Site) -> None:
    """Runs with other makers are other runs: one does not resume the other."""
    with_one, without = site.play("replay", **MAKERS), site.play("replay", out="without")
    assert {"candidate", "judge", "simulator", "judge-maker"} == with_one.manifest.inputs.models.keys()
    assert {"candidate", "judge"} == without.manifest.inputs.models.keys()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["replay", "record"])
def test_workers_record_as_one(site: Site, mode: str) -> None:
    """Two processes give the run root and the overlay of one."""
    reports = [site.play(mode, out=f"run{jobs}", jobs=jobs, trials=3, **MAKERS) for jobs in (1, 2)]
    roots = {report.manifest.roots.run_root for report in reports if report.manifest.roots}
    assert 1 == len(roots)
    assert reports[0].recorded == reports[1].recorded
