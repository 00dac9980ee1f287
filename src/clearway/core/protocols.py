"""The shapes of policies. A policy is one small file over these; a learned one is no different."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from clearway.core.fairness import Fairness
    from clearway.core.ledger import Ledger
    from clearway.core.mix import Mix
    from clearway.core.queues import Amounts, Queues
    from clearway.model.fleet import NodeSpec
    from clearway.model.ids import JobId
    from clearway.model.job import Demand, JobSpec


UNKNOWN_US = 1 << 62
"""A time that nobody gave: longer and later than any."""


class Candidate(NamedTuple):
    """What an order may look at of a waiting job.

    `estimate_us` is how long it is expected to run; `priority` is the job's own or a larger one that it inherits;
    `attained` device time of earlier attempts in milli-GPU-microseconds, `kept_us` work that they have kept;
    `processors` whole devices of all tasks, or CPUs where it asks for no devices, at least 1. `heir_of` names the job
    whose priority it inherits; `served_us` is the run time of earlier attempts; `yielded_to` the job for which the last
    one was stopped. `waiting_since_us`: when it would have begun to wait if it had waited without a break until now.
    """

    job: JobId
    spec: JobSpec
    submitted_us: int
    estimate_us: int | None
    priority: int = 0
    attained: int = 0
    kept_us: int = 0
    heir_of: str = ""
    served_us: int = 0
    yielded_to: JobId | None = None
    waiting_since_us: int = 0

    @property
    def processors(self) -> int:
        """Return the size of the whole job as a count."""
        milli = self.spec.milli_gpus or sum(role.tasks * role.demand.cpus for role in self.spec.roles)
        return max(-(-milli // 1000), 1)


@runtime_checkable
class Order(Protocol):
    """Who is next. Equal keys fall to the next order, in the end to submit time and number.

    `timed`: the key changes as time passes; otherwise it stays as long as the job waits.
    """

    name: str
    timed: bool

    def key(self, candidate: Candidate, now_us: int) -> int:
        """Return the key at a moment; the smallest is first."""
        ...

    def cost(self, candidate: Candidate, now_us: int) -> int:
        """Return the same in natural units, to be weighed with other orders: whole numbers in parts of 2^20."""
        ...


@runtime_checkable
class Clocked(Protocol):
    """What an Order has besides if its cost counts from the beginning of the clock: that is left out when shown."""

    def clock(self, now_us: int) -> int:
        """Return what of every job's cost is the clock's alone, in parts of 2^20."""
        ...


class QueueOrder(Protocol):
    """Which queue is next, by its position among its neighbours, which the core works out at each turn."""

    name: str


LOG_PARTS = 20  # logarithms are integers in parts of 2^20


def log2_parts(number: int) -> int:
    """Return the logarithm of a number >= 1 to base 2 in parts of 2^20, the same on every machine.

    Digit by digit by squaring (Knuth, The Art of Computer Programming 1.2.2, exercise 25).
    """
    whole = number.bit_length() - 1
    scaled = (number << 62) >> whole
    parts = whole
    for _ in range(LOG_PARTS):
        scaled = (scaled * scaled) >> 62
        bit = scaled >> 63
        scaled >>= bit
        parts = (parts << 1) | bit
    return parts


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


@runtime_checkable
class Selective(Protocol):
    """What a Score has besides if it looks at some demands only: for others it is left out."""

    def concerns(self, demand: Demand) -> bool:
        """Return whether it tells places of this demand apart."""
        ...


@runtime_checkable
class Mixed(Protocol):
    """What a Score has besides if it looks at the mix of demands seen: it is asked anew when that changes."""

    mixed: bool


@runtime_checkable
class Fine(Protocol):
    """What a Score has besides if it counts in parts of a point: so many make one."""

    fine: int


@runtime_checkable
class Chance(Protocol):
    """What a Score has besides if it draws places: it is asked anew about all nodes with room, for each task."""

    def draw(self, ledger: Ledger) -> int:
        """Return a number that looks like chance and follows from the books alone."""
        ...


class Taker(NamedTuple):
    """A waiting job that looks for running jobs to stop: its least tasks' use is `need`."""

    job: JobId
    queue: str
    priority: int
    need: Amounts


class Victim(NamedTuple):
    """A running job that may have to stop: how long it has run, whether a stop saves its work, what it gives back."""

    queue: str
    priority: int
    run_us: int
    saves: bool
    gives: Amounts


class Taking(Protocol):
    """A cause for which a waiting job may stop a running one.

    `gone` is what other victims of the same taker already give back, by queue, at every level.
    """

    name: str
    by_wishes: bool
    """Whether it also goes by what queues wait for: then a job that comes or leaves may let others stop somebody."""

    def refusal(self, taker: Taker, world: Shares) -> str:
        """Return why this taker may stop nobody at all for this cause, "" if it may."""
        ...

    def reaches(self, taker: Taker, queue: str, world: Shares) -> bool:
        """Return whether jobs of a queue may be stopped at all; each of them is asked about afterwards."""
        ...

    def allows(self, taker: Taker, victim: Victim, world: Shares, gone: dict[str, Amounts]) -> bool:
        """Return whether this victim may be stopped."""
        ...


@runtime_checkable
class Remembers(Protocol):
    """What a Taking has besides if past use counts in it: what it would allow if nobody had a past."""

    def allows_now(self, taker: Taker, victim: Victim, world: Shares, gone: dict[str, Amounts]) -> bool:
        """Return whether this victim might be stopped by what is held now alone."""
        ...


class Shares(NamedTuple):
    """What the causes look at: queues with their use, fair shares, the quantum, whether the order goes by shares.

    `lowest`: the priorities of the preemptible jobs that run in each queue, in order.
    """

    queues: Queues
    fairness: Fairness
    time_slice_us: int | None
    fair_order: bool
    lowest: Mapping[str, Sequence[int]]


class Rules(NamedTuple):
    """The policies in force: what `PolicySpec` names, looked up.

    `quantile`: the chance, in thousandths, at which run times are forecast; 0 where they are what users say.
    `mix`: the orders are not compared in turn, but weighed; `by_queue` says then whether queues count.
    """

    orders: tuple[Order | QueueOrder, ...]
    filters: tuple[Filter, ...]
    scores: tuple[tuple[int, Score], ...]
    backfill: str
    job_orders: tuple[tuple[int, Order], ...]
    by_queue: frozenset[int] = frozenset()
    measure: str = "gpu"
    half_life_us: int | None = None
    ageing_us: int | None = None
    mix: Mix | None = None
    preempt: tuple[Taking, ...] = ()
    min_runtime_us: int = 0
    time_slice_us: int | None = None
    reservation_timeout_us: int | None = None
    topology: int = 1
    proportional: bool = False
    quantile: int = 0
