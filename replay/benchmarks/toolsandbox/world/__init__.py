"""The five tables of the world, their history, and calls carried out against them."""
