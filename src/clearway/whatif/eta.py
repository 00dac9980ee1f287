"""When waiting jobs will start, as a distribution: the world run forward many times, each time with other run times.

Each time what runs ends after a run time drawn from its forecast, given how long it has run, mostly at the same level
for all jobs of one user and name; so does what starts later. It is forecast by what is known now: jobs that have waited
long were forecast long ago, when less was. And jobs keep coming as they came in a stretch of the
past, drawn anew each time. What plans count on is what they would count on: only the ends are drawn. The same question
has the same answer, on any machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

from clearway.flow.chance import mixed
from clearway.forecast.kinds import stem
from clearway.model.asks import Submit
from clearway.model.ids import JobId
from clearway.model.job import WHOLE, Demand, JobSpec, Role
from clearway.model.outlook import Eta
from clearway.ports.forecaster import known_of
from clearway.whatif.ahead import MOST_STEPS, Ahead
from clearway.whatif.twin import twin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clearway.loop.world import World
    from clearway.model.asks import Ask
    from clearway.model.forecast import Forecast
    from clearway.ports.forecaster import Known, Run

SAMPLES = 40
LEAST_SAMPLES = 10
"""With fewer, nothing is said of how sure it is."""
LOW, MIDDLE, HIGH = 10, 50, 90
PERCENT = 100
LEVELS = 1000
ALIKE = 80
"""In so many of a hundred samples a job is as long, for what was forecast of it, as all of the same user and name.

Such jobs come in batches and turn out alike: drawn each for itself, long and short ones would even out, and a start
would be said more surely than anybody knows it. Chosen on hpc2n among 0, 60 and 80; docs/forecasts.md has what it does
elsewhere (`python -m benchmarks forecast --only starts`).
"""
LEAST_PAST = 20
"""From fewer runs nothing is drawn of what will come: nothing does then."""


def _always() -> bool:
    return True


def etas(
    world: World, jobs: Sequence[JobId], now_us: int, samples: int = SAMPLES, goes_on: Callable[[], bool] = _always
) -> dict[JobId, Eta]:
    """Return when waiting jobs will start. The world stays as it is.

    `goes_on` is asked before each sample; where there are fewer than LEAST_SAMPLES by then, nothing is returned.
    """
    begins: list[dict[JobId, int]] = []
    anew = _anew(world, now_us)
    for number in range(samples):
        if not goes_on():
            break
        drawn = _Drawn(twin(world), frozenset(jobs), now_us, number, anew).run((), goes_on)
        begins.append({job: found.start_us for job, found in drawn.items()})
    if len(begins) < LEAST_SAMPLES:
        return {}
    return {job: eta_of([found[job] for found in begins if job in found], len(begins)) for job in jobs}


def eta_of(starts: list[int], samples: int) -> Eta:
    """Return the quantiles; those that never started within the look ahead stand behind all others.

    Of n samples and the truth, which is one more like them, each is as likely as any other to stand at each place: so
    the interval goes from place n + 1 times 10 % to place n + 1 times 90 %, and outwards where that is between two.
    """
    starts.sort()

    def at(place: int) -> int | None:
        place = min(max(place, 1), samples)
        return starts[place - 1] if place <= len(starts) else None

    low, high = LOW * (samples + 1) // PERCENT, -(-HIGH * (samples + 1) // PERCENT)
    return Eta(at(low), at(-(-MIDDLE * samples // PERCENT)), at(high), samples)


def _anew(world: World, now_us: int) -> dict[JobId, Forecast]:
    """Return what is forecast of jobs by what is known now, but for those that tell how far they are."""
    if world.forecasting is None:
        return {}
    told, forecaster = world.state.view.forecasts, world.forecasting.forecaster
    found: dict[Known, Forecast] = {}
    anew = {}
    for job, entry in world.jobs.items():
        if job in told.said and job not in told.progressed:
            known = known_of(entry.spec, now_us)
            anew[job] = found[known] = found.get(known) or forecaster.forecast(known)
    return anew


class _Drawn(Ahead):
    """A world to which the ends come that are drawn for it."""

    def __init__(
        self, world: World, wanted: frozenset[JobId], now_us: int, sample: int, anew: Mapping[JobId, Forecast]
    ) -> None:
        self._sample, self._anew = sample, anew
        self._ran: dict[JobId, int] = {}  # run times of jobs that are drawn themselves
        self._coming = _coming(world, now_us, sample)
        super().__init__(world, wanted, now_us)

    def end_us(self, job: JobId, started_us: int) -> int | None:
        """Return when a job ends that started at a moment: as drawn, where there is a forecast."""
        if job in self._ran:
            return started_us + self._ran[job]
        said = self._anew.get(job) or self.world.state.view.forecasts.best(job)
        if said is None:
            return None
        ran_us = max(self.now_us - started_us, 0)
        level = self._level(job)
        drawn = said.given(ran_us, level) if ran_us else said.at(level)
        limit = self.world.jobs[job].spec.time_limit_us
        return started_us + (drawn if limit is None else max(min(drawn, limit), ran_us + 1))

    def _level(self, job: JobId) -> int:
        """Draw how long a job is among all that was held for possible, in thousandths."""
        own = mixed(self._sample, job)
        if own // LEVELS % PERCENT >= ALIKE:
            return own % LEVELS
        spec = self.world.jobs[job].spec
        return mixed(self._sample, crc32(f"{spec.user}\0{stem(spec.name)}".encode())) % LEVELS

    def comes_us(self) -> int | None:
        """Return when the next job comes."""
        return self._coming[-1][0] if self._coming else None

    def come(self) -> list[Ask]:
        """Return the jobs that come now."""
        found: list[Ask] = []
        while self._coming and self._coming[-1][0] <= self.now_us:
            _, run, number = self._coming.pop()
            spec = _like(run, number)
            if spec.queue in self.world.queues:
                self._ran[JobId(self.world.state.next_job + len(found))] = run.ran_us
                found.append(Submit((spec,)))
        return found


def _like(run: Run, number: int) -> JobSpec:
    """Return a job like one of the past: as many devices in as many tasks."""
    known = run.known
    each = known.milli_gpus // max(known.tasks, 1)
    demand = Demand(gpus=each // WHOLE) if each >= WHOLE else Demand(share=each)
    return JobSpec(
        f"{known.name}~{number}", (Role(demand=demand, tasks=max(known.tasks, 1)),), known.queue, user=known.user,
        time_limit_us=known.limit_us, time_estimate_us=known.asked_us,
    )  # fmt: skip


def _coming(world: World, now_us: int, sample: int) -> list[tuple[int, Run, int]]:
    """Return jobs that may come, the last first: those of a stretch of the past, from a moment that is drawn."""
    runs = sorted(world.state.runs.kept, key=lambda run: run.known.at_us)
    if len(runs) < LEAST_PAST:
        return []
    first = runs[0].known.at_us
    begin = mixed(sample, len(runs)) % len(runs)
    span = max(now_us - first, 1)
    found = []
    for number in range(min(len(runs), MOST_STEPS)):
        place = (begin + number) % len(runs)
        wrapped = span if begin + number >= len(runs) else 0
        found.append((now_us + 1 + runs[place].known.at_us - runs[begin].known.at_us + wrapped, runs[place], number))
    return found[::-1]
