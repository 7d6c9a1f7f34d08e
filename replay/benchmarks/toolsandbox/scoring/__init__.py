"""Similarities, milestones, minefields and figures."""
