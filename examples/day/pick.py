"""Picks the model that was best in comparison, and measures it once on digits that nobody has looked at."""

from __future__ import annotations

import json

from examples.day.data import BEST, EVALUATION, keep, models, part


def main() -> None:
    """Write the best model's name and what it reaches."""
    compared = json.loads(EVALUATION.read_text())["models"]
    best = max(compared, key=lambda name: compared[name]["accuracy"])
    test = part("test")
    accuracy = float(models()[best].score(test.images, test.digits))
    keep(BEST, {"model": best, "accuracy": accuracy, "digits": len(test.digits)})
    print(f"{best}: {accuracy:.2%} of {len(test.digits)} unseen digits")


if __name__ == "__main__":
    main()
