"""What one policy made of a workload: all that tables and plots need, small enough to hand to another process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.sim.results.columns import Jobs
    from clearway.sim.results.excerpt import Excerpt


@dataclass(frozen=True)
class Outcome:
    """One policy's run.

    `curves` are means per bin of `bin_us`: `held/QUEUE` and `asked/QUEUE` in thousandths of a unit, `waiting` in jobs;
    `unit` is what is measured, gpus or cpus, and `capacity` how many of them there are. `complete` is False where the
    run was interrupted: then figures hold for what had finished by then. `early` are jobs that only filled the machines
    and do not count among `jobs`.
    """

    policy: str
    seed: int
    unit: str
    capacity: float
    figures: dict[str, Any]
    jobs: Jobs
    bin_us: int
    curves: dict[str, list[float]]
    excerpt: Excerpt
    complete: bool
    virtual_us: int
    wall_s: float
    peak_bytes: int
    early: Jobs | None = None


@dataclass(frozen=True)
class Comparison:
    """A workload under several policies: the first is what the others are compared with."""

    workload: str
    format: str
    load: float
    notes: tuple[str, ...]
    damage: tuple[str, ...]
    damaged_lines: int
    fleet: str
    outcomes: tuple[Outcome, ...]
    differences: dict[str, dict[str, Any]]

    @property
    def complete(self) -> bool:
        """Whether every policy has seen the whole workload."""
        return all(outcome.complete for outcome in self.outcomes)

    @property
    def unit(self) -> str:
        """What is measured: gpus or cpus."""
        return self.outcomes[0].unit


def labels(outcomes: Sequence[Outcome]) -> list[str]:
    """Return a name for each outcome: its policy, with the seed where one policy ran with several."""
    many = len({o.seed for o in outcomes}) > 1
    return [f"{o.policy} (seed {o.seed})" if many else o.policy for o in outcomes]
