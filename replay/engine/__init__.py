"""Where time passes: episodes, runs, run directories."""
