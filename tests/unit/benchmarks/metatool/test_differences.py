"""The table of known differences."""

from __future__ import annotations

from replay.benchmarks.metatool.differences import DIFFERENCES


def test_every_entry_is_complete_and_once() -> None:
    """What, why and where from."""
    assert len(DIFFERENCES) == len({difference.id for difference in DIFFERENCES})
    assert all(entry.what and entry.why and entry.source for entry in DIFFERENCES)


def test_no_sentence_of_upstream_is_quoted_at_length() -> None:
    """Our own words: quoted pieces are single words and short phrases."""
    assert all(len(entry.what) < 200 and len(entry.why) < 200 for entry in DIFFERENCES)
