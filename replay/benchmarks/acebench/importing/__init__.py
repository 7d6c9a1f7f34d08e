"""Upstream files in: tasks, tools, official outputs, exact prompt wording."""
