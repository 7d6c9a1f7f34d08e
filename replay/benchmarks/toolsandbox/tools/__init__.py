"""The 34 tools, written as pure functions of the tables, the frozen clock and recorded answers."""
