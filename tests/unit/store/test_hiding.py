"""A view hides answers under all their keys and in their scopes, and leaves the rest alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.core.types import Provenance, SnapshotKind
from replay.store.hiding import HidingStore, is_made_by_model, is_recorded_of
from tests.support.snapshots import make_key, make_sealed, make_snapshot

SCOPE = "Weather/forecast/now"


@pytest.mark.parametrize("provenance", list(Provenance))
def test_what_models_made_is_hidden(tmp_path: Path, provenance: Provenance) -> None:
    """Generated and simulated answers, and no other kind."""
    with make_sealed(tmp_path, [make_snapshot("a", provenance=provenance)]) as store:
        view = HidingStore(store, is_made_by_model)
        is_seen = provenance not in (Provenance.GENERATED, Provenance.SIMULATED)
        assert (is_seen, int(is_seen)) == (view.get(make_key("a")) is not None, view.count(make_key("a")))
        assert int(is_seen) == len(list(view.scope(SnapshotKind.API, SCOPE)))


@pytest.mark.parametrize(
    ("changes", "is_hidden"),
    [
        ({}, True),
        ({"scope": "Weather/other/now"}, False),
        ({"kind": SnapshotKind.COMPLETION}, False),
        ({"provenance": Provenance.SIMULATED}, False),
    ],
)
def test_records_of_a_tool_are_hidden(changes: dict[str, str], is_hidden: bool) -> None:
    """Recorded answers of the tools that a glob names; what a simulator said of them stays."""
    tell = is_recorded_of(("Sports/*", "Weather/forecast/*"))
    assert is_hidden == tell(make_snapshot("a", **changes))


def test_aliases_lead_to_nothing_hidden(tmp_path: Path) -> None:
    """A second key of a hidden answer finds as little as the first."""
    with make_sealed(tmp_path, [make_snapshot("a", aliases=(make_key("b"),))]) as store:
        view = HidingStore(store, is_recorded_of((SCOPE,)))
        assert (None, 0) == (view.get(make_key("b")), view.count(make_key("b")))
        assert store.get(make_key("b")) is not None
