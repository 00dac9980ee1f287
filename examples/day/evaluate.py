"""Compares all trained models on digits that they were not trained on."""

from __future__ import annotations

import numpy as np

from examples.day.data import EVALUATION, keep, models, part


def main() -> None:
    """Write how often each model is right, and which digit it knows least."""
    valid = part("valid")
    found = {}
    for name, model in models().items():
        right = model.predict(valid.images) == valid.digits
        by_digit = [float(right[valid.digits == digit].mean()) for digit in range(10)]
        found[name] = {"accuracy": float(right.mean()), "weakest": int(np.argmin(by_digit)), "there": min(by_digit)}
        print(f"{name}: {found[name]['accuracy']:.2%}")
    keep(EVALUATION, {"digits": len(valid.digits), "models": found})


if __name__ == "__main__":
    main()
