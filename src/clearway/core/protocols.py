"""The shapes of policies. A policy is one small file over these; a learned one is no different."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clearway.core.ledger import Ledger
    from clearway.model.fleet import NodeSpec
    from clearway.model.ids import JobId
    from clearway.model.job import Demand, JobSpec


class Candidate(NamedTuple):
    """What an order may look at of a waiting job."""

    job: JobId
    spec: JobSpec
    submitted_us: int


class Order(Protocol):
    """Who is next. Equal keys fall to the next order, in the end to submit time and number."""

    name: str

    def key(self, candidate: Candidate) -> int:
        """Return a key that stays as long as the job waits; the smallest is first."""
        ...


class Filter(Protocol):
    """Which nodes a demand may use at all, by the node's words alone. `fact` counts the others in a reason."""

    name: str
    fact: str

    def admits(self, demand: Demand, node: NodeSpec) -> bool:
        """Return whether a node will do."""
        ...


class Score(Protocol):
    """How good a place is: whole numbers from 0 to 100 for each of `rows`, read from the node's own columns."""

    name: str

    def score(self, demand: Demand, ledger: Ledger, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the score of one more task on each of these nodes, all of which have room for it."""
        ...


class Rules(NamedTuple):
    """The policies in force: what `PolicySpec` names, looked up."""

    orders: tuple[Order, ...]
    filters: tuple[Filter, ...]
    scores: tuple[tuple[int, Score], ...]
    backfill: str
