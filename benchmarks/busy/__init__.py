"""A large invented place that serves the real API: for looking at the dashboard, its tests and its numbers."""
