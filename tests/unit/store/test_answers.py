"""Reading what was made gives the answer that was given."""

from __future__ import annotations

import base64

import msgspec
import pytest

from replay.core.errors import DamagedError
from replay.core.types import (
    Completion,
    Json,
    JudgeRequest,
    JudgeVerdict,
    Provenance,
    Snapshot,
    SnapshotStatus,
    ToolCall,
)
from replay.store.answers import (
    make_completion_snapshot,
    make_verdict_snapshot,
    model_scope,
    read_completion,
    read_result,
    read_verdict,
)
from tests.support.answering import make_answer, make_chat

MODEL = {"name": "demo-model", "tensors": "sha256:00"}


def test_completions_come_back_whole() -> None:
    """Text, calls, finish, counts, provenance and detail survive."""
    completion = Completion(
        content="hi",
        tool_calls=(ToolCall(id="c1", name="now", arguments='{"b":1,  "a":2}'),),
        finish="tool_calls",
        prompt_tokens=3,
        completion_tokens=4,
        provenance=Provenance.GENERATED,
        detail={"margin": 0.5},
    )
    snapshot = make_completion_snapshot(MODEL, make_chat(), completion, seed=7, trial=1)
    assert msgspec.structs.replace(completion, key=snapshot.key) == read_completion(snapshot)


def test_verdicts_come_back_whole() -> None:
    """Label, reason, raw text and judge survive."""
    request = JudgeRequest(benchmark="demo", rubric="sopr", rubric_digest="sha256:1", evidence={"a": 1})
    verdict = JudgeVerdict(
        label="Solved", reason="yes", raw='{"x"', provenance=Provenance.IMPORTED, judge="gpt"
    )
    snapshot = make_verdict_snapshot({"judge": "gpt"}, request, verdict)
    assert msgspec.structs.replace(verdict, key=snapshot.key) == read_verdict(snapshot)


def test_bytes_are_kept_and_shown() -> None:
    """An answer that is no UTF-8 is kept byte for byte and shown with replacement characters."""
    body = base64.b64encode(b"ok \xff").decode()
    result = read_result(make_answer(body=body, media="bytes"), lookup="canonical")
    assert ("ok \ufffd", {"base64": body}) == (result.content, result.body)


@pytest.mark.parametrize("text", ["line\r\nline", "\ufeffbom", "nul \x00", "é e\u0301", ""])
def test_texts_are_kept_character_for_character(text: str) -> None:
    """Line ends, marks and composed characters are the upstream's own."""
    assert text == read_result(make_answer(body=text, media="text"), lookup="canonical").content


def test_json_text_is_shown_as_it_was_written() -> None:
    """The candidate sees the upstream's spelling; the body is its value."""
    result = read_result(make_answer(body='{"b": 1,  "a": 2.50}'), lookup="canonical")
    assert ('{"b": 1,  "a": 2.50}', {"b": 1, "a": 2.5}) == (result.content, result.body)


@pytest.mark.parametrize("status", [SnapshotStatus.OK, SnapshotStatus.EMPTY, SnapshotStatus.ERROR])
def test_only_error_snapshots_are_errors(status: SnapshotStatus) -> None:
    """An error that was recorded replays as an error, nothing else does."""
    result = read_result(make_answer(status=status), lookup="canonical")
    assert (status is SnapshotStatus.ERROR) == result.is_error


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"body": "{"}, "its body is not JSON"),
        ({"body": "*", "media": "bytes"}, "its body is not base64"),
        ({"media": "odd"}, "media 'odd', expected json, text or bytes"),
    ],
)
def test_damaged_answers_are_named(changes: dict[str, Json], message: str) -> None:
    """A body that is not what it says is damage."""
    snapshot = msgspec.structs.replace(make_answer(), **changes)
    with pytest.raises(DamagedError, match=message):
        read_result(snapshot, lookup="canonical")


def test_a_damaged_completion_is_named() -> None:
    """A completion of another shape is damage, with its key."""
    snapshot = make_completion_snapshot(MODEL, make_chat(), Completion(content="x"), seed=1, trial=0)
    bad = msgspec.structs.replace(snapshot, body='{"content": 5}')
    with pytest.raises(DamagedError, match=f"no completion: .*key {snapshot.key}"):
        read_completion(bad)


@pytest.mark.parametrize("body", ["[]", "{}", "[" * 100_000])
def test_a_damaged_verdict_is_never_a_verdict(body: str) -> None:
    """A verdict without a label, or nested to death, is damage and not a made-up label."""
    request = JudgeRequest(benchmark="demo", rubric="sopr", rubric_digest="sha256:1", evidence=None)
    good: Snapshot = make_verdict_snapshot("gpt", request, JudgeVerdict(label="Solved"))
    with pytest.raises(DamagedError, match="no verdict"):
        read_verdict(msgspec.structs.replace(good, body=body))


@pytest.mark.parametrize("identity", ["gpt", {"name": ""}, {"name": 5}, ["a"], None])
def test_nameless_models_get_a_scope_of_their_own(identity: Json) -> None:
    """An identity without a name is scoped by its digest, so that scopes never mix."""
    assert model_scope(identity).startswith("sha256:")
