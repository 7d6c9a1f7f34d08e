"""Right and wrong: three ways to read an answer, side by side."""
