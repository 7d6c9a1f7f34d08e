"""MetaTool: whether to use a tool, and which: five subtasks, matched by rules."""
