"""Examples that run on the real product."""
