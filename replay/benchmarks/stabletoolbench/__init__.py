"""StableToolBench and the ToolBench parts under it (upstream commits aa4ed9f and d56fdd8)."""
