"""Functions as tasks: a chord, a sweep with actors, shares of a GPU."""
