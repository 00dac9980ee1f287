"""Workflows, a schedule and a search on real data: scikit-learn's handwritten digits."""
