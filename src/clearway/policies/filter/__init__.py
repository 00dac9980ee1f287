"""Rules of the shape core.protocols.Filter."""
