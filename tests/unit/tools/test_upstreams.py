"""Upstreams in a TOML file: what is right is read, what is wrong is named, no secret is in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from replay.core.errors import InputError
from replay.tools.upstreams import (
    Held,
    Upstream,
    describe_upstream,
    load_upstreams,
    read_held,
    read_sent_always,
)

GOOD = """
[upstream.weather]
kind = "rest"
base_url = "https://api.example.org/v1"
tools = ["Weather/*"]
[upstream.weather.headers]
accept = "application/json"
authorization = {env = "WEATHER_KEY", prefix = "Bearer "}
[[upstream.weather.routes]]
tool = "*/now"
path = "/now/{city}"
"""


def upstream_in(folder: Path) -> Upstream:
    """One whose file lies in this folder."""
    return Upstream(name="api", kind="rest", base_url="https://api.example.org", folder=str(folder))


def write(folder: Path, text: str) -> Path:
    """Write a file of upstreams."""
    path = folder / "upstreams.toml"
    path.write_text(text)
    return path


def test_a_file_of_upstreams_is_read(tmp_path: Path) -> None:
    """Names, routes and where secrets are held."""
    (upstream,) = load_upstreams(write(tmp_path, GOOD)).values()
    assert ("weather", True, False) == (
        upstream.name,
        upstream.answers("Weather/a/now"),
        upstream.answers("Sport/a/now"),
    )
    assert Held(env="WEATHER_KEY", prefix="Bearer ") == upstream.headers["authorization"]


def test_what_a_run_remembers_has_no_secret(tmp_path: Path) -> None:
    """Headers are not a part of it."""
    (upstream,) = load_upstreams(write(tmp_path, GOOD)).values()
    assert "WEATHER_KEY" not in str(describe_upstream(upstream))


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('kind = "rest"', 'kind = "soap"', "unknown kind 'soap'.*one of: openai, rapidapi, rest"),
        ('{env = "WEATHER_KEY", prefix = "Bearer "}', '"Bearer abc"', "a secret is written in the file"),
        ("https://api", "https://me:pw@api", "user name or password"),
        ("https://api.example.org/v1", "ftp://x", "base_url"),
        ("https://api.example.org/v1", "https://x?key=1", "base_url"),
        ('env = "WEATHER_KEY"', 'env = "A", file = "b"', "either env or file"),
        ('tools = ["Weather/*"]', "retries = 1000", r"retries = 1000.*0 to 20"),
        ('tools = ["Weather/*"]', "tols = 1", "unknown field `tols`"),
        ('path = "/now/{city}"', 'path = "now"', "/PATH"),
        ('path = "/now/{city}"', 'path = "/{}"', "braces"),
        ('path = "/now/{city}"', 'path = "/{city"', "unpaired brace"),
        ('path = "/now/{city}"', 'path = "/a}/{b}"', "unpaired brace"),
        ("upstream.weather", "upstream.'../x'", "letters"),
        ("[[upstream", "[[upstream.x", "not a list of upstreams"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, named: str) -> None:
    """File, upstream and field are in the message."""
    with pytest.raises(InputError, match=named) as caught:
        load_upstreams(write(tmp_path, GOOD.replace(old, new)))
    assert "upstreams.toml" in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """One line, no traceback."""
    with pytest.raises(InputError, match="cannot be read"):
        load_upstreams(tmp_path / "none.toml")


def test_a_secret_comes_from_its_file(tmp_path: Path) -> None:
    """White space around it is not a part of it."""
    (tmp_path / "key").write_text("  abc\n")
    assert "Bearer abc" == read_held(Held(file="key", prefix="Bearer "), upstream_in(tmp_path))


@pytest.mark.parametrize("held", [Held(env="REPLAY_NO_SUCH_SECRET"), Held(file="none")])
def test_a_secret_that_is_not_to_be_had_is_named(tmp_path: Path, held: Held) -> None:
    """The upstream and the place are shown, a file with its folder, never a value."""
    place = held.env or str(tmp_path / held.file)
    with pytest.raises(InputError, match=rf"upstream\.api, .*{re.escape(place)}"):
        read_held(held, upstream_in(tmp_path))


def test_routes_are_needed_where_calls_become_requests(tmp_path: Path) -> None:
    """A REST upstream without routes serves requests that come as they are."""
    path = tmp_path / "up.toml"
    path.write_text('[upstream.api]\nkind = "rest"\nbase_url = "https://api.example.org"\n')
    assert ["api"] == list(load_upstreams(path, needs_routes=False))
    with pytest.raises(InputError, match="no routes"):
        load_upstreams(path)


def test_what_is_sent_always(tmp_path: Path) -> None:
    """Header names are lower case, and what was held apart is a secret without its prefix."""
    (tmp_path / "key").write_text("planted-secret-1")
    held = Held(file="key", prefix="Bearer ")
    headers: dict[str, str | Held] = {"X-Team": "green", "Authorization": held}
    upstream = Upstream(
        kind="rest", base_url="https://a", folder=str(tmp_path), headers=headers, query={"v": "2"}
    )
    found = read_sent_always(upstream)
    assert ({"x-team": "green", "authorization": "Bearer planted-secret-1"}, {"v": "2"}) == found[:2]
    assert ("planted-secret-1",) == found.secrets
