"""Whether two jobs take turns in stopping: nobody is stopped a third time for the same job within an hour."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from clearway.testing.judge.values import moment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.testing.judge.world import World

HOUR_US = 3_600_000_000
MOST = 2
_TAKER = re.compile(r"makes room for (.+?)(?:, (which|whose) (.*))?$")


def exchanges(w: World) -> Iterator[str]:
    """Check the orders to stop, by what they say of their causes; time slices are exchanges that are wanted."""
    stops: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for event in w.shown:
        said = _TAKER.match(str(event.get("cause") or "")) if event["kind"] == "stopping" else None
        if said is not None and "time slice" not in (said[3] or ""):
            stops[said[1], str(event["job"])].append(moment(event["at"]))
    for (taker, victim), at in stops.items():
        for first, third in zip(at, at[MOST:], strict=False):
            if third - first < HOUR_US:
                yield f"{victim} is stopped for {taker} a third time within an hour, at {third // 1_000_000} s"
