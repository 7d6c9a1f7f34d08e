"""Rounds protocol, its modes, and synthetic results."""
