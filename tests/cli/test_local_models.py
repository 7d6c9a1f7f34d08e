"""Local models in whole runs: who answers, what is kept under whose name, and that it all comes out again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from replay.core.canonical import canonical_bytes, parse_json
from replay.core.errors import InputError, ModelError, UsageError
from replay.core.types import Json, SnapshotKind
from replay.engine.rundir.reading import load_run
from replay.store.snapshots import SnapshotStore
from replay.wiring.checking import CheckedRun, check_run
from replay.wiring.freezing import Below, freeze_folder
from replay.wiring.library import find_archive, locate_stores, open_library
from replay.wiring.modes import parse_modes
from replay.wiring.reopening import RunSources
from replay.wiring.runs import RunReport, RunRequest, execute_run
from tests.support.commands import MINI, run_command
from tests.support.data import CHECKOUT
from tests.support.engines import FINDER, OPENED
from tests.support.scripts import write_script

ARCHIVE = CHECKOUT / "snapshots" / f"{MINI}.replay"
TOY = "model:toy"
PROTOCOLS = ("CoT@1", "DFS_woFilter_w2")


class Site:
    """One place with stores and runs of local models."""

    def __init__(self, stores: Path, folder: Path) -> None:
        self.stores = stores
        self.folder = folder
        OPENED.clear()

    def play(self, out: str = "run", mode: str = "replay", **words: Json) -> RunReport:
        """Run three tasks with a toy model in every role."""
        asked: dict[str, Json] = {
            "archive": str(ARCHIVE),
            "candidate": TOY,
            "simulator_model": TOY,
            "judge_model": TOY,
            "judge_runs": 2,
            "limit": 3,
            "finder": FINDER,
            "home": str(self.stores),
            "out": str(self.folder / out),
            "modes": parse_modes(mode),
        }
        return execute_run(RunRequest(**{**asked, **words}))

    def freeze(self, out: str = "run") -> Path:
        """Freeze a run's overlay as a layer on the shipped archive."""
        layer = self.folder / f"{out}.replay"
        below = Below(bases=(ARCHIVE,), home=self.stores)
        freeze_folder(self.folder / out / "overlay", layer, label=("more", "1"), below=below)
        return layer

    def strict(self, layer: Path, out: str = "strict", **words: Json) -> RunReport:
        """Run the same strictly from a layer."""
        return self.play(out, "strict", archive=str(layer), bases=(str(ARCHIVE),), **words)

    def check(self, out: str = "run", finder: str = FINDER) -> CheckedRun:
        """Verify a run and compute everything again."""
        sources = RunSources(archive=str(ARCHIVE), home=self.stores)
        return check_run(self.folder / out, sources, recompute=True, finder=finder)


@pytest.fixture
def site(stores: Path, tmp_path: Path) -> Site:
    """A place for runs."""
    return Site(stores, tmp_path)


def tables_of(overlay: Path) -> dict[str, list[tuple[str, bytes]]]:
    """Rows of an overlay that say who made what."""
    with SnapshotStore.open_reader(overlay) as store:
        return {name: list(store.table(name)) for name in store.tables()}


def unfinish(manifest: Path) -> None:
    """Write a manifest as it is while its run goes on."""
    held = parse_json(manifest.read_bytes())
    manifest.write_bytes(canonical_bytes(held | {"guard": None, "roots": None, "record": None}) + b"\n")


def root_of(report: RunReport) -> str:
    """The run root."""
    assert report.manifest.roots is not None
    return report.manifest.roots.run_root


def results_of(report: RunReport) -> tuple[str, str]:
    """What was done and how it was scored."""
    assert report.manifest.roots is not None
    return report.manifest.roots.trajectories, report.manifest.roots.verdicts


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_run_comes_out_again_live_and_strictly(site: Site, protocol: str) -> None:
    """Twice live with one run root; then from an archive frozen with the overlay, with no model built."""
    first = site.play("first", protocol=protocol)
    assert {"finished": 3} == first.summary.stops
    assert {"generated", "simulated", "world"} == first.summary.provenance.keys()
    assert root_of(first) == root_of(site.play("second", protocol=protocol))
    layer = site.freeze("first")
    OPENED.clear()
    again = site.strict(layer)
    assert [] == OPENED
    assert results_of(first) == results_of(again)
    assert {} == again.recorded


@pytest.mark.parametrize(("words", "code"), [((), 1), (("--content",), 0)])
def test_a_live_run_is_what_its_frozen_layer_gives(site: Site, words: tuple[str, ...], code: int) -> None:
    """The roots differ by the archives that were read; whether the content does can be asked for alone."""
    site.play("first")
    site.strict(site.freeze("first"))
    found = run_command("compare", site.folder / "first", site.folder / "strict", *words)
    assert code == found.code
    assert (
        "every step, verdict and score is the same: the roots differ by the runs' inputs alone" in found.out
    )


