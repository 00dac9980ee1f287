"""A trained model beside the groups points at a run time; how far runs fall from there is learnt as for the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from clearway.forecast.grid import bin_of
from clearway.model.values import SECOND_US

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.forecast.group import Group
    from clearway.ports.forecaster import Known

HOUR_US = 3600 * SECOND_US
HOURS, DAYS = 24, 7
UNKNOWN = -1

Features = tuple[int, ...]
"""What a model sees of a job: see `features`. Always as many."""


class Adviser(Protocol):
    """Points at a run time. Must not hold up whoever asks: far below a millisecond each."""

    @property
    def model(self) -> str:
        """The hash of the model that it goes by now; empty while it has none."""
        ...

    def advise(self, seen: Features) -> int | None:
        """Return the bin in which half of such runs have ended, or None while there is no model."""
        ...

    def note(self, seen: Features, place: int) -> None:
        """Take in the bin of a run that is over, of which this was seen at its submit."""
        ...


def features(known: Known, groups: Sequence[Group | None]) -> Features:
    """Return what is seen of a job: what it asks for, when it came, and count, last and mean bin of each group."""
    hour = known.at_us // HOUR_US
    found = [
        known.milli_gpus, known.milli_cpus, known.tasks,
        bin_of(known.asked_us) if known.asked_us else UNKNOWN,
        bin_of(known.limit_us) if known.limit_us else UNKNOWN,
        hour % HOURS, hour // HOURS % DAYS,
    ]  # fmt: skip
    for group in groups:
        centers = group.centers() if group is not None else None
        found += [UNKNOWN] * 3 if group is None or centers is None else [group.count, *centers]
    return tuple(found)
