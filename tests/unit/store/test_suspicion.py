"""What looks like a secret is refused at freeze, by a rule that has a name."""

from __future__ import annotations

import base64

import pytest

from replay.core.errors import InputError
from replay.store.suspicion import _MARKS, RULES, find_suspicions, refuse_secrets

# Put together here, so that no scanner takes this file for a leak.
LOOKS = {
    "aws-access-key": "AKIA" + "ABCDEFGH12345678",
    "bearer-token": "Authorization: Bearer " + "abcdefghijkl" * 3,
    "github-token": "ghp_" + "a1B2" * 9,
    "google-api-key": "AIza" + "a" * 35,
    "json-web-token": "eyJ" + "hbGciOiJI" * 2 + ".eyJ" + "zdWIiOiIx" * 2 + "." + "abc" * 8,
    "llm-api-key": "sk-" + "proj-" + "aB3" * 12,
    "password-in-url": "https://me:" + "hunter22" + "@db.example.org/x",
    "payment-key": "sk_live_" + "a1" * 12,
    "private-key": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "slack-token": "xoxb-" + "1234567890-abcdefghij",
}


def test_every_rule_has_an_example() -> None:
    """A new rule comes with one."""
    assert RULES.keys() == LOOKS.keys() == _MARKS.keys()


@pytest.mark.parametrize("rule", sorted(LOOKS))
def test_what_looks_like_a_secret_is_found(rule: str) -> None:
    """In the middle of a text."""
    assert rule in {name.partition(":")[0] for name in find_suspicions(f'{{"a": "{LOOKS[rule]}"}}')}


@pytest.mark.parametrize("rule", ["llm-api-key", "aws-access-key"])
def test_base64_hides_nothing(rule: str) -> None:
    """One layer of it is looked through."""
    hidden = base64.b64encode(f"user:{LOOKS[rule]} and so on".encode()).decode()
    assert rule in {name.partition(":")[0] for name in find_suspicions(f"x {hidden} y")}


@pytest.mark.parametrize(
    "text",
    [
        "sha256:" + "0123456789abcdef" * 4,
        "call_0123456789abcdef",
        "550e8400-e29b-41d4-a716-446655440000",
        "2024-01-01T00:00:00Z",
        "Bearer of good news: the task-force-on-asking-politely-for-everything has met",
        "https://example.org:8080/a@b",
        "https://$user:$redacted@example.org",
        "sk-learn is scikit-learn",
        "$redacted",
    ],
)
def test_ids_hashes_and_times_are_none(text: str) -> None:
    """Nothing of what archives are full of is in the way."""
    assert [] == list(find_suspicions(text))


def test_a_finding_is_named_and_never_shown() -> None:
    """Rule, digest and place are; the value is not."""
    secret = LOOKS["llm-api-key"]
    with pytest.raises(InputError, match=r"llm-api-key:[0-9a-f]{12} in tasks 7.*--allow-finding") as caught:
        refuse_secrets([("tasks 7", secret)])
    assert secret not in str(caught.value)


def test_a_finding_that_is_allowed_passes() -> None:
    """By its name, and no other with it."""
    (name,) = find_suspicions(LOOKS["github-token"])
    refuse_secrets([("a", LOOKS["github-token"])], allowed=[name])
    with pytest.raises(InputError, match=r"1 texts.*slack-token"):
        refuse_secrets([("a", LOOKS["github-token"]), ("b", LOOKS["slack-token"])], allowed=[name])
