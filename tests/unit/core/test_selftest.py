"""The key self-test finds what it is there to find."""

from __future__ import annotations

import msgspec
import pytest

from replay.core.canonical import digest
from replay.core.keys import NOT_IN_KEY, call_key, call_request
from replay.core.selftest import FieldCheck, KeySubject, check_keys, check_subject, key_subjects
from replay.core.types import CallRequest, Json, Key, Record


@pytest.mark.parametrize("check", check_keys(), ids=lambda check: f"{check.kind}-{check.field}")
def test_every_change_of_a_request_is_a_miss(check: FieldCheck) -> None:
    """Each field is in its key, or declared to be left out with a reason, whatever is changed in it."""
    assert "" == check.fault
    assert check.changes > 2
    assert check.in_key == (check.reason == "")


def test_every_field_of_every_request_is_checked() -> None:
    """No field of a request record is passed over, and exactly the declared ones are left out."""
    checks = check_keys()
    for subject in key_subjects():
        for name, part in subject.parts.items():
            if isinstance(part, msgspec.Struct):
                expected = {f"{name}.{field}" for field in part.__struct_fields__}
                assert expected <= {check.field for check in checks if check.kind == subject.kind}
    left_out = {check.field.split(".")[-1] for check in checks if not check.in_key}
    assert {name.split(".")[1] for name in NOT_IN_KEY} == left_out


def test_samples_leave_nothing_empty() -> None:
    """Every field of a sample holds something, so that what is nested is changed too."""
    for subject in key_subjects():
        for part in subject.parts.values():
            for field in getattr(part, "__struct_fields__", ()):
                assert getattr(part, field) not in ((), "", None), field


class _Grown(CallRequest, frozen=True, kw_only=True):
    """A call request that gained a field which nobody put into the key."""

    units: str = ""


def _grown_key(parts: dict[str, Json]) -> Key:
    return call_key(parts["request"])


def test_a_new_field_outside_the_key_is_found() -> None:
    """A record that gains a field fails the self-test until the field is keyed or declared."""
    request = _Grown(benchmark="demo", tool="t", arguments={})
    faults = {c.field: c.fault for c in check_subject(KeySubject("api", {"request": request}, _grown_key))}
    assert "has the key of the request itself" in faults["request.units"]


def test_two_changes_with_one_key_are_found() -> None:
    """A key that mixes two fields up is a fault although each change is a miss."""

    class _Pair(Record, frozen=True, kw_only=True):
        left: str
        right: str

    subject = KeySubject(
        "api",
        {"request": _Pair(left="a", right="a")},
        lambda parts: Key(digest("api", sorted([str(parts["request"].left), str(parts["request"].right)]))),
    )
    assert any("has the key of request.left" in check.fault for check in check_subject(subject))


def test_a_declared_field_that_changes_the_key_is_found() -> None:
    """The declaration is held to be true in both directions."""
    request = CallRequest(benchmark="demo", tool="t", arguments={}, aliases=())
    subject = KeySubject(
        "api",
        {"request": request},
        lambda parts: Key(digest("api", [call_request(parts["request"]), len(parts["request"].aliases)])),
    )
    faults = {check.field: check.fault for check in check_subject(subject)}
    assert "declared to be left out of the key and changes it" in faults["request.aliases"]