def test_a_live_model_has_its_own_settings_and_a_recorded_one_those_it_had(site: Site) -> None:
    """Bounds of a recorded run are not taken over by whoever asks the model of that name."""
    site.play("first", options={"max_steps": 2})
    layer = site.freeze("first")
    strict, live = site.strict(layer), site.play("live", archive=str(layer), bases=(str(ARCHIVE),))
    bounds = [(report.manifest.inputs.settings.options or {})["max_steps"] for report in (strict, live)]
    assert [2, 12] == bounds


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_two_jobs_give_the_run_of_one(site: Site, protocol: str) -> None:
    """Each process loads the model once; how episodes are interleaved changes nothing."""
    one = site.play("one", protocol=protocol, limit=5, trials=2)
    two = site.play("two", protocol=protocol, limit=5, trials=2, jobs=2)
    assert root_of(one) == root_of(two)
    assert one.recorded == two.recorded


def test_a_layer_replays_its_own_run_whatever_its_base_recorded_of_the_model(site: Site) -> None:
    """The base holds a run of the model with other options; those of the layer's run stand for its name."""
    site.play("below", options={"tool_choice": "required"})
    below = site.freeze("below")
    bases = (ARCHIVE, below)
    words: dict[str, Json] = {"archive": str(below), "bases": (str(ARCHIVE),)}
    first = site.play("first", options={"max_steps": 3}, **words)
    assert first.cost
    layer = site.folder / "above.replay"
    freeze_folder(
        site.folder / "first" / "overlay",
        layer,
        label=("above", "1"),
        below=Below(bases=bases, home=site.stores),
    )
    words = {"archive": str(layer), "bases": tuple(map(str, bases))}
    again = site.play("strict", "strict", candidate="toy", **words)
    assert results_of(first) == results_of(again)


def test_one_loaded_model_plays_every_role(site: Site) -> None:
    """Candidate, simulator and judge share it."""
    site.play()
    assert ["toy"] == OPENED


def test_inputs_name_every_model_and_its_fingerprint(site: Site) -> None:
    """Another fingerprint is another run, which does not resume this one."""
    inputs = site.play().manifest.inputs
    assert {"candidate", "simulator", "judge-maker"} == inputs.models.keys()
    assert {"toy": "sha256:bb"} == inputs.fingerprint
    assert inputs.models["candidate"] == inputs.models["simulator"]["model"]
    with pytest.raises(InputError, match=r"other inputs: inputs\.fingerprint\.toy"):
        site.play(candidate="model:toy@cc", simulator_model="model:toy@cc", judge_model="model:toy@cc")


def test_recorded_answers_come_first(site: Site) -> None:
    """A run that reads the overlay of an equal one asks nothing again and loads nothing."""
    first = site.play("first")
    OPENED.clear()
    second = site.play("second", overlay=str(site.folder / "first" / "overlay"))
    assert [] == OPENED
    assert results_of(first) == results_of(second)
    assert ({}, {}) == (second.recorded, second.cost)


def test_what_one_model_simulated_is_never_anothers_answer(site: Site) -> None:
    """With its overlay at hand another simulator makes its own answers, and nothing is called recorded."""
    words: dict[str, Json] = {
        "candidate": f"scripted:{write_script(site.folder / 'probe.json', '1001')}",
        "limit": 1,
    }
    site.play("first", **words)
    overlay = str(site.folder / "first" / "overlay")
    OPENED.clear()
    site.play("other", simulator_model="model:other", overlay=overlay, **words)
    assert "other" in OPENED
    said = [observation_of(site.folder / name) for name in ("first", "other")]
    assert said[0] != said[1]
    nobody = site.play("nobody", simulator_model="", overlay=overlay, **words)
    assert {"tool-miss": 1} == nobody.summary.stops


def observation_of(run: Path) -> str:
    """What the first call of a run was answered."""
    (trajectory,) = load_run(run).trajectories()
    return next(step.result.content for step in trajectory.steps if hasattr(step, "result"))


def test_a_strict_run_reads_simulated_answers_of_the_named_simulator_only(site: Site) -> None:
    """By its recorded name or as model:NAME; without one the call is a miss."""
    first = site.play("first")
    layer = site.freeze("first")
    named = site.strict(layer, "named", candidate="toy", simulator_model="toy", judge_model="toy")
    assert results_of(first) == results_of(named)
    assert {"tool-miss": 3} == site.strict(layer, "without", simulator_model="").summary.stops
    with pytest.raises(InputError, match=r"nothing is recorded of 'toi' in this role.*did you mean toy"):
        site.strict(layer, "wrong", simulator_model="toi")


