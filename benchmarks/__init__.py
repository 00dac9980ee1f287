"""Measures of this project on public data: `python -m benchmarks list`, `python -m benchmarks NAME [--json]`."""
