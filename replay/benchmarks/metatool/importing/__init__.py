"""Upstream data files -> tasks: lists rebuilt by the published rules, samples drawn again, noise flagged."""
