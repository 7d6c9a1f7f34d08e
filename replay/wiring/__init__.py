"""Composition root: settings and modes become stores, sources, models, evaluators and runs."""
