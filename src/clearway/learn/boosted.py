"""Boosted trees as an adviser of forecasts: the median of a job's run time from what is seen at its submit.

LightGBM (Ke et al., 2017) with the quantile loss at one half, on the last runs, trained anew after every so many ends.
"""

from __future__ import annotations

import hashlib
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import lightgbm as lgb
import numpy as np

from clearway.forecast.grid import BINS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clearway.forecast.adviser import Features

KEPT = 20_000
"""So many last runs are trained on."""
FIRST, EVERY = 500, 2_000
"""The first model comes after so many runs, the next ones after so many more each."""
TREES = 60
HASH_CHARS = 12
WORDS: dict[str, Any] = {
    "objective": "quantile", "alpha": 0.5, "num_leaves": 31, "learning_rate": 0.1, "min_data_in_leaf": 20,
    "num_threads": 1, "deterministic": True, "force_row_wise": True, "seed": 1, "verbosity": -1,
}  # fmt: skip
"""One thread and a seed: the same runs give the same model."""


class _Model(NamedTuple):
    trees: lgb.Booster
    hash: str


class Boosted:
    """An adviser (`clearway.forecast.adviser.Adviser`) that trains itself.

    `beside`: it trains in a thread, in which LightGBM leaves Python to others, and takes the model when it is there, so
    that nobody waits; when that is follows from the machine. Without, as simulations have it, `note` comes back with
    the model.
    """

    def __init__(self, *, beside: bool = False) -> None:
        """Begin without a model."""
        self._beside = beside
        self._seen: NDArray[np.float32] | None = None
        self._places = np.zeros(KEPT, np.float32)
        self._runs = self._trained = 0
        self._model: _Model | None = None
        self._training: threading.Thread | None = None

    @property
    def model(self) -> str:
        """The hash of the trees that it goes by now."""
        return self._model.hash if self._model else ""

    def advise(self, seen: Features) -> int | None:
        """Return the bin in which half of such runs have ended, or None while there is no model."""
        if self._model is None:
            return None
        found = self._model.trees.predict(np.array([seen], np.float32), num_threads=1)
        return min(max(round(float(np.asarray(found)[0])), 0), BINS - 1)

    def note(self, seen: Features, place: int) -> None:
        """Take in the bin of a run that is over, and train when it is time."""
        if self._seen is None:
            self._seen = np.zeros((KEPT, len(seen)), np.float32)
        at = self._runs % KEPT
        self._seen[at], self._places[at] = seen, place
        self._runs += 1
        due = self._trained + EVERY if self._trained else FIRST
        if self._runs >= due and not (self._training and self._training.is_alive()):
            self._trained = self._runs
            kept = min(self._runs, KEPT)
            self._begin(self._seen[:kept].copy(), self._places[:kept].copy())

    def close(self) -> None:
        """Wait until no training is under way."""
        if self._training:
            self._training.join()

    def _begin(self, seen: NDArray[np.float32], places: NDArray[np.float32]) -> None:
        if not self._beside:
            self._train(seen, places)
            return
        self._training = threading.Thread(target=self._train, args=(seen, places), name="forecast-training")
        self._training.start()

    def _train(self, seen: NDArray[np.float32], places: NDArray[np.float32]) -> None:
        trees = lgb.train(WORDS, lgb.Dataset(seen, places), TREES)
        text = trees.model_to_string().encode()
        self._model = _Model(trees, hashlib.sha256(text).hexdigest()[:HASH_CHARS])
