"""Record runs against an upstream of the tests: recorded once, replayed with the upstream gone."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from replay.core.determinism import child_environment
from replay.core.types import Json
from tests.support.commands import MINI, Answered, run_command
from tests.support.data import CHECKOUT
from tests.support.scripts import UNRECORDED, answer_turn, call_turn, write_script
from tests.support.upstream import Asked, FakeUpstream, Reply, answer_json, raw_reply

ARCHIVE = CHECKOUT / "snapshots" / f"{MINI}.replay"
SECRET = "planted-proxy-key"  # noqa: S105  it opens nothing
WEATHER = "v2_current_conditions_for_skyline_forecast"


@pytest.fixture(autouse=True)
def blocked_network() -> None:
    """These tests reach for an upstream of their own on the loopback; runs that replay guard themselves."""


class Site:
    """A place with stores, a script that asks for unrecorded weather, and a file of upstreams."""

    def __init__(self, stores: Path, folder: Path, fake: FakeUpstream) -> None:
        self.stores, self.folder, self.fake = stores, folder, fake
        self.script = write_script(folder / "script.json", "1001")
        (folder / "key").write_text(SECRET)
        self.describe()

    def describe(self, more: str = "", *, kind: str = "stabletoolbench-proxy") -> None:
        """Write the file of upstreams."""
        text = f'[upstream.proxy]\nkind = "{kind}"\nbase_url = "{self.fake.url}/rapidapi"\n'
        text += f'key = {{file = "key"}}\nretries = 1\nbackoff_s = 0.001\n{more}'
        (self.folder / "upstreams.toml").write_text(text)

    def run(self, *words: str | Path, out: str = "run", mode: str = "record") -> Answered:
        """Run task 1001."""
        return run_command(*self.words(*words, out=out, mode=mode))

    def words(self, *words: str | Path, out: str, mode: str) -> tuple[str | Path, ...]:
        """The words of the command that does."""
        where = ("--out", self.folder / out, "--home", self.stores, "--select", "1001", "--json")
        live = ("--upstream", self.folder / "upstreams.toml") if mode == "record" else ()
        script = ("--candidate", f"scripted:{self.script}") if "--candidate" not in words else ()
        return ("run", MINI, "--mode", mode, *script, *live, *where, *words)

    def freeze(self, out: str = "run", *, base: Path = ARCHIVE) -> Path:
        """Freeze what a run recorded as a layer."""
        layer = self.folder / f"{out}.replay"
        words = ("--base", base, "--name", "more", "--version", "1", "--home", self.stores)
        done = run_command("archive", "freeze", self.folder / out / "overlay", "-o", layer, *words)
        assert 0 == done.code, done.err
        return layer


@pytest.fixture
def site(stores: Path, tmp_path: Path, fake: FakeUpstream) -> Site:
    """A place for recordings."""
    return Site(stores, tmp_path, fake)


def says(response: Json) -> Reply:
    """Build what a proxy says in good order."""
    return answer_json({"error": "", "response": response})


def finished(answered: Answered) -> bool:
    """Whether the episode was played to its end; nobody is there to judge it."""
    return bool(answered.document["stops"] == {"finished": 1})


def trajectories(folder: Path) -> bytes:
    """What a run did, byte for byte."""
    return (folder / "trajectories.jsonl").read_bytes()


def test_a_proxy_is_asked_as_the_original_server_asks_it(site: Site) -> None:
    """Category, tool, API, parsed input, empty strip and the key in body and header."""
    site.fake.says("/rapidapi", says("dry"))
    assert finished(site.run())
    (asked,) = site.fake.asked
    assert {
        "category": "Weather",
        "tool_name": "skyline_forecast",
        "api_name": "v2_current_conditions",
        "tool_input": {"city": UNRECORDED},
        "strip": "",
        "toolbench_key": SECRET,
    } == asked.json
    assert SECRET == asked.headers["toolbench_key"]


@pytest.mark.slow
def test_what_was_recorded_replays_with_the_upstream_gone(site: Site) -> None:
    """A layer of the recording gives the same trajectory strictly, and holds no key."""
    site.fake.says("/rapidapi", answer_json({}, status=429), says({"wet": f"no, {SECRET}"}))
    assert finished(site.run())
    site.fake.close()
    layer = site.freeze()
    words = ("--candidate", "tester", "--mode", "strict", "--select", "1001", "--home", site.stores)
    again = run_command("run", layer, *words, "--out", site.folder / "again", "--json")
    assert finished(again), again.out
    assert trajectories(site.folder / "run") == trajectories(site.folder / "again")
    for path in sorted((site.folder / "run").rglob("*")):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path.name


@pytest.mark.parametrize(
    "reply",
    [
        answer_json({}, status=503),
        answer_json({}, status=401),
        answer_json({"error": "Rate limit error...", "response": ""}),
        raw_reply(b'{"error": "", "respo', length=200),
        raw_reply(b'{"error": "", "response": 1}trailing'),
        raw_reply(b"<html>", kind="text/html"),
        answer_json(["no", "proxy"]),
    ],
)
def test_a_failure_is_never_an_answer(site: Site, reply: Reply) -> None:
    """The call stays a miss, exit 7, and nothing is recorded."""
    site.fake.says("/rapidapi", reply)
    answered = site.run("--candidate-mode", "replay")
    assert (7, {"tool-miss": 1}) == (answered.code, answered.document["stops"])
    assert not (site.folder / "run" / "overlay").exists()


def test_failures_are_recorded_as_failures_on_request(site: Site) -> None:
    """With --keep-errors a throttled call is an error result, and is replayed as one."""
    site.fake.says("/rapidapi", answer_json({"error": "slow down", "response": ""}, status=429))
    answered = site.run("--keep-errors")
    assert finished(answered)
    step = next(
        step
        for step in json.loads(trajectories(site.folder / "run").splitlines()[0])["steps"]
        if "result" in step and "slow down" in json.dumps(step)
    )
    assert step["result"]["is_error"]


def test_a_run_that_records_nothing_is_exit_1(site: Site) -> None:
    """Everything the candidate asks for is in the archive already."""
    answered = site.run("--candidate", "cot", "--tools", "record")
    assert (1, 0) == (answered.code, len(site.fake.asked))
    assert "nothing was recorded" in answered.err


@pytest.mark.slow
def test_a_killed_run_has_lost_no_answer(site: Site) -> None:
    """Killed between two answers of one episode, it goes on and asks only for the second."""
    cities = []

    def reply(asked: Asked) -> Reply:
        cities.append(asked.json["tool_input"]["city"])
        if cities.count("Mu") == 1:
            running.kill()
        return says(cities[-1])

    site.fake.answers("/rapidapi", reply)
    turns = [call_turn(WEATHER, city=city) for city in (UNRECORDED, "Mu")]
    write_script(site.script, "1001", *turns, answer_turn("Dry."))
    running = subprocess.Popen(
        [sys.executable, "-m", "replay", *map(str, site.words(out="run", mode="record"))],
        cwd=CHECKOUT,
        env=child_environment(),
        stdout=subprocess.DEVNULL,
    )
    assert -9 == running.wait(timeout=120)
    assert finished(site.run())
    assert [UNRECORDED, "Mu", "Mu"] == cities


@pytest.mark.parametrize(("repeats", "asked"), [("sticky-last", 1), ("ask-again", 2)])
def test_equal_calls_of_an_episode(site: Site, repeats: str, asked: int) -> None:
    """They get the first answer, or each its own where the upstream's file says so."""
    numbers = iter(range(1, 9))
    site.fake.answers("/rapidapi", lambda _: says(next(numbers)))
    site.describe(f'repeats = "{repeats}"\n')
    turn = call_turn(WEATHER, city=UNRECORDED)
    write_script(site.script, "1001", turn, turn, answer_turn("Dry."))
    assert finished(site.run())
    assert asked == len(site.fake.asked)
    text = trajectories(site.folder / "run").decode()
    assert (asked == 2) == ('\\"response\\": 2' in text or '"response":2' in text)


