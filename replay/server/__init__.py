"""For other programs: StableToolBench's virtual API, an OpenAI-compatible API and recorded REST services."""
