"""POST /virtual: the bytes of the original, for hits, misses, and everything that can be wrong."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from replay.core.errors import InputError, UsageError
from replay.core.types import Json, Mode
from replay.server.listening import bind
from replay.wiring.checking import check_run
from replay.wiring.explaining import explain_task, list_misses
from replay.wiring.reopening import RunSources
from replay.wiring.serving.request_log import LogFolder
from replay.wiring.serving.server import prepare_server
from tests.support.commands import MINI, SOURCES
from tests.support.servers import Served, request_for, serving

EXCEPTIONS = [("depot_hours.json", "{'depot': 'Nowhere'}"), ("air_quality.json", "{'city': 'Ålund'}")]
"""A simulator's failure, which no import takes for an answer, and a NaN, on which the original fails."""

MISSING = {"msg": "field required", "type": "value_error.missing"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the stores of these tests lie."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def served(home: Path) -> Iterator[Served]:
    """The mini suite, served."""
    with serving(request_for(MINI, home, max_body=4096)) as running:
        yield running


def test_every_cached_answer_comes_out_byte_for_byte(served: Served) -> None:
    """Each record of upstream's cache folder is answered as upstream's framework would write it."""
    differing = []
    for path in sorted((SOURCES / "tool_response_cache").rglob("*.json")):
        category, tool, api = path.relative_to(SOURCES / "tool_response_cache").with_suffix("").parts
        for text, answer in json.loads(path.read_text()).items():
            arguments = json.dumps(eval_literal(text))
            got = served.call(category=category, tool_name=tool, api_name=api, tool_input=arguments)
            expected = json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()
            if got.content != expected:
                differing.append((path.name, text))
    assert EXCEPTIONS == differing


def eval_literal(text: str) -> Json:
    """Read a cache key: Python's own text of a value, or JSON."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return json.loads(text)


def test_an_object_is_taken_as_its_text_is(served: Served) -> None:
    """`tool_input` may be an object."""
    assert served.call().content == served.call(tool_input={"topic": "harbour"}).content


def test_text_that_is_no_json_has_the_exact_error(served: Served) -> None:
    """The parse error has the bytes that clients compare."""
    assert (
        served.call(tool_input="{oops").content == b'{"error":"Tool input parse error...\\n","response":""}'
    )


def test_a_miss_is_typed_and_no_failure(served: Served) -> None:
    """A miss has status 200, says so in `error`, and names its key."""
    got = served.call(tool_input='{"topic": "nothing"}')
    assert (200, "") == (got.status_code, got.json()["response"])
    assert got.json()["error"].startswith("Replay miss error: no snapshot for call")
    assert got.headers["x-replay-miss"].startswith("sha256:")


def test_the_one_api_the_server_knows_has_the_meant_answer(served: Served) -> None:
    """Upstream fails on chat_with_user; the answer that was meant is given."""
    assert {"error": "", "response": "Chat with user."} == served.call(api_name="chat_with_user").json()


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", [{"loc": ["body"], **MISSING}]),
        (b"null", [{"loc": ["body"], **MISSING}]),
        (b"7", [{"loc": ["body"], "msg": "value is not a valid dict", "type": "type_error.dict"}]),
    ],
)
def test_bodies_that_are_no_object(served: Served, body: bytes, detail: list[Json]) -> None:
    """Refusals have the words of the original's framework."""
    got = served.client.post("/virtual", content=body, headers={"content-type": "application/json"})
    assert (422, {"detail": detail}) == (got.status_code, got.json())


def test_fields_of_the_wrong_kind(served: Served) -> None:
    """Each wrong field is named, in order; a number passes for text."""
    got = served.call(category=["a"], tool_name=5, strip=None, tool_input=[1])
    kinds = [(fault["loc"][1], fault["type"]) for fault in got.json()["detail"]]
    assert [
        ("category", "type_error.str"),
        ("tool_input", "type_error.str"),
        ("tool_input", "type_error.dict"),
        ("strip", "type_error.none.not_allowed"),
    ] == kinds


def test_a_body_that_is_too_long_is_refused(served: Served) -> None:
    """The bound is named; the server lives on."""
    got = served.client.post("/virtual", content=b"x" * 5000)
    assert (413, "the body is too long: at most 4096 bytes are read") == (
        got.status_code,
        got.json()["detail"],
    )
    assert 200 == served.call().status_code


@pytest.mark.parametrize(
    ("method", "path", "status", "detail"),
    [("GET", "/virtual", 405, "Method Not Allowed"), ("POST", "/other", 404, "Not Found")],
)
def test_other_routes(served: Served, method: str, path: str, status: int, detail: str) -> None:
    """Unknown routes and methods have the framework's answers."""
    got = served.client.request(method, path)
    assert (status, {"detail": detail}) == (got.status_code, got.json())


def test_another_host_is_refused(served: Served) -> None:
    """A page that reached this port under its own name gets nothing."""
    assert 421 == served.client.get("/healthz", headers={"host": "evil.example"}).status_code


def test_health_and_metrics(served: Served) -> None:
    """What is served and what was done can be asked."""
    assert "/virtual" in served.client.get("/healthz").json()["routes"]
    assert "replay_network_attempts_total 0" in served.client.get("/metrics").text


def test_the_log_is_a_run(tmp_path: Path) -> None:
    """verify, explain and misses read it, and no key of a client is in it."""
    log = LogFolder(tmp_path / "log")
    request = request_for(MINI, tmp_path)
    with serving(request, log=log) as running:
        running.call()
        running.call(tool_input='{"topic": "nothing"}')
    paths = prepare_server(request).library
    folder = log.finish(benchmark=paths.benchmark, archives={paths.name: str(paths.root)}, attempts=0)
    assert folder is not None
    checked = check_run(folder, RunSources(archive=MINI, home=tmp_path))
    assert (True, 2, 1) == (checked.ok, checked.episodes, checked.recomputed)
    assert ["0-000001"] == [want["task"] for want in list_misses(folder)["wants"]]
    assert "python-repr" == explain_task(folder, "0-000000")["steps"][0]["lookup"]
    assert b"planted-key" not in b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def test_a_port_in_use_is_named() -> None:
    """The second server on a port says which."""
    with bind("127.0.0.1", 0) as first, pytest.raises(InputError, match="is in use"):
        bind("127.0.0.1", first.getsockname()[1])


def test_other_machines_are_let_in_on_request_only() -> None:
    """An address that the network reaches needs a word of its own."""
    with pytest.raises(UsageError, match="other machines reach"):
        bind("0.0.0.0", 0)  # noqa: S104  what is refused


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ({"mode": Mode.RECORD}, "expected --out FOLDER"),
        ({"mode": Mode.RECORD, "upstreams": ("up.toml",)}, "expected --out FOLDER"),
        ({"mode": Mode.RECORD, "out": "o"}, "expected --upstream FILE.toml"),
        ({"mode": Mode.RECORD, "upstreams": ("up.toml",), "out": "o", "workers": 2}, "one process records"),
        ({"out": "o"}, "only a recording server writes"),
        ({"keep_errors": True}, "only a recording server writes"),
    ],
)
def test_record_mode_is_whole_or_refused(tmp_path: Path, words: dict[str, Any], named: str) -> None:
    """What a recording server needs, and what only it has, is named."""
    with pytest.raises(UsageError, match=named):
        prepare_server(request_for(MINI, tmp_path, **words))
