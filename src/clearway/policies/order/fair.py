"""fair: the queue that is furthest below its fair share first."""

from __future__ import annotations


class Fair:
    """By the position of the job's queue: its use divided by its share, level by level (core.fairness).

    It orders queues, not jobs, and changes with every start: the core asks for the position at each turn.
    """

    name = "fair"