def test_a_strict_run_of_an_unrecorded_model_lists_what_is_recorded(site: Site) -> None:
    """The shipped archive has no completions of the model; none is built to find out."""
    with pytest.raises(InputError, match=r"no recorded model 'toy'.*one of: .*cot"):
        site.play("strict", "strict", simulator_model="", judge_model="")
    assert [] == OPENED


@pytest.mark.parametrize(
    ("boundary", "unscored"),
    [("candidate", "candidate-miss"), ("tools", "tool-miss"), ("judge", "judge-miss")],
)
def test_each_boundary_has_its_own_mode(site: Site, boundary: str, unscored: str) -> None:
    """What is strict at one boundary reads records there, and the model answers at the others."""
    site.play("first", limit=1)
    modes = parse_modes("replay", **{boundary: "strict"})
    archive: dict[str, Json] = {"archive": str(site.freeze("first")), "bases": (str(ARCHIVE),)}
    again = site.play("again", modes=modes, limit=2, **archive)
    assert (2, 1, {unscored: 1}) == (again.summary.planned, again.summary.scored, again.summary.unscored)


def test_who_names_a_judge_is_judged_by_it(site: Site) -> None:
    """The archive's recorded judge speaks only when it is named as well."""
    alone = site.play("alone", candidate="cot", simulator_model="")
    assert {"generated": alone.summary.provenance_by_boundary["judge"]["generated"]} == (
        alone.summary.provenance_by_boundary["judge"]
    )
    both = site.play("both", candidate="cot", simulator_model="", judge=archive_judge(site))
    assert "generated" not in both.summary.provenance_by_boundary["judge"]
    assert {"candidate", "judge", "judge-maker"} == both.manifest.inputs.models.keys()


def archive_judge(site: Site) -> str:
    """Name of the shipped judge."""
    with open_library(locate_stores(find_archive("stabletoolbench"), home=site.stores)[0]) as library:
        return next(iter(library.judges()))


def test_a_simulation_without_an_end_is_a_miss_everywhere(site: Site) -> None:
    """Live, strictly and played again by verify: the same miss for the same reason, and never an answer."""
    first = site.play("first", simulator_model="model:endless")
    assert {"tool-miss": 3} == first.summary.unscored
    stop = next(iter(load_run(site.folder / "first").trajectories())).stop_detail
    assert "an answer from the simulator, which failed (truncated: after 1024 tokens)" in stop
    again = site.strict(site.freeze("first"), simulator_model="model:endless")
    assert {"tool-miss": 3} == again.summary.unscored
    assert site.check("first").ok


def test_a_judge_without_an_end_is_an_error_everywhere(site: Site) -> None:
    """An unreadable verdict of a local judge is kept: a strict run is unscored for the same reason."""
    first = site.play("first", judge_model="model:endless")
    assert {"judge-error": 3} == first.summary.unscored
    again = site.strict(site.freeze("first"), judge_model="model:endless")
    assert results_of(first) == results_of(again)
    assert site.check("first").ok


def test_verify_computes_generated_answers_again(site: Site) -> None:
    """All that the run recorded, of every role; a run on another machine says why it cannot."""
    first = site.play()
    found = site.check()
    assert found.ok
    assert (found.answers.generated, {}) == (found.answers.recomputed, found.answers.elsewhere)
    completions = first.summary.provenance_by_boundary["candidate"]["generated"]
    assert found.answers.generated > completions
    elsewhere = site.check(finder="tests.support.engines:find_elsewhere").answers
    assert 0 == elsewhere.recomputed
    assert {"toy: recorded with another fingerprint": elsewhere.generated} == elsewhere.elsewhere


def test_a_forged_answer_is_found_by_computing_it_again(site: Site) -> None:
    """Who rewrites a completion and everything that hangs on it cannot rewrite the model."""
    site.play()
    found = site.check(finder="tests.support.engines:find_another_mind")
    assert not found.ok
    assert 8 == found.exit_code
    assert all("computed again, it differs in" in finding.what for finding in found.answers.differ)


@pytest.mark.slow
def test_an_interrupted_run_goes_on_to_the_same_root(site: Site) -> None:
    """Ctrl-C after the first episode, while others are under way."""
    whole = site.play("whole")

    def stop(_: object) -> None:
        raise KeyboardInterrupt

    request = RunRequest(
        archive=str(ARCHIVE),
        candidate=TOY,
        simulator_model=TOY,
        judge_model=TOY,
        judge_runs=2,
        limit=3,
        finder=FINDER,
        home=str(site.stores),
        out=str(site.folder / "broken"),
        modes=parse_modes("replay"),
    )
    with pytest.raises(KeyboardInterrupt):
        execute_run(request, progress=stop)
    resumed = execute_run(request)
    assert root_of(whole) == root_of(resumed)
    assert results_of(whole) == results_of(site.strict(site.freeze("broken")))


