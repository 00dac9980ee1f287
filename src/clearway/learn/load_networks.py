"""Load by small neural networks (torch on the CPU): the LSTM of textbooks, and a Transformer over a longer window.

The moves to all horizons are learned at once, in units of the usual move, with absolute errors. Few rounds and a fixed
seed: a few thousand windows of one series are learned in seconds, and the same past gives the same network.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from clearway.forecast.load.rows import LEAST_ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.forecast.load.series import Floats, Ints, Series

ROUNDS, BATCH, RATE, SEED = 12, 128, 2e-3, 1
MOST_WINDOWS = 2000
Torch = Any  # it is large, and few have it: it is loaded by name when a network is asked for


class Network:
    """A `forecast.load.LoadModel`: how many steps it looks at, and how its network is made."""

    refit = 6
    """It is slow to learn, so a rolling evaluation fits it for every sixth part only."""

    def __init__(self, name: str, window: int, build: Any) -> None:  # noqa: ANN401 - torch has no types here
        self.name = name
        self._window, self._build = window, build

    def fit(self, past: Series, horizons: Sequence[int]) -> Network.Fitted:
        """Train on windows of the past that are evenly spaced."""
        torch: Torch = import_module("torch")
        torch.manual_seed(SEED)
        longest = max(horizons)
        origins = np.arange(self._window, max(len(past) - longest, 0), dtype=np.int64)
        if len(origins) < LEAST_ROWS:
            return self.Fitted(torch, None, self._window, np.ones(len(horizons)), 1.0)
        if len(origins) > MOST_WINDOWS:
            origins = origins[np.linspace(0, len(origins) - 1, MOST_WINDOWS).round().astype(np.int64)]
        came = np.stack([past.level[origins + steps] - past.level[origins] for steps in horizons], axis=1)
        units = np.maximum(np.abs(came).mean(axis=0), 1e-9)
        spread = max(float(past.level.std()), 1e-9)
        network = self._build(torch, len(horizons))
        _train(torch, network, _windows(past, origins, self._window, spread), came / units)
        return self.Fitted(torch, network, self._window, units, spread)

    class Fitted:
        """A network, or none where the past was too short."""

        def __init__(self, torch: Torch, network: Any, window: int, units: Floats, spread: float) -> None:  # noqa: ANN401 - as above
            self._torch, self._network, self._window = torch, network, window
            self._units, self._spread = units, spread

        def points(self, series: Series, origins: Ints) -> Floats:
            """Return the level with the moves that are expected."""
            now = series.level[origins][:, None]
            if self._network is None:
                return series.back(np.repeat(now, len(self._units), axis=1))
            rows = _windows(series, origins, self._window, self._spread)
            with self._torch.no_grad():
                moves = self._network(self._torch.as_tensor(rows, dtype=self._torch.float32)).numpy()
            return series.back(now + moves.astype(np.float64) * self._units)


def lstm() -> Network:
    """Return the plain LSTM of textbooks: six steps in, 50 units."""

    def build(torch: Torch, outputs: int) -> Any:  # noqa: ANN401 - as above
        class Lstm(torch.nn.Module):  # type: ignore[misc]  # torch has no types here
            def __init__(self) -> None:
                super().__init__()
                self.inner = torch.nn.LSTM(1, 50, batch_first=True)
                self.out = torch.nn.Linear(50, outputs)

            def forward(self, rows: Any) -> Any:  # noqa: ANN401 - as above
                return self.out(self.inner(rows)[0][:, -1])

        return Lstm()

    return Network("lstm", 6, build)


def transformer() -> Network:
    """Return a small Transformer: 48 steps in, two layers of 32 with four heads."""
    window, width = 48, 32

    def build(torch: Torch, outputs: int) -> Any:  # noqa: ANN401 - as above
        class Transformer(torch.nn.Module):  # type: ignore[misc]  # torch has no types here
            def __init__(self) -> None:
                super().__init__()
                self.inward = torch.nn.Linear(1, width)
                self.places = torch.nn.Parameter(torch.zeros(window, width))
                layer = torch.nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True)
                self.inner = torch.nn.TransformerEncoder(layer, 2)
                self.out = torch.nn.Linear(width, outputs)

            def forward(self, rows: Any) -> Any:  # noqa: ANN401 - as above
                return self.out(self.inner(self.inward(rows) + self.places)[:, -1])

        return Transformer()

    return Network("transformer", window, build)


def _windows(series: Series, origins: Ints, window: int, spread: float) -> Floats:
    """Return the last steps before each origin, relative to it; before the beginning: as at the beginning."""
    at = np.maximum(origins[:, None] - np.arange(window - 1, -1, -1)[None, :], 0)
    return np.asarray((series.level[at] - series.level[origins][:, None]) / spread)[:, :, None]


def _train(torch: Torch, network: Any, rows: Floats, came: Floats) -> None:  # noqa: ANN401 - as above
    given, wanted = (torch.as_tensor(values, dtype=torch.float32) for values in (rows, came))
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    shuffled = torch.Generator().manual_seed(SEED)
    for _ in range(ROUNDS):
        for part in torch.randperm(len(given), generator=shuffled).split(BATCH):
            optimizer.zero_grad()
            torch.nn.functional.l1_loss(network(given[part]), wanted[part]).backward()
            optimizer.step()
    network.eval()
