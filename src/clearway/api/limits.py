"""How often somebody may ask: a bucket of requests each, which fills again with time. And how many may be connected."""

from __future__ import annotations

import resource
import time

MOST_BUCKETS = 10_000
BURST_S = 2
"""A bucket holds what comes in so many seconds."""

RESERVED = 200
"""So many descriptors are left for files, tasks and the owner's socket, however many connect to the ports."""


def most_at_ports() -> int:
    """Return how many connections there may be before those to ports are turned away."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(descriptors // 4, descriptors - RESERVED)


class Limits:
    """Buckets by who asks. To be asked in one thread."""

    def __init__(self, rate: int) -> None:
        """Allow `rate` requests a second each, and twice as many at once after a rest."""
        self._rate, self._most = rate, rate * BURST_S
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait_s(self, key: str) -> float:
        """Take a request from a bucket; return 0, or how long to wait where there is none in it."""
        now_s = time.monotonic()
        left, at_s = self._buckets.pop(key, (float(self._most), now_s))
        left = min(self._most, left + (now_s - at_s) * self._rate)
        allowed = left >= 1
        self._buckets[key] = left - allowed, now_s  # the last one in the dictionary: the first is the longest quiet
        if len(self._buckets) > MOST_BUCKETS:
            del self._buckets[next(iter(self._buckets))]
        return 0.0 if allowed else (1 - left) / self._rate
