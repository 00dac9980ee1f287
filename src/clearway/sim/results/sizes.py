"""Classes of job sizes that double."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MILLI = 1000
MOST_CLASSES = 12


class Size(NamedTuple):
    """A class of sizes: more than `above`, at most `most` thousandths of a unit."""

    label: str
    above: int
    most: int


def sizes(milli: NDArray[np.int64]) -> list[Size]:
    """Return classes that double: parts of one, 1, 2, 3-4, 5-8, ..; at most MOST_CLASSES with jobs in them."""
    if not len(milli):
        return []
    found = [Size("< 1", 0, MILLI - 1), Size("1", MILLI - 1, MILLI)]
    most = 1
    while found[-1].most < milli.max():
        low, most = most + 1, most * 2
        found.append(Size(str(low) if low == most else f"{low}\N{EN DASH}{most}", (low - 1) * MILLI, most * MILLI))
    used = [s for s in found if bool(((milli > s.above) & (milli <= s.most)).any())]
    if len(used) > MOST_CLASSES:
        rest = used[MOST_CLASSES - 1]
        used = [*used[: MOST_CLASSES - 1], Size(f"> {rest.above // MILLI:,}", rest.above, used[-1].most)]
    return used
