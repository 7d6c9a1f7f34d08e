"""Choice of at most 24 candidate tools for an instruction."""
