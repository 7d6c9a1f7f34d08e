"""HTTP exchanges: what is in their key, and answers that come out again byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from replay.core.errors import DamagedError, InputError
from replay.core.keys import call_key
from replay.tools.exchange import (
    NOT_IN_HTTP_KEY,
    HttpAnswer,
    HttpKeys,
    HttpRequest,
    read_answer,
    write_answer,
)

call_of = HttpKeys().call_of

ASKED = HttpRequest(
    upstream="weather",
    method="POST",
    path="/v1/find",
    query="city=Oslo&city=Bergen&units=",
    headers=(("Content-Type", "application/json"), ("Accept", "*/*"), ("Authorization", "Bearer s3cret")),
    body=b'{"days": 3, "detail": true}',
)


@pytest.mark.parametrize(
    "changed",
    [
        {"upstream": "climate"},
        {"method": "PUT"},
        {"path": "/v1/find/"},
        {"query": "city=Bergen&city=Oslo&units="},
        {"query": "city=Oslo&city=Bergen"},
        {"headers": (("Content-Type", "application/json"), ("Accept", "text/plain"))},
        {"headers": (("Content-Type", "text/plain"), ("Accept", "*/*"))},
        {"body": b'{"days": 3, "detail": 1}'},
        {"body": b""},
    ],
)
def test_every_part_of_a_request_is_in_its_key(changed: dict[str, object]) -> None:
    """One part changed is another question."""
    assert call_key(call_of(ASKED)) != call_key(call_of(replace(ASKED, **changed)))


@pytest.mark.parametrize(
    "changed",
    [
        {"method": "post"},
        {"body": b'{"detail":true,\n"days":3.0}'},
        {"headers": (("accept", "*/*"), ("content-type", " application/json"))},
        {
            "headers": (
                *ASKED.headers,
                ("User-Agent", "x/2"),
                ("X-Stainless-Lang", "python"),
                ("Cookie", "a=b"),
            )
        },
    ],
)
def test_one_question_in_another_spelling_has_the_same_key(changed: dict[str, object]) -> None:
    """One JSON value, header names in any case and order, and headers that are declared to say nothing."""
    assert call_key(call_of(ASKED)) == call_key(call_of(replace(ASKED, **changed)))


def test_headers_are_left_out_by_name_and_with_a_reason() -> None:
    """An upstream may declare more of them."""
    assert all(NOT_IN_HTTP_KEY.values())
    extra = replace(ASKED, headers=(*ASKED.headers, ("X-Tenant", "7")))
    assert call_key(call_of(ASKED)) != call_key(call_of(extra))
    assert call_key(call_of(ASKED)) == call_key(HttpKeys(left_out=("X-Tenant",)).call_of(extra))


def test_no_credential_reaches_the_call() -> None:
    """Authorization is gone before anything is stored."""
    assert "s3cret" not in str(call_of(ASKED))


def test_secrets_in_query_and_body_are_masked_on_both_sides() -> None:
    """By field name: another key of another person finds the same answer."""
    asked = [
        replace(ASKED, query=f"q=1&api_key={secret}", body=b'{"password": "%s"}' % secret.encode())
        for secret in ("k-123", "k-456")
    ]
    assert call_key(call_of(asked[0])) == call_key(call_of(asked[1]))
    assert "k-123" not in str(call_of(asked[0]))


def test_the_random_boundary_of_a_form_is_settled() -> None:
    """Two sendings of one form are one question; another field is not."""
    asked = [
        replace(
            ASKED,
            headers=(("Content-Type", f"multipart/form-data; boundary={edge}"),),
            body=f'--{edge}\r\nX: form-data; name="a"\r\n\r\n{value}\r\n--{edge}--\r\n'.encode(),
        )
        for edge, value in (("k3x", "1"), ("zz9", "1"), ("k3x", "2"))
    ]
    keys = [call_key(call_of(request)) for request in asked]
    assert keys[0] == keys[1] != keys[2]


def test_what_calls_itself_json_and_is_none_is_text() -> None:
    """Nothing is guessed about it, and nothing fails."""
    broken = replace(ASKED, body=b'{"days": NaN')
    assert {"text": '{"days": NaN'} == call_of(broken).arguments["body"]


def test_a_body_over_the_limit_is_refused() -> None:
    """By size, before it is read."""
    with pytest.raises(InputError, match="request body of 16777217 bytes"):
        call_of(replace(ASKED, body=b"x" * (16 * 1024 * 1024 + 1)))


@given(st.binary(max_size=60), st.lists(st.integers(1, 9), max_size=6), st.integers(100, 599))
def test_an_answer_comes_out_as_it_came_in(body: bytes, lengths: list[int], status: int) -> None:
    """Bytes, status and the parts of a stream; letters or not."""
    cuts = tuple(lengths) if sum(lengths) <= len(body) else ()
    answer = HttpAnswer(status=status, headers=(("content-type", "x/y"),), body=body, cuts=cuts)
    found = read_answer(write_answer(answer))
    assert answer == found
    assert body == b"".join(found.parts)


def test_headers_of_one_connection_are_not_kept() -> None:
    """Nor cookies, nor lengths that are computed anew."""
    names = ("Content-Type", "Content-Length", "Set-Cookie", "Transfer-Encoding", "X-Rate")
    answer = HttpAnswer(status=200, headers=tuple((name, "1") for name in names))
    assert (("content-type", "1"), ("x-rate", "1")) == read_answer(write_answer(answer)).headers


@pytest.mark.parametrize(
    "text",
    ["{}", "[]", '{"status":200,"base64":"?"}', '{"status":7}', '{"status":200,"text":"ab","cuts":[3]}'],
)
def test_a_damaged_answer_is_named(text: str) -> None:
    """Never served as something else."""
    with pytest.raises(DamagedError, match="recorded HTTP answer"):
        read_answer(text, where="key 1")
