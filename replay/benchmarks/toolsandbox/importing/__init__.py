"""Upstream scenarios, in the dumped form, to tasks and tool specs."""
