"""The candidate's side of every category: prompts, protocols, the simulated user, the execution of calls."""
