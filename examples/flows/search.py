"""A search on the digits, by chance and with early stopping. `python -m examples.flows.search`."""

from __future__ import annotations

import argparse

import clearway
from examples.flows.home import controller
from examples.flows.trials import SPACE, loss

TRIALS = 20


def main() -> None:
    """Run both, and show the best of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=TRIALS)
    trials = parser.parse_args().trials
    with controller():
        for name, words in (("random", {}), ("tpe", {"sampler": "tpe", "stop": {"rule": "median", "min_step": 3}})):
            found = clearway.tune(loss, SPACE, trials=trials, name=name, metric="loss", parallel=2, **words)
            passes = sum(len(trial["reports"]) for trial in found.trials)
            print(f"{name:7} wrong in {found.value:.1%} after {passes} passes: {found.point}")


if __name__ == "__main__":
    main()
