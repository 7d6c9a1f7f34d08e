"""Upstream files in: queries, caches, documents, answers and result files of a StableToolBench checkout."""
