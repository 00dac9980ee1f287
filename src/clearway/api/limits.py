"""How often somebody may ask: a bucket of requests each, which fills again with time. And how many may be connected."""

from __future__ import annotations

import resource
import time
from collections import Counter

MOST_BUCKETS = 10_000
BURST_S = 2
"""A bucket holds what comes in so many seconds."""

MOST_OPEN = 200
"""So many requests of one may be under way at once: streams, waits and logs that are followed last long."""
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
        self._open: Counter[str] = Counter()

    def begin(self, key: str) -> bool:
        """Count a request as under way until `end`; return False, and count nothing, where too many are."""
        if self._open[key] >= MOST_OPEN:
            return False
        self._open[key] += 1
        return True

    def end(self, key: str) -> None:
        """Count a request as over."""
        self._open[key] -= 1
        if not self._open[key]:
            del self._open[key]

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
