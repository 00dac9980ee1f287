"""Rules of the shape core.protocols.Order."""
