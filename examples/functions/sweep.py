"""A sweep over learning rates with actors: each keeps its model in one process, and the worse half ends each round.

python -m examples.functions.sweep
"""

from __future__ import annotations

import random
from typing import Any

from clearway import task

RATES = (0.001, 0.01, 0.05, 0.1, 0.5, 1.2)
ROUNDS = 4
STEPS = 50
POINTS = 64


class _Model:
    """A line through noisy points, fitted step by step. Its state is in this process."""

    def __init__(self, rate: float) -> None:
        chance = random.Random(7)
        self.points = [(x, 3 * x - 1 + chance.gauss(0, 0.1)) for x in (chance.random() for _ in range(POINTS))]
        self.rate, self.slope, self.offset = rate, 0.0, 0.0

    def train(self, steps: int) -> float:
        """Take steps, and return the loss after them."""
        for _ in range(steps):
            wrong = [(self.slope * x + self.offset - y, x) for x, y in self.points]
            self.slope -= self.rate * 2 * sum(error * x for error, x in wrong) / POINTS
            self.offset -= self.rate * 2 * sum(error for error, _ in wrong) / POINTS
        return sum((self.slope * x + self.offset - y) ** 2 for x, y in self.points) / POINTS

    def line(self) -> tuple[float, float]:
        """Return what it has found."""
        return self.slope, self.offset


Model = task(cpus=0.1, max_retries=2)(_Model)  # several share a CPU; with `gpus=0.25` four would share a GPU


def main() -> float:
    """Train one model a rate; after each round the worse half ends, and its place is free for others."""
    models: dict[float, Any] = {rate: Model.remote(rate) for rate in RATES}
    losses: dict[float, float] = {}
    for number in range(ROUNDS):
        asked = {rate: model.train.remote(STEPS) for rate, model in models.items()}
        losses = {rate: handle.get() for rate, handle in asked.items()}
        order = sorted(losses, key=lambda rate: losses[rate])
        print(f"round {number + 1}: " + ", ".join(f"{rate:g} {losses[rate]:.4f}" for rate in order))
        for rate in order[max(1, len(order) // 2) :]:
            models.pop(rate).end()
    (best, model) = next(iter(models.items()))
    slope, offset = model.line.remote().get()
    print(f"best is the rate {best:g}: y = {slope:.2f} x {offset:+.2f}")
    model.end()
    return best


if __name__ == "__main__":
    main()
