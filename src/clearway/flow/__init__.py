"""Workflows, schedules and searches: what follows from what happened. Pure: it says which jobs are next."""
