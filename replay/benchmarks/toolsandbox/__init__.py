"""ToolSandbox: a stateful world, 34 tools, a simulated user, milestones and minefields."""
