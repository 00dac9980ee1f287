"""Counts and times as plain numbers, shown to Prometheus when it asks: adding to one costs a look into a table.

The library's own counters take a lock and some microseconds at each step, and there are several steps a record.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client import Metric


class Count:
    """Numbers by labels. One thread adds, any may read."""

    def __init__(self, name: str, meaning: str, *labels: str) -> None:
        """Begin at 0 where there are no labels, else with nothing."""
        self._name, self._meaning, self._labels = name, meaning, labels
        self._numbers: dict[tuple[str, ...], int] = {} if labels else {(): 0}

    def add(self, *labels: str) -> None:
        """Count one more."""
        self._numbers[labels] = self._numbers.get(labels, 0) + 1

    def family(self) -> Metric:
        """Return it as Prometheus knows it."""
        found = CounterMetricFamily(self._name, self._meaning, labels=self._labels)
        for labels, number in sorted(self._numbers.copy().items()):
            found.add_metric(labels, number)
        return found


class Times:
    """How often a value lay between which bounds, by labels, and the sum of all."""

    def __init__(self, name: str, meaning: str, bounds: tuple[float, ...], *labels: str) -> None:
        """Each bound belongs to what lies below it; what is beyond the last is counted, too."""
        self._name, self._meaning, self._bounds, self._labels = name, meaning, bounds, labels
        self._seen: dict[tuple[str, ...], tuple[list[int], list[float]]] = {}
        if not labels:
            self._seen[()] = self._new()

    def _new(self) -> tuple[list[int], list[float]]:
        return [0] * (len(self._bounds) + 1), [0.0]

    def add(self, value: float, *labels: str) -> None:
        """Take a value."""
        seen = self._seen.get(labels)
        if seen is None:
            seen = self._seen[labels] = self._new()
        seen[0][bisect_left(self._bounds, value)] += 1
        seen[1][0] += value

    def family(self) -> Metric:
        """Return it as Prometheus knows it: each bound with all that lies below it."""
        found = HistogramMetricFamily(self._name, self._meaning, labels=self._labels)
        names = [*map(floatToGoString, self._bounds), "+Inf"]
        for labels, (counts, total) in sorted(self._seen.copy().items()):
            found.add_metric(labels, list(zip(names, accumulate(counts), strict=True)), total[0])
        return found


class Tallies(Collector):
    """Shows them all."""

    def __init__(self, *tallies: Count | Times) -> None:
        """Show these."""
        self._tallies = tallies

    def collect(self) -> Iterator[Metric]:
        """Yield them as they are."""
        for tally in self._tallies:
            yield tally.family()
