"""What a waiting job lacks, what would let it start, and when it is expected to: typed, for shells to word."""

from __future__ import annotations

import msgspec

from clearway.model.ids import JobId
from clearway.model.needs import Need
from clearway.model.reasons import Reason

Value = int | str | tuple[str, ...] | None
"""What a word of a job says: amounts in the model's units, names, or nothing."""


class Holder(msgspec.Struct, frozen=True, omit_defaults=True):
    """A job that has what another lacks: how much of it, and when it is expected to give it back (None: unknown)."""

    job: JobId
    name: str
    queue: str = ""
    amount: int = 0
    until_us: int | None = None


class Lack(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that a job lacks.

    `level`: device, node, nvlink, pcie, numa, rack, zone, fleet, queue, parent, user, limit, order, booking, time,
    dependency or person. `name` is whose it is: the node, the queue, the limit, the job that goes first. `need`, `has`
    and `short` are amounts of `resource` in the model's units (tasks, slots: counts). `holders`: the first few who have
    it, those who give back soonest first; `more` others have some too. `lifts`: the kinds of event that could end the
    lack.
    """

    level: str
    name: str = ""
    resource: str = ""
    need: int = 0
    has: int = 0
    short: int = 0
    holders: tuple[Holder, ...] = ()
    more: int = 0
    lifts: tuple[str, ...] = ()
    until_us: int | None = None


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One word of a job that, said otherwise, would let it start at once.

    `how`: `set` where a job that waits can be given the word (it keeps its place in the order), `resubmit` where it has
    to be entered anew. `nodes`: where it would start.
    """

    word: str
    before: Value
    after: Value
    role: str = ""
    how: str = "resubmit"
    nodes: tuple[str, ...] = ()


class Eta(msgspec.Struct, frozen=True, omit_defaults=True):
    """When a job starts, out of so many samples: the median, and the ends of the interval that holds 80 % of them.

    None: in so many of them it did not start as far as was looked.
    """

    low_us: int | None
    median_us: int | None
    high_us: int | None
    samples: int


class Outlook(msgspec.Struct, frozen=True, omit_defaults=True):
    """All that can be said to whom a job belongs.

    `verdict`: starts (at once), waits, limited (a limit is smaller than the job: it will never start as things are),
    never (no node could ever hold it). `start_us`: when it is expected to start by the estimates of what runs, if
    nothing else comes; None: not known. `looked_us`: it does not before this moment, further ahead was not looked.
    `nodes`: where. `reason`: what a job that lacks room was told, with the counts of now. `fits`: the first few of the
    nodes that could hold a task of it if they were empty, with `more_fit` others, out of `of_nodes`. `eta`: how sure
    the start is, where run times are forecast. `needs`: where it is thought to need other amounts than it asks for;
    with what is enough it would start now on `needs_nodes`, empty where it would not.
    """

    verdict: str
    lacks: tuple[Lack, ...] = ()
    changes: tuple[Change, ...] = ()
    start_us: int | None = None
    nodes: tuple[str, ...] = ()
    fits: tuple[str, ...] = ()
    more_fit: int = 0
    of_nodes: int = 0
    looked_us: int | None = None
    reason: Reason | None = None
    eta: Eta | None = None
    needs: tuple[Need, ...] = ()
    needs_nodes: tuple[str, ...] = ()
