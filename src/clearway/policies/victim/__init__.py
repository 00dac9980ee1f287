"""Rules of the shape core.protocols.Taking."""
