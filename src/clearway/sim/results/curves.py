"""Amounts over time in a fixed number of bins, whatever the length of the run: memory does not grow with it."""

from __future__ import annotations

from array import array

BINS = 480  # enough for a smooth plot; a power of two times 15, so that halving keeps whole bins
FIRST_WIDTH_US = 1_000_000


class Curves:
    """Step functions of time by name, kept as their integral in each bin.

    When time passes the last bin, neighbours are merged and the bins are twice as wide. All names share the bins.
    """

    def __init__(self, width_us: int = FIRST_WIDTH_US) -> None:
        """Start at 0 with bins of `width_us`."""
        self.width_us = width_us
        self._sums: dict[str, array[float]] = {}
        self._rate: dict[str, float] = {}
        self._since_us: dict[str, int] = {}

    def change(self, name: str, by: float, now_us: int) -> None:
        """From now on the amount is larger by `by`."""
        rate = self._rate.get(name, 0.0)
        if rate and now_us > self._since_us[name]:
            self._add(name, rate, self._since_us[name], now_us)
        self._rate[name] = rate + by
        self._since_us[name] = now_us

    def close(self, now_us: int) -> None:
        """Count all amounts up to now."""
        for name in self._rate:
            self.change(name, 0.0, now_us)

    def means(self, until_us: int) -> dict[str, list[float]]:
        """Return the mean of each amount in each bin up to `until_us`; the last bin may be shorter."""
        count = max(1, -(-until_us // self.width_us))
        last_us = until_us - (count - 1) * self.width_us
        widths = [self.width_us] * (count - 1) + [max(1, last_us)]
        return {name: [s / w for s, w in zip(sums, widths, strict=False)] for name, sums in self._sums.items()}

    def totals(self) -> dict[str, float]:
        """Return the integral of each amount, over microseconds."""
        return {name: sum(sums) for name, sums in self._sums.items()}

    def _add(self, name: str, rate: float, start_us: int, end_us: int) -> None:
        while end_us > self.width_us * BINS:
            self._widen()
        sums = self._sums.get(name)
        if sums is None:
            sums = self._sums[name] = array("d", bytes(8 * BINS))
        first, last = start_us // self.width_us, (end_us - 1) // self.width_us
        if first >= last:
            sums[first] += rate * (end_us - start_us)
            return
        sums[first] += rate * ((first + 1) * self.width_us - start_us)
        for i in range(first + 1, last):
            sums[i] += rate * self.width_us
        sums[last] += rate * (end_us - last * self.width_us)

    def _widen(self) -> None:
        self.width_us *= 2
        half = BINS // 2
        for sums in self._sums.values():
            for i in range(half):
                sums[i] = sums[2 * i] + sums[2 * i + 1]
            sums[half:] = array("d", bytes(8 * half))
