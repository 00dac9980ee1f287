"""One storm: a controller after another, on one journal and one room of machines, until all has calmed down."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

from msgspec.structs import replace

from clearway.control import snapshots
from clearway.control.controller import Controller
from clearway.control.upkeep import Upkeep, tidy, write
from clearway.engines.fake import FakeEngine, ManualClock, Room
from clearway.loop.difference import Between
from clearway.loop.world import World
from clearway.model.actions import Launch
from clearway.model.asks import (
    Cancel,
    Drain,
    Resume,
    SetLimit,
    SetPolicy,
    SetQueue,
    SetSchedule,
    Submit,
    SubmitFlow,
    Suspend,
)
from clearway.model.errors import ClearwayError
from clearway.model.events import Started, Submitted, TaskRef
from clearway.model.states import State
from clearway.model.values import SECOND_US
from clearway.ports.journal import Mark
from clearway.testing.storm import checks
from clearway.testing.storm.clocks import Machine
from clearway.testing.storm.mortal import Fate, Killed, MortalEngine, MortalJournal
from clearway.testing.storm.weather import FLOW, LIMITS, QUEUES, SCHEDULE, life_of, weather

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from clearway.control.board import Board
    from clearway.engines.fake import Life
    from clearway.model.actions import Action
    from clearway.model.asks import Ask
    from clearway.model.events import Record
    from clearway.model.ids import JobId
    from clearway.ports.journal import Journal
    from clearway.testing.storm.weather import Mishap

SNAPSHOT_EVERY = 40
CALM_S = 5_000
"""So long after the last mishap everything that can end has ended."""
LOOKS_S = (0, 100, 1_000)
"""So long after it the controller looks at itself: what an engine had lied about is found by then."""
HOUR_US = 3600 * SECOND_US
_ASK: dict[str, Callable[[JobId], Ask]] = {"cancel": Cancel, "suspend": Suspend, "resume": Resume}
ASKED_OF: dict[str, Collection[State]] = {
    "cancel": tuple(State),
    "suspend": (State.STARTING, State.RUNNING),
    "resume": (State.SUSPENDED,),
}
"""In which states of a job each of these is asked."""
MOST_TURNS_AT_ONCE = 200


class PromptUpkeep(Upkeep):
    """Writes snapshots at once, so that the same seed does the same."""

    def _take(self, world: World, board: Board) -> None:
        mark = Mark(self._journal.last(), world.now_us)
        self.begin(mark.number)
        write(self._journal, mark, snapshots.written(world, board, mark.number))
        tidy(self._journal, mark.at_us, None)


class Storm:
    """Lives through the weather of a seed. `fate` says where controllers die."""

    def __init__(self, seed: int, journal: Journal, fate: Fate, most_jobs: int = 12) -> None:
        """Begin before anything has happened."""
        self.seed, self.journal, self.fate = seed, journal, fate
        self.weather = weather(seed, most_jobs)
        self._chance = Random(seed + 1)
        self.clock = ManualClock()
        self.machine = Machine(self.clock)
        self.happened: Counter[str] = Counter()
        """What really came over the controllers, by kind."""
        self.room = Room(
            self.weather.nodes, self.clock, self._life, seed=seed, faults=self.weather.faults, refuses=self._refuses
        )
        self.accepted: set[str] = set()
        self.controller: Controller
        self._unanswered = list(self.weather.jobs)
        self._mishaps = list(self.weather.mishaps)
        self._away: set[str] = set()
        self._healed = False
        self._looks: list[int] = []
        self.spoilt = self.wrong = self._fails_until_us = 0

    def _life(self, launch: Launch) -> Life:
        return life_of(self.weather, self.seed, launch)

    def _refuses(self, action: Action) -> str:
        one_in = self.weather.refuses_one_in
        lies = (
            one_in
            and isinstance(action, Launch)
            and action.task.index == 0
            and (action.task.job + action.task.attempt) % one_in == 0
        )
        return "the engine says no" if lies else ""

    # --- controllers ---------------------------------------------------------------------------

    def live(self) -> None:
        """Have one controller follow another until all is calm; BrokenError where something is not as it must be."""
        while True:
            try:
                self._take_over()
                self._go_on()
                break
            except Killed:
                self.happened["kill"] += 1
            finally:
                self.wrong += self._wrong()
        self.happened.update(self.room.happened)
        if self.weather.faults.late_us > self.weather.policy.lease_us:
            self.happened["slow"] += self.room.happened["late"]
        self._look_back()

    def _take_over(self) -> None:
        journal = MortalJournal(self.journal, self.fate)
        self._its_clock = self.machine.clock(self.journal)
        self.controller = Controller(
            World(self.weather.policy, self.seed),
            self._its_clock,
            MortalEngine(FakeEngine(self.room), self.fate, lambda: self.clock.now_us() < self._fails_until_us),
            journal,
            first=(
                SetPolicy(self.weather.policy),
                *(SetQueue(queue) for queue in QUEUES),
                *(SetLimit(limit) for limit in LIMITS),
            ),
            upkeep=PromptUpkeep(journal, every=SNAPSHOT_EVERY),
        )
        self.controller.take_over()

    def _go_on(self) -> None:
        end_us = (self.weather.mishaps[-1].at_us if self.weather.mishaps else 0) + CALM_S * SECOND_US
        engine, at_once, moment_us = FakeEngine(self.room), 0, -1
        while self.clock.now_us() < end_us:
            next_us = self._next_us()
            wanted = end_us if next_us is None else min(next_us, end_us)
            if self.clock.now_us() < self._fails_until_us or self.controller.engine_again_us is not None:
                self.clock.move_to(wanted)  # what has come waits to be heard
            else:
                engine.wait(max(wanted - self.clock.now_us(), 0) / SECOND_US)
            at_once = at_once + 1 if self.clock.now_us() == moment_us else 0
            moment_us = self.clock.now_us()
            checks.demand(holds=at_once < MOST_TURNS_AT_ONCE, text=f"it turns round and round at {moment_us} us")
            self._turn()

    def _next_us(self) -> int | None:
        wanted, ahead_us = (self.controller.next_us, self.controller.engine_again_us), self._ahead_us()
        ahead = [None if at_us is None else max(at_us - ahead_us, 0) for at_us in wanted]
        ahead.append(self._unanswered[0][0] if self._unanswered else None)
        ahead.append(self._mishaps[0].at_us if self._mishaps else None)
        ahead.append(self._looks[0] if self._looks else None)
        if not self._mishaps and not self._healed:
            ahead.append(self.clock.now_us())
        return min((at_us for at_us in ahead if at_us is not None), default=None)

    def _ahead_us(self) -> int:
        """Return how far the controller's clock is ahead of the storm's."""
        return self._its_clock.now_us() - self.clock.now_us()

    def _turn(self) -> None:
        heals = not self._mishaps and not self._healed
        asks = self._heal() if heals else [*self._due_asks(), *self._begin_flows()]
        reports = self.controller.reports()
        entering = [(at_us, spec) for at_us, spec in self._unanswered if at_us <= self.clock.now_us()]
        step = self.controller.turn([*reports, *asks, *(Submit((spec,)) for _, spec in entering)])
        if heals:
            self._looks = [self.clock.now_us() + after_s * SECOND_US for after_s in LOOKS_S]
        self._healed |= heals  # a controller that died before this is followed by one that is asked again
        if self._looks and self._looks[0] <= self.clock.now_us():
            self.controller.look_at_itself()
            self._looks.pop(0)
        for (at_us, spec), said in zip(entering, step.answers[len(reports) + len(asks) :], strict=True):
            if isinstance(said, ClearwayError):
                raise checks.BrokenError(f"{spec.name} was refused: {said}")
            self.accepted.add(spec.idempotency_key)
            self._unanswered.remove((at_us, spec))
        self.controller.world.validate()
        checks.devices(self.room, self.room.launched)

    def _begin_flows(self) -> list[Ask]:
        """Return what enters the workflow and the schedule, as long as the controller does not know them."""
        flow, schedule, known = self.weather.flow, self.weather.schedule, self.controller.world.state.flows
        asks: list[Ask] = []
        if flow is not None and FLOW not in known.names:
            asks.append(SubmitFlow(flow))
        track = known.schedules.tracks.get(SCHEDULE)
        if schedule is not None and (track is None or track.gone):
            asks.append(SetSchedule(schedule))
        return asks

    # --- mishaps -------------------------------------------------------------------------------

    def _due_asks(self) -> list[Ask]:
        asks: list[Ask] = []
        while self._mishaps and self._mishaps[0].at_us <= self.clock.now_us():
            mishap = self._mishaps.pop(0)
            came = self._happen(mishap)
            self.happened[mishap.kind] += came is not None
            asks += came or []
        return asks

    def _heal(self) -> list[Ask]:
        """Bring everything back that a mishap took, so that what can end does."""
        self._fails_until_us = 0
        self.room.be_honest()
        for name in sorted(self._away):
            self.room.bring_back(name)
        self._away.clear()
        for name in self.room.nodes:
            self.room.hurt_devices(name, ())
        suspended = [job for job, entry in self.controller.world.jobs.items() if entry.state == State.SUSPENDED]
        return [*(Drain(name, drained=False) for name in self.room.nodes), *map(Resume, suspended)]

    def _happen(self, what: Mishap) -> list[Ask] | None:
        """Have a mishap come, and return what is asked then; None where there was nothing for it to happen to."""
        names, jobs = list(self.room.nodes), list(self.controller.world.jobs.values())
        name = names[what.number % len(names)]
        match what.kind:
            case "lose" | "cut" if name not in self._away:
                self._away.add(name)
                (self.room.lose_node if what.kind == "lose" else self.room.cut_node)(name)
            case "back" if name in self._away:
                self._away.discard(name)
                self.room.bring_back(name)
            case "sick" | "well" if name not in self._away:
                self.room.hurt_devices(name, (0,) if what.kind == "sick" else ())
            case "drain" | "undrain":
                return [Drain(name, drained=what.kind == "drain")]
            case "again" | "vanish" | "intrude" if self.room.launched:
                self._happen_to_a_task(what, name)
            case "kill" | "restart":
                self._end_it(what)
            case "step":
                self.machine.step(HOUR_US if what.number % 2 else -HOUR_US)
            case "spoil" | "smear" if self.controller.world.ledger.count:
                (self._spoil if what.kind == "spoil" else self._smear)(what)
            case "fail":
                self._fails_until_us = self.clock.now_us() + (what.other + 1) * 5 * SECOND_US
            case "audit":
                self.controller.look_at_itself()
            case _:
                fitting = [entry.id for entry in jobs if entry.state in ASKED_OF.get(what.kind, ())]
                return [_ASK[what.kind](fitting[what.number % len(fitting)])] if fitting else None
        return []

    def _end_it(self, what: Mishap) -> None:
        if what.kind == "restart":
            self.happened["restart"] += 1
            self.machine.restart()
        raise Killed

    def _happen_to_a_task(self, what: Mishap, name: str) -> None:
        task = self.room.launched[what.number % len(self.room.launched)].task
        if what.kind == "again":
            self.room.tell_again(task)
        elif what.kind == "vanish":
            self.room.vanish(task)
        else:
            self.room.intrude(TaskRef(task.job, 0, 0, 0), name)

    def _spoil(self, what: Mishap) -> None:
        """Have the books, or what is known of a job, be wrong; the controller notices and repairs it."""
        world = self.controller.world
        holders = sorted(world.ledger.holdings)
        if what.other % 2 and holders:
            entry = world.jobs[holders[what.number % len(holders)]]
            if what.other % 4 == 1:
                entry.held.popitem()
            else:
                entry.attempt += 1
        else:
            world.ledger.free[0][what.number % world.ledger.count] += 1
        self.spoilt += 1
        before = self._wrong()
        self.controller.look_at_itself()
        checks.demand(holds=self._wrong() > before, text=f"what was spoilt was not noticed: {what}")

    def _smear(self, what: Mishap) -> None:
        """Have the board show something else than what is so; the controller notices and repairs it."""
        board, before = self.controller.board, dict(self.controller.audited.found)[Between.BOARD]
        jobs = self.controller.world.jobs
        node, live = (
            next(iter(board.nodes)),
            [job for job in jobs if jobs[job].spec.array is None and job in board.jobs],
        )
        if what.other % 3 == 0 and live:
            job = live[what.number % len(live)]
            board.jobs[job] = replace(board.jobs[job], attempt=board.jobs[job].attempt + 1)
        elif what.other % 3 == 1:
            board.queues["lab"] = replace(board.queues["lab"], pending=board.queues["lab"].pending + 1)
        else:
            board.nodes[node] = replace(board.nodes[node], tasks=board.nodes[node].tasks + 1)
        self.spoilt += 1
        self.controller.look_at_itself()
        after = dict(self.controller.audited.found)[Between.BOARD]
        checks.demand(holds=after > before, text=f"what was smeared was not noticed: {what}")

    def _wrong(self) -> int:
        found = dict(self.controller.audited.found)
        return found[Between.BOOKS] + found[Between.STORE] + found[Between.BOARD]

    # --- afterwards ----------------------------------------------------------------------------

    def _look_back(self) -> None:
        checks.demand(holds=self.wrong == self.spoilt, text=f"{self.wrong} wrong books, {self.spoilt} were spoilt")
        found = [entry.record for entry in self.journal.read()]
        self._count_work(found)
        rebuilt = checks.records(found, self.weather.policy, self.seed)
        checks.once(self.room.launched)
        checks.ended(self.controller.world, self.room, self.accepted)
        checks.same(self.controller.world, rebuilt)
        checks.demand(
            holds=self.accepted == {spec.idempotency_key for _, spec in self.weather.jobs},
            text="some jobs were never accepted",
        )

    def _count_work(self, found: list[Record]) -> None:
        """Count which kinds of work really ran."""
        specs = {record.job: record.spec for record in found if isinstance(record, Submitted)}
        for record in found:
            if isinstance(record, Started):
                spec = specs[record.job]
                self.happened["gang"] += len(record.grants) > 1
                self.happened["array"] += spec.index is not None
                self.happened["workflow"] += spec.name.startswith(f"{FLOW}.")
                self.happened["tick"] += spec.name.startswith(f"{SCHEDULE}@")
                self.happened["retry"] += record.attempt > 1


def live(seed: int, journal: Journal, fate: Fate, most_jobs: int = 12) -> Storm:
    """Live through a storm, and return what it was. BrokenError says what was not as it must be."""
    storm = Storm(seed, journal, fate, most_jobs)
    storm.live()
    return storm
