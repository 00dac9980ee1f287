"""Results of a replay: what is kept of a run while it passes, and the figures made of it."""
