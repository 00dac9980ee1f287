"""Rules of the shape core.protocols.Score."""
