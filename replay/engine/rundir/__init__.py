"""The run directory: what a run leaves on disk, how it is written, resumed, read and checked."""
