"""A chord over 10,000 items: pi by chance, in 10,000 calls and one that puts them together.

python -m examples.functions.chord
"""

from __future__ import annotations

import random
import sys
import time

from clearway import chord, task

DARTS = 200


@task
def hits(seed: int) -> int:
    """Throw darts at a square; return how many hit the circle in it."""
    chance = random.Random(seed)
    return sum(chance.random() ** 2 + chance.random() ** 2 < 1 for _ in range(DARTS))


@task
def pi(found: list[int]) -> float:
    """Return pi, by all that were thrown."""
    return 4 * sum(found) / (len(found) * DARTS)


def main(items: int = 10_000) -> float:
    """Make the calls, and say what came out."""
    began = time.perf_counter()
    found: float = chord((hits.s(seed) for seed in range(items)), pi.s()).remote().get()
    print(f"pi is about {found:.4f}, by {items:,} calls in {time.perf_counter() - began:.1f} s")
    return found


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
