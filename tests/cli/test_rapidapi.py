"""A recording run against RapidAPI-like services, and its strict replay without them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from replay.core.types import Json
from tests.cli.test_recording import ARCHIVE, SECRET, trajectories
from tests.support.commands import MINI, Answered, run_command
from tests.support.scripts import answer_turn, call_turn
from tests.support.upstream import Asked, FakeUpstream, Reply, answer_json, raw_reply

ROUTES = """
[upstream.sky]
kind = "rapidapi"
base_url = "{url}/sky"
key = {{file = "key"}}
tools = ["Weather/*"]
backoff_s = 0.001
[[upstream.sky.routes]]
tool = "*/get_7_day_outlook"
path = "/v7/{{city}}/outlook"
[[upstream.sky.routes]]
tool = "*/v2_current_conditions"
path = "/v2/now"

[upstream.food]
kind = "rapidapi"
base_url = "{url}/food"
key = {{file = "key"}}
tools = ["Food/*"]
backoff_s = 0.001
headers = {{x-rapidapi-host = "pantry.example.org"}}
[[upstream.food.routes]]
tool = "*/search_recipes"
method = "POST"
path = "/search"
[[upstream.food.routes]]
tool = "*/recipe_details"
path = "/recipes/{{is_id}}"
"""

FOUND = (
    '{"error": "", "response": {"found": [{"ingredients": "kale,quince", "maxminutes": 7}], '
    '"account": "$redacted"}}'
)

TURNS: dict[str, list[Json]] = {
    "1001": [
        call_turn("v2_current_conditions_for_skyline_forecast", city="Malmö", units="metric"),
        call_turn("get_7_day_outlook_for_skyline_forecast", city="Åre/Östra", days=3),
        answer_turn("Dry."),
    ],
    "1004": [
        call_turn("search_recipes_for_pantry_pal", ingredients="kale,quince", maxminutes=7),
        call_turn("recipe_details_for_pantry_pal", is_id="no-such"),
        answer_turn("Soup."),
    ],
}


@pytest.fixture(autouse=True)
def blocked_network() -> None:
    """The upstream of these tests is on the loopback; runs that replay guard themselves."""


class Site:
    """A folder with a script of two tasks and a file of two upstreams."""

    def __init__(self, folder: Path, stores: Path, fake: FakeUpstream) -> None:
        self.folder, self.stores, self.fake = folder, stores, fake
        scripts = [{"task": task, "turns": turns} for task, turns in TURNS.items()]
        (folder / "script.json").write_bytes(msgspec.json.encode({"name": "cook", "scripts": scripts}))
        (folder / "key").write_text(SECRET)
        (folder / "upstreams.toml").write_text(ROUTES.format(url=fake.url))

    def run(self, out: str, *words: str | Path) -> Answered:
        """Run both tasks; nobody judges."""
        chosen = [word for task in TURNS for word in ("--select", task)]
        where = ("--out", self.folder / out, "--home", self.stores, "--json", "--judge-mode", "strict")
        return run_command("run", *words, *chosen, *where)

    def record(self, out: str, *words: str) -> Answered:
        """Run them with the upstreams."""
        live = ("--mode", "record", "--upstream", self.folder / "upstreams.toml")
        return self.run(out, MINI, "--candidate", f"scripted:{self.folder / 'script.json'}", *live, *words)


@pytest.fixture
def site(tmp_path: Path, stores: Path, fake: FakeUpstream) -> Site:
    """A place for recordings."""
    made = Site(tmp_path, stores, fake)
    busy = Counter[str]()

    def search(asked: Asked) -> Reply:
        busy[asked.target] += 1
        if busy[asked.target] == 1:
            return answer_json({"message": "Too many requests"}, status=429)
        return answer_json({"found": [asked.json], "account": asked.headers["x-rapidapi-key"]})

    made.fake.says("/sky/v2/now", raw_reply(b'{"temp": 1.50,  "sky": "klar"}'))
    made.fake.says("/sky/v7/%C3%85re%2F%C3%96stra/outlook", raw_reply("Snö".encode(), kind="text/plain"))
    made.fake.answers("/food/search", search)
    made.fake.says("/food/recipes/no-such", answer_json({"message": "no recipe"}, status=404))
    return made


def observed(folder: Path) -> list[str]:
    """What the candidate read of each API, in order."""
    episodes = [json.loads(line) for line in trajectories(folder).splitlines()]
    steps = [step for episode in episodes for step in episode["steps"] if step.get("tool")]
    return [step["result"]["content"] for step in steps]


@pytest.mark.slow
def test_a_whole_recording_replays_with_the_services_gone(site: Site) -> None:
    """Calls are asked as the services want them, answered as the benchmark wants them, frozen and found."""
    first = site.record("run", "--jobs", "2")
    assert ({"finished": 2}, {"new": 4 + 6}) == (first.document["stops"], first.document["recorded"]), (
        first.err
    )
    assert [
        '{"error": "", "response": {"temp": 1.50,  "sky": "klar"}}',
        '{"error": "", "response": "Snö"}',
        FOUND,
        '{"error": "", "response": {"message": "no recipe"}}',
    ] == observed(site.folder / "run")
    check_requests(site.fake.asked)
    site.fake.close()
    layer = site.folder / "layer.replay"
    words = ("--base", ARCHIVE, "--name", "rapid", "--version", "1", "--home", site.stores)
    done = run_command("archive", "freeze", site.folder / "run" / "overlay", "-o", layer, *words)
    assert 0 == done.code, done.err
    again = site.run("again", layer, "--candidate", "cook", "--mode", "strict", "--jobs", "2")
    assert {"finished": 2} == again.document["stops"], again.err
    assert trajectories(site.folder / "run") == trajectories(site.folder / "again")
    for path in sorted((site.folder / "run").rglob("*")):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path.name


def check_requests(asked: list[Asked]) -> None:
    """The account's key and the service's name are in the headers; arguments where the routes put them."""
    assert {SECRET} == {one.headers["x-rapidapi-key"] for one in asked}
    hosts = {one.target.split("/")[1]: one.headers["x-rapidapi-host"] for one in asked}
    assert ("pantry.example.org", True) == (hosts["food"], hosts["sky"].startswith("127.0.0.1:"))
    assert [
        ("GET", "/food/recipes/no-such"),
        ("GET", "/sky/v2/now?city=Malm%C3%B6&units=metric"),
        ("GET", "/sky/v7/%C3%85re%2F%C3%96stra/outlook?days=3"),
        ("POST", "/food/search"),
        ("POST", "/food/search"),
    ] == sorted((one.method, one.target) for one in asked)


@pytest.mark.slow
def test_a_failing_service_is_a_miss_or_a_recorded_error(site: Site) -> None:
    """Its failure is never an answer; kept on request it is one in the benchmark's own form."""
    site.fake.says("/sky/v2/now", answer_json({"message": "down"}, status=503))
    missed = site.record("missed")
    assert (7, 1) == (missed.code, missed.document["stops"]["tool-miss"])
    kept = site.record("kept", "--keep-errors")
    assert {"finished": 2} == kept.document["stops"]
    error = json.loads(observed(site.folder / "kept")[0])
    assert ("", True) == (error["response"], "server-error" in error["error"])