def test_rest_routes_make_requests(site: Site) -> None:
    """Arguments in the path are taken out of the query; the key is sent and never recorded."""

    def reply(asked: Asked) -> Reply:
        return answer_json({"error": "", "response": asked.target})

    site.fake.answers("/rapidapi/now/Atlantis", reply)
    routes = '[[upstream.proxy.routes]]\ntool = "*/v2_current_conditions"\npath = "/now/{city}"\n'
    query = '[upstream.proxy.query]\nappid = {file = "key"}\n'
    site.describe(query + routes, kind="rest")
    assert finished(site.run())
    (asked,) = site.fake.asked
    assert ("GET", f"/rapidapi/now/Atlantis?appid={SECRET}") == (asked.method, asked.target)
    text = trajectories(site.folder / "run").decode()
    assert (True, False) == ("appid=$redacted" in text, SECRET in text)


@pytest.mark.parametrize(
    ("words", "mode", "code", "named"),
    [
        (("--upstream", "none.toml"), "replay", 2, "only a recording run asks upstreams"),
        (("--upstream", "none.toml"), "record", 3, "upstreams cannot be read"),
    ],
)
def test_a_wrong_upstream_is_one_line(
    site: Site, words: tuple[str, ...], mode: str, code: int, named: str
) -> None:
    """Nothing is written before the file is right."""
    answered = site.run(*words, mode=mode)
    assert (code, True) == (answered.code, named in answered.err)
    assert not (site.folder / "run").exists()


def write_wants(site: Site) -> Path:
    """A want list of a run that missed the weather."""
    assert 4 == site.run(out="missed", mode="strict").code
    path = site.folder / "want-list.json"
    run_command("misses", site.folder / "missed", "-o", path)
    return path


def test_a_want_list_is_recorded(site: Site) -> None:
    """Only what is wanted is asked for; the overlay then answers, and a second time nothing is new."""
    site.fake.says("/rapidapi", says("dry"))
    wants = write_wants(site)
    answered = site.run("--want", wants, out="wanted")
    assert (0, 1, {"new": 1}) == (
        answered.code,
        answered.document["wanted"],
        answered.document["recorded"],
    )
    again = site.run("--want", wants, out="wanted")
    assert (1, {"same": 1}, 1) == (again.code, again.document["recorded"], len(site.fake.asked))
    overlay = site.folder / "wanted" / "overlay"
    assert finished(site.run("--overlay", overlay, out="helped", mode="replay"))