def test_a_crash_before_the_overlay_is_described_is_made_good(site: Site) -> None:
    """Killed after the last episode: the same command leaves the overlay as an undisturbed run does."""
    whole = site.play("whole")
    broken, overlay = site.folder / "broken", site.folder / "whole" / "overlay"
    shutil.copytree(site.folder / "whole", broken, ignore=shutil.ignore_patterns("overlay", "summary.json"))
    with SnapshotStore.open_reader(overlay) as told, SnapshotStore.create(broken / "overlay") as bare:
        bare.put_many(told.scan())
    unfinish(broken / "manifest.json")
    assert root_of(whole) == root_of(site.play("broken"))
    assert tables_of(overlay) == tables_of(broken / "overlay") != {}


def test_fresh_answers_are_computed_although_they_are_recorded(site: Site) -> None:
    """The models are asked again, and give the run that reads their records."""
    site.play()
    layer = str(site.freeze())
    read, fresh = (
        site.play(name, archive=layer, fresh=name == "fresh", bases=(str(ARCHIVE),))
        for name in ("read", "fresh")
    )
    assert {} == read.cost
    assert {"candidate", "judge", "simulator"} == fresh.cost.keys()
    assert root_of(read) == root_of(fresh)


def test_without_a_tool_its_records_are_not_served(site: Site) -> None:
    """The simulator answers for it, and the run says so in its inputs."""
    weather = "Weather/skyline_forecast_for_Weather/*"
    full, sparse = site.play("full", limit=1), site.play("sparse", limit=1, without=(weather,))
    assert {"without": [weather]} == sparse.manifest.inputs.extra
    assert None is full.manifest.inputs.extra
    assert 0 == sparse.summary.provenance_by_boundary["tools"].get("scripted", 0)
    assert results_of(sparse) == results_of(site.strict(site.freeze("sparse"), limit=1, without=(weather,)))
    assert site.check("sparse").ok


def test_a_strict_run_cannot_be_fresh(site: Site) -> None:
    """It computes nothing, and says so before anything is made."""
    with pytest.raises(UsageError, match="a strict run computes nothing"):
        site.play(mode="strict", fresh=True)


def test_costs_are_told_and_never_hashed(site: Site) -> None:
    """By the part that asked; in the report and in timings.jsonl only."""
    report = site.play()
    assert ["candidate", "judge", "simulator"] == list(report.cost)
    assert (
        report.cost["candidate"].requests == report.summary.provenance_by_boundary["candidate"]["generated"]
    )
    document = report.to_json()["cost"]["simulator"]
    counted = {"requests", "prompt_tokens", "reused_tokens", "generated_tokens", "seconds", "overflowed"}
    assert counted == document.keys()
    for name in ("manifest.json", "trajectories.jsonl", "verdicts.jsonl", "summary.json"):
        assert b"reused_tokens" not in (site.folder / "run" / name).read_bytes()


def test_a_build_that_is_not_pinned_marks_the_run(site: Site) -> None:
    """In its conditions, which are compared on resume."""
    assert "unpinned" not in site.play("pinned").manifest.conditions
    assert ["toy"] == site.play("marked", allow_unpinned=True).manifest.conditions["unpinned"]


def test_a_model_that_is_not_there_is_one_line_and_no_run(site: Site) -> None:
    """Found before a run directory is made."""
    with pytest.raises(ModelError, match=r"no model 'absent'.*replay models add"):
        site.play(candidate="model:absent")
    assert not (site.folder / "run").exists()


def test_an_unknown_kind_of_model_lists_the_kinds(site: Site) -> None:
    """A role takes a local model or a recorded name."""
    with pytest.raises(InputError, match=r"unknown kind of model 'scripted'.*model:NAME"):
        site.play(judge_model="scripted:x")
    with pytest.raises(InputError, match="model:NAME, remote:NAME, scripted:FILE"):
        site.play(candidate="distant:x")


def test_everything_generated_is_kept_under_its_model(site: Site) -> None:
    """Completions of every role, verdicts and simulated answers, each with the identity in its request."""
    report = site.play()
    with SnapshotStore.open_reader(site.folder / "run" / "overlay") as overlay:
        kinds = {kind: list(overlay.scan(kind)) for kind in SnapshotKind}
        tables = {table: [name for name, _ in overlay.table(table)] for table in overlay.tables()}
    assert all(kinds.values())
    identity = report.manifest.inputs.models["candidate"]
    assert all(snapshot.request["model"] == identity for snapshot in kinds[SnapshotKind.COMPLETION])
    assert {"candidates": ["toy"], "judge-models": ["toy"], "simulators": ["toy"]} == tables
    keys = {snapshot.key for snapshot in kinds[SnapshotKind.COMPLETION]}
    assert all(snapshot.meta["completion"] in keys for snapshot in kinds[SnapshotKind.API])
