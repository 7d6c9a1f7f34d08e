"""Text and tool calls as each model family writes them: prompts from a sandbox, calls parsed literally."""
