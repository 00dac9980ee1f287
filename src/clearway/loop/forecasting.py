"""Who is asked how long a job will run, and when: once, before it joins the line; the answer is a record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.forecast.needs import Needs
from clearway.loop import sizing
from clearway.model import events as ev
from clearway.ports.forecaster import known_of

if TYPE_CHECKING:
    from clearway.loop.entry import JobEntry
    from clearway.loop.state import WorldState
    from clearway.loop.world import World
    from clearway.model.job import JobSpec
    from clearway.model.needs import Need
    from clearway.ports.forecaster import Forecaster

MOST_LEARNT = 32
"""So many runs are learnt from in a step at most, however many have ended: the others are next time.

Each takes up to 0.15 ms of the deciding thread, so that no step waits for more than 5 ms.
"""


class Forecasting:
    """Who forecasts run times and needs beside a world. What they have learnt is no part of the state.

    What they said is in the records.
    """

    def __init__(self, forecaster: Forecaster, needs: Needs | None = None, *, learns: bool = True) -> None:
        """Begin with a forecaster that knows nothing; one that does not learn stays as it is."""
        self.forecaster, self.learns = forecaster, learns
        self.needs = Needs() if needs is None else needs
        self._learnt = 0

    def learn(self, state: WorldState, most: int = MOST_LEARNT) -> None:
        """Take in runs that have ended since the last time, so many at most."""
        if not self.learns or self._learnt == state.runs.count:
            return
        self._learnt = max(self._learnt, state.runs.count - len(state.runs.kept))
        for run, _ in zip(state.runs.behind(self._learnt), range(most), strict=False):
            self.forecaster.learn(run)
            self.needs.learn(run)
            self._learnt += 1

    def see_to(self, world: World, entry: JobEntry) -> None:
        """Forecast how long a job will run, unless that has been done."""
        if entry.id not in world.state.view.forecasts.said:
            said = self.forecaster.forecast(known_of(entry.spec, entry.submitted_us))
            world.emit(ev.Forecasted(world.now_us, entry.id, said))
        sizing.see_to(self.needs, world, entry)

    def needed(self, spec: JobSpec, now_us: int) -> tuple[Need, ...]:
        """Return what a job is thought to need where it asks for something else."""
        return sizing.needs_of(self.needs, spec, now_us)

    def aside(self) -> Forecasting:
        """Return the same for a world in which things are only tried out: it does not learn from them."""
        return Forecasting(self.forecaster, self.needs, learns=False)
