"""A policy that decides beside the one in force: its own world, the same events, and what would have come of it."""
