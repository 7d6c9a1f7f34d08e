"""Right and wrong: SoPR, SoWR and FAC, officially and as the papers mean them."""
