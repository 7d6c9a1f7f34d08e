"""A remote model as candidate, simulator, judge and user: asked once, frozen for ever."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.core.types import Json
from tests.cli.test_recording import Site
from tests.support.commands import Answered, run_command
from tests.support.data import CHECKOUT
from tests.support.remote_minds import answer_as_asked, role_of
from tests.support.scripts import UNRECORDED
from tests.support.upstream import Asked, FakeUpstream, Reply, answer_json, raw_reply

PATH = "/v1/chat/completions"
WEATHER = "v2_current_conditions_for_skyline_forecast"


@pytest.fixture(autouse=True)
def blocked_network() -> None:
    """These tests reach for an upstream of their own on the loopback; runs that replay guard themselves."""


@pytest.fixture
def site(stores: Path, tmp_path: Path, fake: FakeUpstream) -> Site:
    """A place for recordings, with a remote model."""
    made = Site(stores, tmp_path, fake)
    describe(made)
    return made


def describe(site: Site, more: str = "") -> None:
    """Write the file of upstreams."""
    text = f'[upstream.gpt]\nkind = "openai"\nbase_url = "{site.fake.url}/v1"\nmodel = "gpt-x"\n'
    text += f'key = {{file = "key"}}\nretries = 0\n{more}'
    (site.folder / "upstreams.toml").write_text(text)


def message(content: str | None, *calls: tuple[str, Json]) -> Json:
    """Build what the model says."""
    written = [
        {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for n, (name, arguments) in enumerate(calls)
    ]
    return {"content": content, **({"tool_calls": written} if written else {})}


def said(document: Json) -> Reply:
    """Build a whole answer of the API."""
    return answer_json({"choices": [{"index": 0, "message": document, "finish_reason": "stop"}]})


def streamed(document: Json) -> Reply:
    """Build the same as a stream."""
    calls = [{"index": n, **call} for n, call in enumerate(document.get("tool_calls", ()))]
    delta = {"content": document["content"]} | ({"tool_calls": calls} if calls else {})
    events = [{"choices": [{"index": 0, "delta": delta}]}]
    events += [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    return raw_reply(text.encode(), kind="text/event-stream")


FINISH = ("Finish", {"return_type": "give_answer", "final_answer": "Dry."})


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True])
def test_a_remote_candidate_is_frozen(site: Site, stream: bool) -> None:
    """What it said replays strictly from a layer, upstream gone, to the same trajectory."""
    describe(site, f"stream = {str(stream).lower()}\n")
    write = streamed if stream else said
    site.fake.says(PATH, write(message("I stop here.", FINISH)))
    first = site.run("--candidate", "remote:gpt")
    assert {"finished": 1} == first.document["stops"], first.out
    assert {"Bearer planted-proxy-key"} == {asked.headers["authorization"] for asked in site.fake.asked}
    assert {"gpt-x"} == {asked.json["model"] for asked in site.fake.asked}
    site.fake.close()
    overlay = site.folder / "run" / "overlay"
    site.freeze()
    words = ("--candidate", "gpt", "--mode", "strict", "--select", "1001", "--home", site.stores)
    again = run_command("run", site.folder / "run.replay", *words, "--out", site.folder / "again", "--json")
    assert {"finished": 1} == again.document["stops"], again.err
    roots = [answered.document["roots"]["trajectories"] for answered in (first, again)]
    assert (roots[0], True) == (roots[1], overlay.is_dir())


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True])
def test_candidate_simulator_and_judge_are_frozen_together(site: Site, stream: bool) -> None:
    """One model in three roles; strictly, the upstream gone, the run is the same to the byte."""
    describe(site, f"stream = {str(stream).lower()}\n")
    site.fake.answers(PATH, answer_as_asked)
    roles = ("--candidate", "--simulator", "--judge-model")
    first = site.run(*(word for role in roles for word in (role, "remote:gpt")))
    assert (0, {"finished": 1}, 1) == (first.code, first.document["stops"], first.document["scored"])
    assert 1 == first.document["provenance_by_boundary"]["tools"]["simulated"]
    asked = len(site.fake.asked)
    assert {stream} == {bool(one.json.get("stream")) for one in site.fake.asked}
    site.fake.close()
    layer = site.freeze()
    words = [word for role in roles for word in (role, "gpt")]
    again = replay_strictly(site, layer, "again", *words, "--select", "1001")
    assert {"finished": 1} == again.document["stops"], again.err
    assert same_files(site, "run", "again")
    assert asked == len(site.fake.asked)
    verify = run_command("verify", site.folder / "again", "--archive", layer, "--home", site.stores)
    assert 0 == verify.code, verify.err


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True])
def test_a_remote_user_and_candidate_converse_and_are_frozen(site: Site, stream: bool) -> None:
    """Conversations with calls in parallel; from the layer they come again, with any number of workers."""
    describe(site, f"stream = {str(stream).lower()}\n")
    site.fake.answers(PATH, answer_as_asked)
    roles = ("--candidate", "remote:gpt", "--user-model", "remote:gpt")
    live = ("--mode", "record", "--upstream", site.folder / "upstreams.toml", "--out", site.folder / "run")
    first = run_command(
        "run", "toolsandbox-mini", *roles, *live, "--limit", "3", "--home", site.stores, "--json"
    )
    assert (0, {"finished": 3}) == (first.code, first.document["stops"]), first.err
    calls = [message.get("tool_calls", ()) for one in site.fake.asked for message in one.json["messages"]]
    assert 2 == max(map(len, calls))
    ends = [tool["function"]["name"] for one in site.fake.asked for tool in one.json.get("tools", ())]
    assert "end_conversation" in ends
    site.fake.close()
    [base] = (CHECKOUT / "snapshots").glob("toolsandbox-mini-*.replay")
    layer = site.freeze(base=base)
    words = ("--candidate", "gpt", "--user-model", "gpt", "--limit", "3", "--jobs", "2")
    again = replay_strictly(site, layer, "again", *words)
    assert {"finished": 3} == again.document["stops"], again.err
    assert same_files(site, "run", "again")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suite", "roles", "tasks"),
    [
        ("acebench-mini", ("--candidate", "--user-model"), "*agent*"),
        ("codexomics-mini", ("--candidate",), "*"),
        ("metatool-mini", ("--candidate",), "*"),
    ],
)
def test_every_benchmark_freezes_a_remote_model(
    site: Site, suite: str, roles: tuple[str, ...], tasks: str
) -> None:
    """A few tasks of each, streamed; strictly they are the same, the upstream gone."""
    describe(site, "stream = true\n")
    site.fake.answers(PATH, answer_as_asked)
    live = ("--mode", "record", "--upstream", site.folder / "upstreams.toml", "--out", site.folder / "run")
    named = [word for role in roles for word in (role, "remote:gpt")]
    chosen = ("--select", tasks, "--limit", "4")
    first = run_command("run", suite, *named, *live, *chosen, "--home", site.stores, "--json")
    assert (0, {}) == (first.code, first.document["unscored"]), first.err
    told = {one.json["messages"][0]["content"] for one in site.fake.asked}
    assert len(told) >= len(roles)
    site.fake.close()
    [base] = (CHECKOUT / "snapshots").glob(f"{suite}-*.replay")
    layer = site.freeze(base=base)
    words = [word for role in roles for word in (role, "gpt")]
    again = replay_strictly(site, layer, "again", *words, *chosen, "--jobs", "2")
    assert (0, {}) == (again.code, again.document["unscored"]), again.err
    assert same_files(site, "run", "again")


def replay_strictly(site: Site, layer: Path, out: str, *words: str | Path) -> Answered:
    """Run a layer with nothing live."""
    where = ("--mode", "strict", "--home", site.stores, "--out", site.folder / out, "--json")
    done = run_command("run", layer, *words, *where)
    manifest = json.loads((site.folder / out / "manifest.json").read_text())
    assert 0 == manifest["guard"]["network_attempts"]
    return done


def same_files(site: Site, one: str, other: str) -> bool:
    """Whether two runs have the same episodes, verdicts and summary, byte for byte."""
    names = ("trajectories.jsonl", "verdicts.jsonl", "summary.json")
    return all(
        (site.folder / one / name).read_bytes() == (site.folder / other / name).read_bytes() for name in names
    )


def test_a_remote_simulator_answers_unrecorded_apis(site: Site) -> None:
    """What it makes up is marked as such."""
    weather = {"city": UNRECORDED, "sky": "wet", "station": "Dome", "temp_c": 9, "wind_kmh": 0}
    site.fake.says(PATH, said(message(json.dumps({"error": "", "response": weather}))))
    answered = site.run("--simulator", "remote:gpt")
    assert {"finished": 1} == answered.document["stops"]
    assert 1 == answered.document["provenance_by_boundary"]["tools"]["simulated"]
    assert UNRECORDED in site.fake.asked[0].json["messages"][-1]["content"]


def test_a_remote_judge_is_asked(site: Site) -> None:
    """Its verdicts are recorded beside the answer."""

    def judge(asked: Asked) -> Reply:
        schema = asked.json["response_format"]["json_schema"]["schema"]
        chosen = {name: shape.get("enum", ["fine"])[0] for name, shape in schema["properties"].items()}
        return said(message(json.dumps(chosen)))

    site.fake.answers(PATH, judge)
    answered = site.run("--candidate", "cot", "--judge-model", "remote:gpt")
    document = answered.document
    assert (0, 1, {}) == (answered.code, document["scored"], document["unscored"])
    assert {"recorded": len(site.fake.asked)} == document["provenance_by_boundary"]["judge"]
    assert {"new": 2 * len(site.fake.asked)} == document["recorded"]


FAILURES = {
    "server-error": answer_json({"error": {"message": "overloaded"}}, status=503),
    "unauthorized": answer_json({}, status=401),
    "cut-body": raw_reply(b'{"choices": [{"mess', length=500),
    "answer": answer_json({"choices": []}),
    "timeout": Reply((b"HTTP/1.1 200 OK\r\n", b"content-length: 2\r\n\r\n{}"), 0.7),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAILURES)
@pytest.mark.parametrize(
    ("role", "missed"),
    [
        ("candidate", "candidate-miss"),
        ("simulator", "tool-miss"),
        ("judge", "judge-miss"),
        ("user", "user-miss"),
    ],
)
def test_a_failure_of_the_model_scores_nobody(site: Site, kind: str, role: str, missed: str) -> None:
    """In any role it is a miss by name, exit 7; nothing of it is recorded, and a new run asks again."""
    describe(site, "timeout_s = 0.3\n")
    reply, broken = FAILURES[kind], [True]

    def answer(asked: Asked) -> Reply:
        return reply if broken[0] and role_of(asked.json) == role else answer_as_asked(asked)

    site.fake.answers(PATH, answer)
    first = play_roles(site, "run", has_user=role == "user")
    assert (7, {missed: 1}) == (first.code, first.document["unscored"])
    if role in ("candidate", "user"):
        line = json.loads((site.folder / "run" / "trajectories.jsonl").read_text())
        assert f"the remote model 'gpt' gave no answer: {kind}" in line["stop_detail"]
        assert "next: ask again in a new --out folder" in line["stop_detail"]
    broken.clear()
    broken.append(False)
    overlay = site.folder / "run" / "overlay"
    more = ("--overlay", overlay) if overlay.exists() else ()
    again = play_roles(site, "again", *more, has_user=role == "user")
    assert (0, {}, {"finished": 1}) == (again.code, again.document["unscored"], again.document["stops"])


def play_roles(site: Site, out: str, *words: str | Path, has_user: bool) -> Answered:
    """Play one task with the remote model in every role."""
    roles = ("--candidate", "--user-model") if has_user else ("--candidate", "--simulator", "--judge-model")
    named = [word for role in roles for word in (role, "remote:gpt")]
    if not has_user:
        return site.run(*named, *words, out=out)
    live = ("--mode", "record", "--upstream", site.folder / "upstreams.toml", "--out", site.folder / out)
    chosen = ("--select", "ask_then_remove", "--home", site.stores, "--json")
    return run_command("run", "toolsandbox-mini", *named, *live, *chosen, *words)


def test_a_failure_is_recorded_on_request(site: Site) -> None:
    """With --keep-errors it is what the model said, and counts."""
    site.fake.says(PATH, FAILURES["server-error"])
    answered = site.run("--candidate", "remote:gpt", "--keep-errors")
    assert ({"new": 1}, {}) == (answered.document["recorded"], answered.document["unscored"])


def test_a_strict_run_reads_what_the_remote_model_said(site: Site) -> None:
    """Nothing is recorded of it here, so nothing is asked and the names there are are listed."""
    answered = site.run("--candidate", "remote:gpt", mode="strict")
    assert (3, 0) == (answered.code, len(site.fake.asked))
    assert "no recorded model 'gpt'" in answered.err


@pytest.mark.parametrize(("name", "named"), [("other", "one of: gpt"), ("", "one of: gpt")])
def test_an_unknown_remote_model_is_named(site: Site, name: str, named: str) -> None:
    """With the names of the file."""
    answered = site.run("--candidate", f"remote:{name}")
    assert (3, True) == (answered.code, named in answered.err)
