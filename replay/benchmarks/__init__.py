"""Facts about each benchmark; knows core and evaluate only."""
