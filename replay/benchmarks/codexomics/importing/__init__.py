"""Suites, registries and reports of upstream, read in."""
