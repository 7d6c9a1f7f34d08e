"""Words on the screen."""
