"""ACEBench: single calls, sessions, refusals and agents in a sandbox, in English and Chinese."""