def test_a_want_without_an_answer_is_exit_7(site: Site) -> None:
    """The reason is shown with the tool."""
    site.fake.says("/rapidapi", answer_json({}, status=500))
    answered = site.run("--want", write_wants(site), out="wanted")
    ((tool, reason),) = answered.document["failed"]
    assert (7, True, True) == (answered.code, "v2_current" in tool, "server-error" in reason)


def test_drift_is_reported_and_nothing_written(site: Site) -> None:
    """Recorded answers are asked for again; the first difference of each is named."""
    site.fake.says("/rapidapi", says("dry"))
    site.describe('tools = ["*/v2_current_conditions"]\n')
    answered = site.run("--check-upstream")
    document = answered.document
    assert (1, 0) == (answered.code, document["failed"])
    assert 0 < document["differs"] == len(site.fake.asked)
    assert {"$.response"} == {item["where"] for item in document["items"]}
    assert not (site.folder / "run").exists()


def test_a_tool_that_no_upstream_answers_is_named(site: Site) -> None:
    """A miss of it would come again however often the run is recorded."""
    site.describe('tools = ["Nobody/*"]\n')
    answered = site.run(out="run")
    assert (7, 0) == (answered.code, len(site.fake.asked))
    assert re.search(
        r"no upstream of \S+upstreams\.toml answers Weather/\S+/v2_current_conditions: no `tools`",
        answered.err,
    )


def test_a_comparison_of_nothing_is_no_success(site: Site) -> None:
    """Where no upstream gives what is recorded, exit 0 would tell of answers that nobody asked for."""
    site.describe('tools = ["Nobody/*"]\n')
    answered = site.run("--check-upstream")
    assert (1, 0) == (answered.code, answered.document["same"])
    assert "nothing was compared" in answered.err


def test_an_upstream_that_still_says_the_same_is_exit_0(site: Site) -> None:
    """What the archive holds is what comes."""
    site.fake.says("/rapidapi", says("dry"))
    site.run(out="run")
    layer = site.freeze()
    live = ("--mode", "record", "--upstream", site.folder / "upstreams.toml", "--check-upstream")
    site.describe('tools = ["*/v2_current_conditions"]\n')
    archive = run_command("run", layer, *live, "--json", "--home", site.stores).document
    assert 1 == archive["same"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["strict", "replay"])
def test_a_run_that_does_not_record_never_loads_the_network_client(site: Site, mode: str) -> None:
    """Not even its module."""
    words = [str(word) for word in site.words("--candidate", "cot", out=mode, mode=mode)]
    program = (
        "import sys\nfrom replay.cli.main import main\n"
        f"code = main({words!r})\nassert code == 0, code\n"
        "assert not {'httpx', 'httpcore', 'requests', 'replay.tools.live'} & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=CHECKOUT,
        env=child_environment(),
        capture_output=True,
        check=False,
    )
    assert 0 == done.returncode, done.stderr.decode()


def test_a_freeze_refuses_what_looks_like_a_secret(site: Site) -> None:
    """An answer that nobody declared is found at the end, and let through by name only."""
    token = "ghp_" + "a1B2" * 9
    site.fake.says("/rapidapi", says(f"your key is {token}"))
    assert finished(site.run())
    base = ("--base", ARCHIVE, "--home", site.stores, "-o", site.folder / "layer.replay")
    freeze = ("archive", "freeze", site.folder / "run" / "overlay", *base)
    refused = run_command(*freeze)
    assert (3, False) == (refused.code, token in refused.err)
    assert not (site.folder / "layer.replay").exists()
    (name,) = re.findall(r"--allow-finding (\S+)", refused.err)
    names = {name, *re.findall(r"(github-token:[0-9a-f]{12})", refused.err)}
    assert (
        0
        == run_command(*freeze, *(word for each in sorted(names) for word in ("--allow-finding", each))).code
    )


@pytest.mark.slow
def test_a_recorded_run_verifies_with_the_upstream_gone(site: Site) -> None:
    """Played again from archive and own overlay, every bit comes out."""
    site.fake.says("/rapidapi", says("dry"))
    assert finished(site.run())
    site.fake.close()
    words = ("--recompute", "--candidate", f"scripted:{site.script}", "--home", site.stores)
    done = run_command("verify", site.folder / "run", *words)
    assert 0 == done.code, done.out + done.err


@pytest.mark.slow
def test_workers_share_what_was_said(site: Site) -> None:
    """Two processes that need the same answer ask once, and the run is that of one process."""
    site.fake.says("/rapidapi", says("dry"))
    words = ("--trials", "4")
    alone = site.run(*words, out="alone")
    asked = len(site.fake.asked)
    shared = site.run(*words, "--jobs", "2", out="shared")
    roots = {answered.document["roots"]["trajectories"] for answered in (alone, shared)}
    assert (1, 2, 1) == (asked, len(site.fake.asked), len(roots))
