"""Servers and their clients meet on the loopback, so the guard of the other tests is off here."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def blocked_network() -> None:
    """Let clients of these tests reach the servers of these tests; a server's own guard is tested apart."""
