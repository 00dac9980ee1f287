"""What-ifs that a controller keeps."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from clearway.api.forms.base import Form, Moment, Words, says


class WhatifWords(msgspec.Struct, omit_defaults=True):
    """The words of a what-if: what would be otherwise, and of which past."""

    policy: str | Words | None = None
    fleet: list[str] | None = None
    queues: list[str] | None = None
    limits: list[str] | None = None
    since: str | None = None
    warm_up: str | float | None = None
    think: str | float | None = None
    seed: int | None = None


class Interval(Form):
    """A mean difference with what holds 95 % of histories drawn from this one; null: too few jobs."""

    mean: Annotated[float | None, says("seconds; below 0: sooner")]
    low: Annotated[float | None, says("seconds")]
    high: Annotated[float | None, says("seconds")]


class Side(Form):
    """A few figures of one of the two replays."""

    wait_mean: Annotated[float | None, says("seconds from submit to first start")]
    wait_p95: Annotated[float | None, says("seconds that 95 % wait at most")]
    completion_mean: Annotated[float | None, says("seconds from submit to end")]
    use: Annotated[float | None, says("part of the devices that was held")]
    preemptions: Annotated[int | None, says("attempts that were stopped for another job's sake")]


class Sides(Form):
    """As things are, and as they would be."""

    as_is: Annotated[Side, says("as things are")]
    what_if: Annotated[Side, says("as they would be")]


class Whatif(Form, kw_only=True):
    """A what-if; what is not there is so only of one that is done or has failed."""

    id: Annotated[int, says("its number")]
    state: Annotated[str, says("working, done or failed")]
    asked: Annotated[Moment | None, says("when; null: what was kept is spoilt")]
    by: Annotated[str, says("who asked")]
    words: Annotated[Words, says("as it was asked")]
    reason: Annotated[str | UnsetType, says("why it failed")] = UNSET
    took_s: Annotated[float | UnsetType, says("seconds of work")] = UNSET
    changes: Annotated[list[str] | UnsetType, says("what is otherwise, a sentence each")] = UNSET
    summary: Annotated[str | UnsetType, says("what came out, in a sentence")] = UNSET
    past: Annotated[str | UnsetType, says("which past was replayed")] = UNSET
    completion: Annotated[
        Interval | UnsetType | None, says("from submit to end, job by job; null: no job both ways")
    ] = UNSET
    figures: Annotated[Sides | UnsetType, says("both replays in figures")] = UNSET


class WholeWhatif(Whatif, kw_only=True):
    """A what-if with all of its answer."""

    answer: Annotated[Words | None, says("as `clearway whatif --json` tells it; null: none yet, or never")]


class Whatifs(Form):
    """What-ifs that are kept or worked on."""

    whatifs: Annotated[list[Whatif], says("the newest first")]
    kept: Annotated[int, says("so many are kept")]


class WhatifGone(Form):
    """A what-if that is forgotten."""

    id: Annotated[int, says("its number")]
    removed: Annotated[bool, says("true")]
