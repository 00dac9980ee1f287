"""Functions as tasks: what `from clearway import task` brings."""
