"""A day of two teams on eight devices: `python -m examples.day.run`."""
