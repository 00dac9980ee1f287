"""The seven steps on scikit-learn's handwritten digits, as plain functions: flows of any kind can call them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

KINDS = ("pixels", "halves", "edges")
TEST = 400
"""So many digits are kept aside."""


def collect() -> dict[str, Any]:
    """Return images and digits as they come."""
    images, digits = load_digits(return_X_y=True)
    return {"images": images, "digits": digits}


def clean(raw: dict[str, Any]) -> dict[str, Any]:
    """Return them without empty images, between 0 and 1."""
    keep = raw["images"].sum(axis=1) > 0
    return {"images": raw["images"][keep] / 16.0, "digits": raw["digits"][keep]}


def features(kind: str, data: dict[str, Any]) -> Any:  # noqa: ANN401  an array
    """Return one kind of features of all images."""
    images = data["images"].reshape(-1, 8, 8)
    if kind == "halves":
        return np.concatenate([images.sum(axis=1), images.sum(axis=2)], axis=1)
    if kind == "edges":
        return np.abs(np.diff(images, axis=2)).reshape(len(images), -1)
    return data["images"]


def train(columns: list[Any], data: dict[str, Any]) -> Any:  # noqa: ANN401  a model
    """Return a model trained on all but the last digits."""
    model = make_pipeline(StandardScaler(), PCA(40), LogisticRegression(max_iter=300))
    return model.fit(np.hstack(columns)[:-TEST], data["digits"][:-TEST])


def evaluate(model: Any, columns: list[Any], data: dict[str, Any]) -> dict[str, float]:  # noqa: ANN401
    """Return how good it is on the digits kept aside."""
    return {"accuracy": float(model.score(np.hstack(columns)[-TEST:], data["digits"][-TEST:]))}


def register(model: Any, found: dict[str, float], folder: str) -> str:  # noqa: ANN401
    """Keep the model, and return where."""
    import joblib  # type: ignore[import-untyped]  # noqa: PLC0415  the others do without

    path = Path(folder) / f"model-{found['accuracy']:.3f}"
    joblib.dump(model, path)
    return str(path)


def deploy(path: str, folder: str) -> str:
    """Have the model be the one in use."""
    link = Path(folder) / "in-use"
    link.unlink(missing_ok=True)
    link.symlink_to(path)
    return str(link.resolve())
