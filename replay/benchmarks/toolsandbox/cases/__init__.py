"""Single cases: lines that ask the evaluator, or a whole scripted scenario, one question each."""
