"""A recording reverse proxy: `replay serve --mode record` before an upstream that misbehaves, then alone."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest

from replay.core.determinism import pause
from tests.support.commands import MINI, run_command, run_process
from tests.support.serving_processes import ServingProcess, serving_process
from tests.support.tiny_gguf import write_tiny_llama
from tests.support.upstream import Asked, FakeUpstream, Reply, answer_json, raw_reply
from tests.support.weights import need_binding

# Each test starts at least one server.
pytestmark = pytest.mark.slow

UNHEARD = {"category": "News, Media", "tool_name": "gazette_stream", "api_name": "top_headlines"}
UNHEARD |= {"tool_input": '{"topic": "unheard of"}', "strip": "", "toolbench_key": "planted-key"}
"""A call that nobody recorded."""

EVENTS = 'data: {"n": 1, "text": "Grüße"}\n\ndata: {"n": 2, "text": "日本"}\n\ndata: [DONE]\n\n'.encode()


@pytest.fixture(autouse=True)
def blocked_network() -> None:
    """Clients, servers and upstreams of these tests meet on the loopback."""


class Site:
    """A folder with a file of upstreams, an archive to be, and the servers over both."""

    def __init__(self, folder: Path, fake: FakeUpstream) -> None:
        self.folder, self.fake = folder, fake
        self.archive = folder / "made.replay"
        self.describe()

    def describe(self, more: str = "") -> None:
        """Write the file of upstreams."""
        text = (
            f'[upstream.api]\nkind = "rest"\nbase_url = "{self.fake.url}"\nretries = 1\nbackoff_s = 0.001\n'
        )
        (self.folder / "upstreams.toml").write_text(text + more)

    def record(
        self, *words: str | Path, program: Sequence[str] = ("-m", "replay")
    ) -> AbstractContextManager[ServingProcess]:
        """Run a server that records."""
        live = ("--mode", "record", "--upstream", self.folder / "upstreams.toml")
        where = ("--out", self.folder / "out", "--home", self.folder / "home")
        return serving_process(self.archive, *live, *where, *words, program=program)

    def freeze(self) -> None:
        """Make an archive of what was recorded."""
        done = run_command("archive", "freeze", self.folder / "out" / "overlay", "-o", self.archive)
        assert 0 == done.code, done.err

    def replay(self, *words: str | Path) -> AbstractContextManager[ServingProcess]:
        """Run a server that replays, the upstream gone."""
        self.fake.close()
        return serving_process(self.archive, "--mode", "strict", "--home", self.folder / "home", *words)


@pytest.fixture
def site(tmp_path: Path, fake: FakeUpstream) -> Site:
    """A place for recordings."""
    return Site(tmp_path, fake)


def split(reply: Reply, *, at: bytes, pause_s: float = 0.05) -> Reply:
    """Cut a reply in the middle of a character, with a pause there."""
    whole = b"".join(reply.pieces)
    place = whole.index(at) + 1
    return Reply((whole[:place], whole[place:]), pause_s)


def shown(got: httpx.Response) -> tuple[int, bytes, dict[str, str]]:
    """What a client sees of an answer, but for how it was cut on the way."""
    own = {"transfer-encoding", "content-length"}
    return got.status_code, got.content, {n: v for n, v in got.headers.items() if n not in own}


ASKED = [
    ("GET", "/plain?b=2&a=1&a=%C3%A9", b""),
    ("POST", "/echo", b'{"z": 1,  "a": [1.0, null]}'),
    ("PUT", "/bytes", b"\xff\x00\xfe"),
    ("GET", "/events", b""),
    ("GET", "/late", b""),
    ("GET", "/busy", b""),
    ("GET", "/broken", b""),
    ("GET", "/cut", b""),
    ("GET", "/nothing", b""),
    ("DELETE", "/gone", b""),
    ("GET", "/missing", b""),
    ("GET", "/packed", b""),
    ("GET", "/chunks", b""),
    ("OPTIONS", "", b""),
]
"""What clients ask in order; busy, broken and cut come right at the second attempt."""


def misbehave(fake: FakeUpstream) -> None:
    """Let the upstream be slow, full, broken and cut, and right in between."""
    fake.answers("/plain", lambda asked: answer_json({"target": asked.target}))
    fake.answers("/echo", lambda asked: raw_reply(asked.body + b"\n", headers=(("x-kind", "echo"),)))
    fake.answers("/bytes", lambda asked: raw_reply(asked.body[::-1], kind="application/octet-stream"))
    events = raw_reply(EVENTS, kind="text/event-stream")
    fake.says("/events", split(events, at="ü".encode()))
    fake.says("/late", split(answer_json({"late": "é"}), at=b"late", pause_s=0.3))
    fake.says("/busy", answer_json({}, status=429), answer_json({"busy": False}))
    fake.says("/broken", answer_json({}, status=500), answer_json({"broken": False}))
    fake.says("/cut", raw_reply(b'{"cut": tr', length=40), answer_json({"cut": False}))
    fake.says("/nothing", Reply((b"HTTP/1.1 204 X\r\nx-kind: none\r\n\r\n",)))
    packed = raw_reply(gzip.compress(b'{"packed": 1}'), headers=(("content-encoding", "gzip"),))
    fake.says("/packed", packed)
    chunks = b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n3\r\n\xe6\x97\xa5\r\n1\r\n!\r\n0\r\n\r\n"
    fake.says("/chunks", Reply((chunks[:50], chunks[50:]), 0.05))
    fake.says("/", raw_reply(b"", status=200, headers=(("allow", "GET"),)))
    fake.says("/gone", answer_json({"gone": True}, status=410))


def ask_all(server: ServingProcess) -> list[tuple[int, bytes, dict[str, str]]]:
    """Ask everything once."""
    json_kind = {"content-type": "application/json"}
    return [
        shown(server.client.request(method, f"/http/api{path}", content=body, headers=json_kind))
        for method, path, body in ASKED
    ]


def test_what_a_misbehaving_upstream_said_replays_with_it_gone(site: Site) -> None:
    """Recorded through the proxy, frozen, served again: the same status, headers and bytes."""
    misbehave(site.fake)
    with site.record() as server:
        live = ask_all(server)
        again = ask_all(server)
        assert (len(ASKED), 0) == (server.metric("recorded"), server.metric("upstream_failures"))
        assert 0 == server.stop()
    assert [200] * 8 + [204, 410, 404] + [200] * 3 == [status for status, _, _ in live]
    assert live == again
    assert b'{"z": 1,  "a": [1.0, null]}\n' == live[1][1]
    assert (b"\xfe\x00\xff", EVENTS) == (live[2][1], live[3][1])
    assert [b'{"packed": 1}', "日!".encode(), b""] == [body for _, body, _ in live[-3:]]
    assert "/plain?b=2&a=1&a=%C3%A9" == json.loads(live[0][1])["target"]
    site.freeze()
    with site.replay() as server:
        assert live == ask_all(server)
        assert 502 == server.client.get("/http/api/other").status_code
        assert 0 == server.stop()


def test_a_failure_is_passed_on_and_never_an_answer(site: Site) -> None:
    """429, 500, time-outs, cut bodies, wrong lengths and refused credentials have names; none is recorded."""
    site.describe("timeout_s = 0.5\n")
    whole = raw_reply(b'{"a": 1}', length=100)
    replies = {
        "/busy": (answer_json({"wait": 1}, status=429, headers=(("retry-after", "0"),)), 429, "rate-limited"),
        "/broken": (answer_json({"oops": 1}, status=500), 500, "server-error"),
        "/slow": (split(answer_json({}), at=b"{", pause_s=2), 504, "timeout"),
        "/cut": (whole, 502, "cut-body"),
        "/short": (raw_reply(b'{"a": "whole"}', length=9), 502, "cut-body"),
        "/no-http": (Reply((b"nothing of the kind\r\n\r\n",)), 502, "protocol"),
        "/who": (answer_json({"who": "?"}, status=401), 401, "unauthorized"),
    }
    for path, (reply, _, _) in replies.items():
        site.fake.says(path, reply)
    with site.record("--log", site.folder / "log") as server:
        got = {path: server.client.get(f"/http/api{path}") for path in replies}
        recorded = server.metric("recorded")
        code = server.stop()
    told = {path: (answer.status_code, answer.headers["x-replay-failure"]) for path, answer in got.items()}
    assert {path: (status, kind) for path, (_, status, kind) in replies.items()} == told
    assert ({"wait": 1}, "0") == (got["/busy"].json(), got["/busy"].headers["retry-after"])
    assert (0, 1) == (recorded, code)
    assert "nothing was recorded" in server.err
    assert re.search(r"there is no \S+made\.replay yet: a new archive of HTTP exchanges is begun", server.err)
    wants = run_command("misses", site.folder / "log", "--json").document["wants"]
    assert {kind for _, _, kind in replies.values()} == {
        want["want"]["upstream"].partition(":")[0] for want in wants
    }
    assert 0 == run_command("verify", site.folder / "log").code


def test_failures_are_kept_on_request(site: Site) -> None:
    """With --keep-errors a client gets the same failure from the archive."""
    site.describe("timeout_s = 0.5\n")
    site.fake.says("/busy", answer_json({"wait": 1}, status=429))
    site.fake.says("/slow", split(answer_json({}), at=b"{", pause_s=2))
    with site.record("--keep-errors") as server:
        live = [shown(server.client.get(f"/http/api/{path}")) for path in ("busy", "slow")]
        assert 0 == server.stop()
    site.freeze()
    with site.replay() as server:
        assert live == [shown(server.client.get(f"/http/api/{path}")) for path in ("busy", "slow")]
    assert [429, 504] == [status for status, _, _ in live]


def test_a_session_records_a_sequence_and_equal_requests_fly_once(site: Site) -> None:
    """Sessions ask again for each repeat; clients without one share the first answer, asked for once."""
    numbers = iter(range(1, 99))
    site.fake.answers("/next", lambda _: split(answer_json({"n": next(numbers)}), at=b"n"))
    named = {"x-replay-session": "mine"}
    with site.record() as server, ThreadPoolExecutor(8) as pool:
        alone = list(pool.map(lambda _: server.client.get("/http/api/next").json()["n"], range(16)))
        mine = [server.client.get("/http/api/next", headers=named).json()["n"] for _ in range(3)]
        assert 0 == server.stop()
    assert ([1] * 16, [1, 2, 3], 3) == (alone, mine, site.fake.count("/next"))
    site.freeze()
    with site.replay() as server:
        mine = [server.client.get("/http/api/next", headers=named).json()["n"] for _ in range(4)]
        alone = [server.client.get("/http/api/next").json()["n"] for _ in range(2)]
    assert ([1, 2, 3, 3], [1, 1]) == (mine, alone)


def test_a_layer_is_recorded_over_an_archive(site: Site) -> None:
    """What is recorded answers; only what is not is asked, and the layer holds just that."""
    site.fake.says("/old", answer_json({"old": 1}))
    site.fake.says("/new", answer_json({"new": 1}))
    with site.record() as server:
        server.client.get("/http/api/old")
        server.stop()
    site.freeze()
    over = ("--out", site.folder / "more")
    with site.record(*over) as server:
        assert [1, 1] == [server.client.get(f"/http/api/{name}").json()[name] for name in ("old", "new")]
        assert 0 == server.stop()
    assert (1, 1) == (site.fake.count("/old"), site.fake.count("/new"))
    layer = site.folder / "layer.replay"
    words = ("-o", layer, "--base", site.archive, "--home", site.folder / "home")
    assert 0 == run_command("archive", "freeze", site.folder / "more" / "overlay", *words).code
    site.fake.close()
    with serving_process(layer, "--home", site.folder / "home") as server:
        assert [1, 1] == [server.client.get(f"/http/api/{name}").json()[name] for name in ("old", "new")]
    wrong = run_command(
        *("serve", site.archive, "--mode", "record", "--upstream", site.folder / "upstreams.toml"),
        *("--out", site.folder / "out", "--home", site.folder / "home", "--port", "0"),
    )
    assert (3, True) == (wrong.code, "a recording over another archive" in wrong.err)


@pytest.mark.parametrize(
    ("kind", "more", "target"),
    [
        ("stabletoolbench-proxy", "", "/v"),
        ("rest", 'routes = [{tool = "*/top_headlines", path = "/on/{topic}"}]\n', "/v/on/unheard%20of"),
        ("rapidapi", 'routes = [{tool = "*", method = "POST", path = "/news"}]\n', "/v/news"),
    ],
)
def test_calls_of_the_virtual_api_are_recorded(
    tmp_path: Path, fake: FakeUpstream, *, kind: str, more: str, target: str
) -> None:
    """A miss of /virtual is asked of the upstream; a failure stays a miss and is asked again."""
    (tmp_path / "up.toml").write_text(
        f'[upstream.proxy]\nkind = "{kind}"\nbase_url = "{fake.url}/v"\nretries = 0\n{more}'
    )
    replies = [
        answer_json({}, status=503),
        answer_json({"error": "", "response": "dry"}),
        answer_json({"error": "", "response": "never"}),
    ]
    fake.says(target, *replies)
    words = ("--mode", "record", "--upstream", tmp_path / "up.toml", "--out", tmp_path / "out")
    with serving_process(MINI, *words, "--home", tmp_path / "home") as server:
        got = [server.client.post("/virtual", json=UNHEARD) for _ in range(3)]
        counts = [server.metric(name) for name in ("recorded", "upstream_failures", "network_attempts")]
        assert 0 == server.stop()
    assert "server-error" in got[0].json()["error"]
    assert [b'{"error":"","response":"dry"}'] * 2 == [answer.content for answer in got[1:]]
    assert ([1, 1, 0], 2) == (counts, len(fake.asked))
    fake.close()
    layer = tmp_path / "layer.replay"
    freeze = ("-o", layer, "--base", Path("snapshots") / f"{MINI}.replay", "--home", tmp_path / "home")
    done = run_command("archive", "freeze", tmp_path / "out" / "overlay", *freeze)
    assert 0 == done.code, done.err
    with serving_process(layer, "--mode", "strict", "--home", tmp_path / "home") as server:
        assert b'{"error":"","response":"dry"}' == server.client.post("/virtual", json=UNHEARD).content


def reply_to(asked: Asked) -> Reply:
    """Say what was asked."""
    return answer_json({"target": asked.target})


def test_a_path_cannot_leave_the_upstream(site: Site) -> None:
    """Dots that climb above the base address are refused, however they are written."""
    site.fake.answers("/v1/a", reply_to)
    with site.record() as server, httpx.Client() as client:
        for path in ("/http/api/%2e%2e/admin", "/http/api/a/%2E./b"):
            url = httpx.URL(server.address).copy_with(raw_path=path.encode())
            assert 400 == client.get(url).status_code
        assert 1 == server.stop()
    assert [] == site.fake.asked


def test_a_fault_of_tls_has_a_name(site: Site) -> None:
    """An upstream that speaks no TLS where it should is a failure, not an answer."""
    https = site.fake.url.replace("http:", "https:")
    site.describe(f'[upstream.safe]\nkind = "rest"\nbase_url = "{https}"\nretries = 0\n')
    with site.record() as server:
        got = server.client.get("/http/safe/a")
        assert (502, "tls") == (got.status_code, got.headers["x-replay-failure"])
        unknown = server.client.get("/http/nobody/a")
        assert (502, True) == (unknown.status_code, "there are only: api, safe" in unknown.json()["detail"])
        assert 1 == server.stop()


def test_a_redirect_stays_with_the_proxy(site: Site) -> None:
    """An absolute address of the upstream becomes one of the proxy, live and replayed; another one stays."""
    site.fake.says("/old", raw_reply(b"", status=301, headers=(("location", f"{site.fake.url}/new?a=1"),)))
    site.fake.says("/new", answer_json({"new": True}))
    away = "https://elsewhere.example.org/new"
    site.fake.says("/away", raw_reply(b"", status=302, headers=(("location", away),)))

    def follow(server: ServingProcess) -> list[object]:
        got = server.client.get("/http/api/old", follow_redirects=True)
        head = server.client.head("/http/api/new")
        left = server.client.get("/http/api/away").headers["location"]
        return [got.json(), got.url.path, head.content, head.status_code, left]

    with site.record() as server:
        live = follow(server)
        assert 0 == server.stop()
    assert [{"new": True}, "/http/api/new", b"", 200, away] == live
    site.freeze()
    with site.replay() as server:
        assert live == follow(server)


def test_an_overlay_has_one_writer(site: Site) -> None:
    """A second server over the same folder ends with one line; the first goes on."""
    site.fake.says("/a", answer_json({}))
    with site.record() as server:
        words = ("--mode", "record", "--upstream", site.folder / "upstreams.toml", "--port", "0")
        second = run_process("serve", site.archive, *words, "--out", site.folder / "out")
        assert (3, 1) == (second.code, len(second.err.splitlines()))
        assert 200 == server.client.get("/http/api/a").status_code
        assert 0 == server.stop()


def test_a_stop_does_not_wait_for_ever(site: Site) -> None:
    """An upstream that says nothing holds a stopping server up for its grace, and no longer."""
    site.describe("timeout_s = 60\n")
    site.fake.says("/a", answer_json({}))
    site.fake.says("/hang", split(answer_json({}), at=b"{", pause_s=4))
    with site.record() as server, ThreadPoolExecutor(1) as pool:
        server.client.get("/http/api/a")
        waiting = pool.submit(httpx.get, f"{server.address}/http/api/hang", timeout=30)
        while not site.fake.count("/hang"):
            pause(0.01)
        assert 200 == httpx.get(f"{server.address}/http/api/a", timeout=5).status_code
        assert 0 == server.stop()
        assert 200 == waiting.result(30).status_code


def test_the_official_client_of_openai_records_and_replays(site: Site) -> None:
    """Chat through the proxy, whole and streamed: the same words with the model gone, and no key stored."""
    openai = pytest.importorskip("openai", reason="the official client is not installed")
    message = {"role": "assistant", "content": "Grüße"}
    whole = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m"}
    whole |= {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}

    def reply(asked: Asked) -> Reply:
        if not json.loads(asked.body).get("stream"):
            return answer_json(whole)
        parts = [{"content": "Grü"}, {"content": "ße"}]
        choices = [[{"index": 0, "delta": part, "finish_reason": None}] for part in parts]
        chunks = [{**whole, "object": "chat.completion.chunk", "choices": choice} for choice in choices]
        lines = [json.dumps(chunk, ensure_ascii=False) for chunk in chunks]
        text = "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"])
        return split(raw_reply(text.encode(), kind="text/event-stream"), at="ü".encode())

    site.fake.answers("/chat/completions", reply)

    def talk(server: ServingProcess, key: str) -> list[str]:
        with openai.OpenAI(base_url=f"{server.address}/http/api", api_key=key, max_retries=0) as client:
            asked = {"model": "m", "messages": [{"role": "user", "content": "Say hello."}]}
            said = client.chat.completions.create(**asked).choices[0].message.content
            stream = client.chat.completions.create(**asked, stream=True)
            return [said, "".join(chunk.choices[0].delta.content or "" for chunk in stream)]

    with site.record() as server:
        assert ["Grüße", "Grüße"] == talk(server, "sk-planted-key-0123456789")
        assert 0 == server.stop()
    assert "Bearer sk-planted-key-0123456789" == site.fake.asked[0].headers["authorization"]
    site.freeze()
    assert b"planted" not in site.archive.read_bytes()
    with site.replay() as server:
        assert ["Grüße", "Grüße"] == talk(server, "another-key-9876543210")


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (262_144, 262_144))
from replay.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
"""No file may grow beyond a quarter of a megabyte, as on a disk that is full."""


def say_noise(asked: Asked) -> Reply:
    """Say 19 kilobytes that no compression makes smaller."""
    parts = [hashlib.sha512(f"{asked.target} {number}".encode()).digest() for number in range(300)]
    return raw_reply(b"".join(parts), kind="application/octet-stream")


def test_a_full_disk_acknowledges_nothing(site: Site) -> None:
    """500 and one line for what cannot be kept; what is recorded answers on, and just that is frozen."""
    site.fake.answers("/big", say_noise)
    with site.record(program=("-c", LIMITED)) as server:
        got = [server.client.get(f"/http/api/big?n={number}") for number in range(20)]
        kept = [number for number, answer in enumerate(got) if answer.status_code == 200]
        refused = [answer for answer in got if answer.status_code != 200]
        assert 0 < len(kept) < 20
        assert {(500, "StoreError")} == {(a.status_code, a.json()["error"]["error"]) for a in refused}
        assert {1} == {len(answer.text.splitlines()) for answer in refused}
        assert got[kept[0]].content == server.client.get(f"/http/api/big?n={kept[0]}").content
        assert 0 == server.stop()
    site.freeze()
    with site.replay() as server:
        again = [server.client.get(f"/http/api/big?n={number}") for number in range(20)]
    assert kept == [number for number, answer in enumerate(again) if answer.status_code == 200]
    assert [got[number].content for number in kept] == [again[number].content for number in kept]


@pytest.mark.model
def test_a_simulator_stands_in_and_is_recorded_as_one(tmp_path: Path, fake: FakeUpstream) -> None:
    """Where the proxy fails a model answers; labelled, frozen by its name, strict without a model."""
    need_binding()
    home = ("--home", tmp_path / "home")
    added = run_command("models", "add", write_tiny_llama(tmp_path / "tiny.gguf"), *home)
    assert 0 == added.code, added.err
    (tmp_path / "up.toml").write_text(
        f'[upstream.proxy]\nkind = "stabletoolbench-proxy"\nbase_url = "{fake.url}/v"\nretries = 0\n'
    )
    fake.says("/v", answer_json({}, status=503))
    words = ("--mode", "record", "--upstream", tmp_path / "up.toml", "--out", tmp_path / "out")
    with serving_process(MINI, *words, *home, "--simulator", "model:tiny", "--threads", "1") as server:
        live = [server.client.post("/virtual", json=UNHEARD) for _ in range(2)]
        assert 0 == server.stop()
    fake.close()
    assert (1, ["simulated"] * 2) == (len(fake.asked), [got.headers["x-replay-provenance"] for got in live])
    layer = tmp_path / "layer.replay"
    freeze = ("-o", layer, "--base", Path("snapshots") / f"{MINI}.replay", *home)
    assert 0 == run_command("archive", "freeze", tmp_path / "out" / "overlay", *freeze).code
    with serving_process(layer, "--mode", "strict", "--simulator", "tiny", *home) as server:
        again = server.client.post("/virtual", json=UNHEARD)
    assert (live[0].content, "simulated") == (again.content, again.headers["x-replay-provenance"])
