"""What the jobs of the day leave for one another, in the directory in which they run.

data.npz          the digits, split into `train`, `valid` and `test`
models/NAME       trained models
evaluation.json   how good each is on `valid`
best.json         the best of them, and how good it is on `test`
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import joblib  # type: ignore[import-untyped]
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

DATA = Path("data.npz")
MODELS = Path("models")
EVALUATION = Path("evaluation.json")
BEST = Path("best.json")


class Part(NamedTuple):
    """Images (one a row, 64 points from 0 to 16) and the digits that they show."""

    images: NDArray[np.float64]
    digits: NDArray[np.int64]


def part(name: str) -> Part:
    """Return `train`, `valid` or `test`."""
    with np.load(DATA) as data:
        return Part(data[f"{name}_images"], data[f"{name}_digits"])


def keep_model(name: str, model: Any) -> None:  # noqa: ANN401 - scikit-learn ships no types
    """Write a trained model; a reader sees all of it or nothing."""
    MODELS.mkdir(exist_ok=True)
    half = MODELS / f".{name}"
    joblib.dump(model, half)
    half.replace(MODELS / name)


def models() -> dict[str, Any]:
    """Return all trained models by name."""
    return {path.name: joblib.load(path) for path in sorted(MODELS.glob("[!.]*"))}


def keep(path: Path, found: dict[str, Any]) -> None:
    """Write a document; a reader sees all of it or nothing."""
    half = path.with_name(f".{path.name}.{os.getpid()}")
    half.write_text(json.dumps(found, indent=2) + "\n")
    half.replace(path)
