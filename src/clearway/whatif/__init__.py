"""Questions about what would be, and what was: the same world, asked beside the one that is in charge."""
