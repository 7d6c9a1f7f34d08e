"""The README's file of upstreams is one."""

from __future__ import annotations

import re
from pathlib import Path

from replay.tools.upstreams import load_upstreams
from tests.support.data import CHECKOUT


def test_the_example_is_read(tmp_path: Path) -> None:
    """Three upstreams, as they stand there."""
    (block,) = re.findall(r"```toml\n(.*?)```", (CHECKOUT / "README.md").read_text("utf-8"), re.DOTALL)
    path = tmp_path / "upstreams.toml"
    path.write_text(block)
    assert ["proxy", "weather", "gpt"] == list(load_upstreams(path))
