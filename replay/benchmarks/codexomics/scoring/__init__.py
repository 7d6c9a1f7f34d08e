"""Evaluators: official bug for bug, and corrected."""
