"""Several objectives at once: a weighted sum of what each order says of a job, in natural units.

Each order counts in a unit of its own (an hour of submit, a point of priority, a doubling of the run time), so a weight
says how much of one is worth how much of another. What one job costs never depends on which others wait: a third job
changes nothing between two, and a running one compares with those that wait.
Source: the weighted sum method of multi-objective choice (Zadeh, IEEE Transactions on Automatic Control 8, 1963).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clearway.core.fairness import RATIO, Position
from clearway.core.protocols import LOG_PARTS, Clocked

if TYPE_CHECKING:
    from clearway.core.protocols import Candidate, Order

MILLI = 1000
UNIT = 1 << LOG_PARTS  # costs are whole numbers in parts of 2^20 of a unit
MOST_SHARES = 1000 * UNIT  # a queue that holds something and has no share at all counts as so many times above it

MixedKey = tuple[int, int]
"""1 for a job of a queue of weight 0, then the cost; the smaller goes first."""


class Mix(NamedTuple):
    """The orders of a policy with their weights; `fair` is the weight of the queue's position, 0 where it has none."""

    jobs: tuple[tuple[int, Order], ...]
    fair: int = 0

    def cost(self, one: Candidate, now_us: int, *, without: str = "") -> int:
        """Return what a job costs by its own words, without one of the orders."""
        return sum(weight * order.cost(one, now_us) for weight, order in self.jobs if order.name != without)

    def key(self, cost: int, position: Position) -> MixedKey:
        """Return what orders a job among all queues: those of weight 0 last, whatever the weights."""
        return max(light for light, _ in position), cost + self.fair * shares_held(position)

    def parts(self, one: Candidate, now_us: int, position: Position) -> dict[str, int]:
        """Return each order's part of the sum as it is shown, by its name, in thousandths of a unit."""
        found = {order.name: weight * shown_cost(order, one, now_us) for weight, order in self.jobs}
        found |= {"fair": self.fair * shares_held(position)} if self.fair else {}
        return {name: part * MILLI >> LOG_PARTS for name, part in found.items()}


def shown_cost(order: Order, one: Candidate, now_us: int) -> int:
    """Return what an order says of a job, without what the clock alone adds to every job."""
    return order.cost(one, now_us) - (order.clock(now_us) if isinstance(order, Clocked) else 0)


def shares_held(position: Position) -> int:
    """Return how many fair shares a queue holds, the mean over its levels, in parts of 2^20."""
    total = sum(min(ratio * UNIT // RATIO, MOST_SHARES) for _, ratio in position)
    return total // len(position)
