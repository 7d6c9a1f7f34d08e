"""Offline, deterministic replay of LLM tool-use benchmarks."""

__version__ = "0.1.0"
