"""What an engine is told to do. Each follows from a record, so that it can be told again after a crash."""

from __future__ import annotations

import msgspec

from clearway.model.events import Grant, TaskRef
from clearway.model.fleet import NodeSpec
from clearway.model.flow import SearchSpec
from clearway.model.job import JobSpec


class Launch(msgspec.Struct, frozen=True, tag=True):
    """Start one task on the node and devices of its grant. Telling it twice starts it once.

    `rank` counts the tasks of the attempt, of which there are `world_size`; `first_node` is where the one of rank 0 is.
    """

    task: TaskRef
    spec: JobSpec
    grant: Grant
    node: str
    rank: int
    world_size: int
    first_node: str = ""


class Halt(msgspec.Struct, frozen=True, tag=True):
    """Stop one task: send `signal`, after `grace_us` kill. Its end is reported when nothing of it is left."""

    task: TaskRef
    node: str
    signal: str
    grace_us: int


class Pause(msgspec.Struct, frozen=True, tag=True):
    """Make one task stand still (`paused`) or go on."""

    task: TaskRef
    node: str
    paused: bool


Action = Launch | Halt | Pause


class Order(msgspec.Struct, frozen=True, tag=True):
    """Get a machine of a type; it joins as the node `spec`. Telling it twice orders it once."""

    kind: str
    spec: NodeSpec


class GiveBack(msgspec.Struct, frozen=True, tag=True):
    """Give a machine back, or take its order back if it is not there yet."""

    name: str


class Draw(msgspec.Struct, frozen=True, tag=True):
    """Find the point of trial `number` of a search. Telling it twice draws one point.

    `points` and `values` are of the trials before, as JSON; a value is empty where a trial told none. `order` says in
    which order they entered (their numbers) and ended (minus their numbers). `stopped`: numbers of those that were
    stopped early, with the step and value that they reported last.
    """

    search: SearchSpec
    number: int
    points: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    order: tuple[int, ...] = ()
    stopped: tuple[tuple[int, int, str], ...] = ()


Supply = Order | GiveBack
"""What a provider of machines is told."""
