"""Right and wrong: the official checker bug for bug, the strict one, metrics."""
