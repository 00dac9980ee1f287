"""Trains one model: `python -m examples.day.train KIND WORD=VALUE...`, the words being scikit-learn's own."""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING, Any

from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from examples.day.data import keep_model, part

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS: dict[str, Callable[..., Any]] = {
    "svm": SVC,
    "forest": lambda **words: RandomForestClassifier(random_state=0, **words),
    "logistic": lambda **words: make_pipeline(StandardScaler(), LogisticRegression(**words)),
    "network": lambda **words: make_pipeline(StandardScaler(), MLPClassifier(max_iter=400, random_state=0, **words)),
    "neighbours": KNeighborsClassifier,
}


def main() -> None:
    """Train the model, keep it, and say how well it does on the digits for comparing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("words", nargs="*", metavar="WORD=VALUE")
    given = parser.parse_args()
    words = {name: json.loads(value) for name, _, value in (word.partition("=") for word in given.words)}
    train, valid = part("train"), part("valid")
    model = KINDS[given.kind](**words).fit(train.images, train.digits)
    name = "-".join([given.kind, *(f"{word}{value}" for word, value in words.items())])
    keep_model(name, model)
    devices = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    print(f"{name} on device {devices or 'none'}: {model.score(valid.images, valid.digits):.2%} of valid")


if __name__ == "__main__":
    main()
