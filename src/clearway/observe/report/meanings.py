"""What each figure means, in the words that the page shows."""

MEANINGS: tuple[tuple[str, str], ...] = (
    ("wait", "From the submit to the first start. p95: 95 % of the jobs waited no longer."),
    ("completion", "From the submit to the end."),
    ("slowdown", "Bounded slowdown, the mean of completion over run time, at least 1; runs below 10 s count as 10 s."),
    ("makespan", "From the first submit to the last end."),
    ("use", "Held over what was there, from the first submit to the last end."),
    ("fragmented", "The part of the fleet that stood free while a job that asks for it lacked capacity."),
    (
        "fairness, finish",
        (
            "Completion over what it would have been on an equal part of the fleet, that is run time (at least 10 s) "
            "times how many times over the fleet was asked for meanwhile (at least once): above 1 a job got less than "
            "its part. Unfair: the jobs above 1.05."
        ),
    ),
    (
        "fairness, share",
        "Jain's index over queues of what they held over what they asked for: 1 when all got the same part.",
    ),
    ("satisfied", "What a queue held over what its jobs asked for while they were there."),
    ("preempted", "Attempts stopped for another job's sake."),
)
OF_QUEUES = frozenset({"satisfied"})
"""Figures that only the table of queues has."""
