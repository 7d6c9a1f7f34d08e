"""The candidate at work: protocols, calling rules, prompts, and the answer files they leave."""
