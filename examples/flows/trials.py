"""One trial of the search on the digits: a network trained pass after pass, which reports how good it is after each."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import clearway

if TYPE_CHECKING:
    from collections.abc import Iterator

PASSES = 27
SPACE: dict[str, Any] = {
    "rate": {"from": -4.0, "to": -0.5},  # powers of ten
    "decay": {"from": -6.0, "to": 0.0},
    "hidden": {"from": 4, "to": 64},
    "batch": [16, 64, 256],
}


def curve(rate: float, decay: float, hidden: int, batch: int) -> Iterator[tuple[float, float]]:
    """Yield after each pass the part of the digits kept aside that is taken for others, and the CPU seconds so far."""
    began = time.process_time()
    images, digits = load_digits(return_X_y=True)
    images = images / 16.0
    split = len(images) * 2 // 3
    model = MLPClassifier(
        (hidden,), learning_rate_init=10**rate, alpha=10**decay, batch_size=batch, random_state=0, max_iter=1
    )
    for _ in range(PASSES):
        model.partial_fit(images[:split], digits[:split], classes=range(10))
        yield 1.0 - float(model.score(images[split:], digits[split:])), time.process_time() - began


def loss(rate: float, decay: float, hidden: int, batch: int) -> dict[str, float]:
    """Run a whole trial: report after each pass, and return what it came to."""
    wrong = cpu_s = 0.0
    for step, (wrong, cpu_s) in enumerate(curve(rate, decay, hidden, batch), 1):
        clearway.report(step=step, loss=wrong, cpu_s=cpu_s)
    return {"loss": wrong, "cpu_s": cpu_s}
