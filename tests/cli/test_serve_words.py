"""What `replay serve` is asked for wrongly is one line, before a port is taken and a file written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import MINI, run_command

GOOD = '[upstream.api]\nkind = "rest"\nbase_url = "http://127.0.0.1:9"\n'
ROUTES = 'routes = [{tool = "*"}]\n'
HELD = 'key = {file = "not-there"}\n'


@pytest.mark.parametrize(
    ("words", "text", "code", "named"),
    [
        (("new.replay",), None, 3, "upstreams cannot be read"),
        (("new.replay",), "[upstream", 3, "not a list of upstreams"),
        (("new.replay",), GOOD + HELD, 3, "a secret is not to be had"),
        (("no-such-archive",), GOOD, 3, "no archive 'no-such-archive'"),
        (("nowhere/new.replay",), GOOD, 3, "no such folder"),
        (("näme.replay",), GOOD, 3, "is not 1 to 100 letters"),
        (("new.replay", "--workers", "2"), GOOD, 2, "one process records"),
        (("new.replay", "--log", "out"), GOOD, 2, "name one folder"),
        (("new.replay", "--upstream", "other.toml"), GOOD, 3, "NAME=ORIGIN, or one TOML file"),
        (("new.replay", "--upstream", "=x"), GOOD, 3, "NAME=ORIGIN, or one TOML file"),
        ((MINI,), GOOD, 3, "no routes"),
        ((MINI, "--mode", "strict"), GOOD + ROUTES, 2, "only a recording server"),
    ],
)
def test_a_recording_that_cannot_be(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    words: tuple[str, ...],
    text: str | None,
    code: int,
    named: str,
) -> None:
    """The exit code says whose fault it is, and nothing was made."""
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / "up.toml").write_text(text)
    mode = () if "strict" in words else ("--mode", "record", "--out", "out")
    answered = run_command(
        "serve", *words, *mode, "--upstream", "up.toml", "--port", "0", "--home", tmp_path / "home"
    )
    assert (code, 1) == (answered.code, len(answered.err.splitlines())), answered.err
    assert named in answered.err
    assert not (tmp_path / "out").exists()
