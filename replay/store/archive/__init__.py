"""Frozen archives: one immutable file a benchmark version (DESIGN section 7, snapshots/FORMAT.md)."""
