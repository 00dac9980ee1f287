"""A long random search over an SVM's parameters, each tried on five parts of the training data.

What it has found lies in sweep.json after each candidate, so that a new attempt goes on where the last one stopped.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from examples.day.data import keep, part

FOUND = Path("sweep.json")
FOLDS = 5


def main() -> None:
    """Try the candidates that are left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, required=True)
    many = parser.parse_args().candidates
    chance = np.random.default_rng(0)
    candidates = [(10 ** chance.uniform(-1, 3), 10 ** chance.uniform(-5, -2)) for _ in range(many)]
    found = json.loads(FOUND.read_text())["found"] if FOUND.exists() else []
    print(f"{len(found)} of {many} candidates were tried before", flush=True)
    train = part("train")
    for c, gamma in candidates[len(found) :]:
        scores = cross_val_score(SVC(C=c, gamma=gamma), train.images, train.digits, cv=FOLDS)
        found.append({"C": c, "gamma": gamma, "accuracy": float(scores.mean())})
        keep(FOUND, {"found": found})
    best = max(found, key=lambda one: one["accuracy"])
    print(f"best of {many}: C={best['C']:.3g} gamma={best['gamma']:.3g}, {best['accuracy']:.2%} in {FOLDS} parts")


if __name__ == "__main__":
    main()
