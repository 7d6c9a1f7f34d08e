"""The conversation: who speaks when, what each sees, and how it ends."""
