"""One task of a gang: trains a network on its part of the data, and meets the others after each pass over it."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

import numpy as np
from sklearn.neural_network import MLPClassifier

from examples.day.data import keep_model, part
from examples.day.meeting import Meeting

if TYPE_CHECKING:
    from numpy.typing import NDArray

DIGITS = np.arange(10)


def main() -> None:
    """Train together; rank 0 keeps the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passes", type=int, required=True)
    passes = parser.parse_args().passes
    train, valid = part("train"), part("valid")
    network = MLPClassifier(hidden_layer_sizes=(64,), learning_rate_init=0.005, random_state=0)
    with Meeting() as meeting:
        mine = slice(meeting.rank, None, meeting.size)
        for _ in range(passes):
            network.partial_fit(train.images[mine], train.digits[mine], classes=DIGITS)
            _set_weights(network, meeting.mean(_weights(network)))
        where = f"rank {meeting.rank} of {meeting.size} on device {os.environ['CUDA_VISIBLE_DEVICES'] or 'none'}"
    accuracy = network.score(valid.images, valid.digits)
    print(f"{where}: {len(train.digits[mine])} digits, {passes} passes, {accuracy:.2%} of valid")
    if meeting.rank == 0:
        keep_model(f"gang-of-{meeting.size}", network)


def _weights(network: MLPClassifier) -> NDArray[np.float64]:
    return np.concatenate([layer.ravel() for layer in (*network.coefs_, *network.intercepts_)])


def _set_weights(network: MLPClassifier, flat: NDArray[np.float64]) -> None:
    at = 0
    for layer in (*network.coefs_, *network.intercepts_):
        layer[...] = flat[at : at + layer.size].reshape(layer.shape)
        at += layer.size


if __name__ == "__main__":
    main()
