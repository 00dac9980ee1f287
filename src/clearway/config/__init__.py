"""Where a controller keeps its things, and how it is set up."""
