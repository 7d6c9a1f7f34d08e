"""`replay serve`: what is asked for, who answers on each route, what is recorded and logged."""
