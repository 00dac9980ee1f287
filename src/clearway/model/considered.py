"""What a cycle considered: whose turn it was, what started, and what came second."""

from __future__ import annotations

import msgspec

from clearway.model.ids import ClassId, JobId


class Part(msgspec.Struct, frozen=True):
    """One rule's part in the score of two places, in hundredths of a point with its weight."""

    rule: str
    best: int
    second: int


class RunnerUp(msgspec.Struct, frozen=True):
    """The best place that was not taken, for the first task of a start.

    `best` and `second` are the whole scores in hundredths of a point; equal ones fall to the node that was there first.
    `preferred`: the place that was taken has a GPU model that the job names earlier, which outweighs every score.
    """

    node: str
    best: int
    second: int
    preferred: bool = False
    parts: tuple[Part, ...] = ()


class Considered(msgspec.Struct, frozen=True):
    """One turn of a cycle: the first job of a class. `nodes`: where it started; none: it did not."""

    job: JobId
    name: str
    queue: str
    cls: ClassId
    nodes: tuple[str, ...] = ()
    second: RunnerUp | None = None
