"""What came of a what-if: the comparison, who wins and who loses, and how far it can be believed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.sim.results.groups import Group
    from clearway.sim.results.outcome import Comparison


@dataclass(frozen=True)
class Came:
    """How jobs came in: how many of how many hung on the end of another, and by which ends that is known.

    `source` is `record`, `replay` (of things as they are) or `none`. `held` never entered what would be, as what they
    hang on never ended there; `think_us` is the longest time of thought.
    """

    jobs: int
    hang: int
    source: str
    held: int
    think_us: int


@dataclass(frozen=True)
class Answer:
    """`found` has two outcomes: as things are, as they would be.

    `read` says which past it is, `base` and `changes` what was decided by; `first` is the place of the first job that
    counts: those before only fill the machines.
    """

    found: Comparison
    read: str
    base: str
    changes: tuple[str, ...]
    groups: tuple[Group, ...]
    fidelity: dict[str, float] | None
    came: Came
    first: int
    seed: int
