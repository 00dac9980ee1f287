"""Programs of other systems, each run by its path: nothing of this project is beside them."""
