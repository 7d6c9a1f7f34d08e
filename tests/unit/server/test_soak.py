"""A server under load: no wrong answer, no memory that grows. A minute of it: `tests/bench/serve_soak.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.serve_soak import soak


@pytest.mark.slow
def test_many_clients_get_whole_answers_and_memory_stays_flat(tmp_path: Path) -> None:
    """Two workers under sixteen clients: every byte as recorded."""
    found = soak(tmp_path, seconds=4, apis=40, clients=16)
    assert ((), True) == (found.wrong, found.is_sound), found
