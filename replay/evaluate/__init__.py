"""Right and wrong: pure functions of task and outcome."""
