"""What the candidate is asked: prompts in our own words, tool lists, orders."""
