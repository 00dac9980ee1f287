"""The driver in invented time: the same loop as live, with an engine that only pretends."""
