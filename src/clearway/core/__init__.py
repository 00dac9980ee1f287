"""The core: who runs when and where. Pure functions over integer columns; no clock, no chance, no I/O."""
