"""The live driver. One thread waits, steps the world, commits, and only then tells the engine.

A turn takes everything that has queued up:

    step = world.step(inputs, now)      the world has applied the records
    journal.append(step.records)        once; from here on it is true
    board.fold; engine.carry_out; answers; engine.acknowledge

Where the journal cannot be written, the world is ahead of the truth by exactly one step. The controller then keeps
that step and tries the same records again and again; until they are written it takes no further step, tells the
engine nothing and refuses asks. (The other way, to build the world anew from the journal, would lose the engine's
reports in that step, and take as long as a start.) If it dies meanwhile, the step never happened: the engine was told
nothing of it, and reports again what was not acknowledged.

A defect in the world stops the controller: half an applied step must not be built upon.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from clearway.control import snapshots
from clearway.control.audit import Audit
from clearway.control.board import Board
from clearway.control.board_audit import mend
from clearway.control.inbox import Inbox, answer
from clearway.control.points import Points
from clearway.control.teller import RETRY_S, Teller
from clearway.control.upkeep import Upkeep
from clearway.loop.forecast_state import MOST_RUNS
from clearway.model.asks import Ask, ControllerUp, SetClock
from clearway.model.errors import (
    ClearwayError,
    ConflictError,
    ControllerError,
    DeposedError,
    EngineError,
    InputError,
    StoreError,
)
from clearway.ports.engine import TaskIsGone
from clearway.ports.observer import Heard

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from clearway.control.audit import Audited
    from clearway.control.inbox import Letter
    from clearway.loop.world import Step, World
    from clearway.ports.clock import Clock
    from clearway.ports.engine import Engine, Measured, Report
    from clearway.ports.journal import Journal
    from clearway.ports.observer import Observer
    from clearway.ports.sampler import Sampler

LOG = logging.getLogger("clearway.control")
MICROS = 1_000_000
STUCK_FIRST_S = 0.1
"""First delay before a journal that cannot be written is tried again; doubles up to STUCK_LAST_S."""
STUCK_LAST_S = 5.0
LONGEST_WAIT_S = 10.0
"""Longest wait without a look around: by then it is known that somebody has set the wall clock."""
WALL_STEP_US = MICROS // 4
"""A wall clock that is so far from where it was expected has been set, or has drifted; schedules are told."""
AUDIT_EVERY_US = 60 * MICROS
"""So often the books are compared with their grants, with the journal and with what the engine has."""


class Health(msgspec.Struct, frozen=True):
    """How a controller fares. `state`: starting, up, stuck (the journal cannot be written), stopped or failed."""

    state: str
    text: str = ""


class _Owed(NamedTuple):
    """A step that the world has taken and the journal has not."""

    step: Step
    inputs: Sequence[Ask | Report]
    took_ns: int


class Controller:
    """Drives one world. `start` and `stop` from anywhere, `ask` from any thread; `board` shows what is so.

    `first` is asked in the very turn in which it takes over, before anything is decided: what the settings say.
    `observer` is told of every turn that is in the journal. `on_end` is called in the loop's thread when the loop has
    ended, with what ended it (None: `stop`). `wall_us` reads the wall clock, by which schedules tick; without it they
    go by `clock`.
    """

    def __init__(  # noqa: PLR0913  the parts it is made of
        self,
        world: World,
        clock: Clock,
        engine: Engine,
        journal: Journal,
        *,
        board: Board | None = None,
        first: Sequence[Ask] = (),
        upkeep: Upkeep | None = None,
        on_end: Callable[[BaseException | None], None] | None = None,
        sampler: Sampler | None = None,
        observer: Observer | None = None,
        wall_us: Callable[[], int] | None = None,
    ) -> None:
        self.world, self.board = world, board or Board()
        self._clock, self._engine, self._journal = clock, engine, journal
        self._teller = Teller(engine, clock)
        self._upkeep = upkeep or Upkeep(journal)
        self.points = Points(sampler, self.ask)
        self._first, self._wall_us = tuple(first), wall_us
        self._on_end, self._observer = on_end, observer
        self._inbox = Inbox(self._wake)
        self._unanswered: Sequence[Letter] = ()
        self._reports: list[Report] = []
        self._owed: _Owed | None = None
        self._stuck_s = STUCK_FIRST_S
        self.next_us: int | None = None
        self._audit, self._audited_us = Audit(journal), 0
        self._health = Health("starting")
        self._called, self._stopping, self._ready = threading.Event(), threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    # --- from any thread -----------------------------------------------------------------------

    def ask(self, ask: Ask) -> Future[object]:
        """Ask for something. The future holds the answer once it is in the journal, or raises a ClearwayError.

        StoreError: the journal cannot be written. ControllerError: it has stopped. Others: the ask was refused.
        """
        return self._inbox.put(ask)

    def now_us(self) -> int:
        """Return what its clock says."""
        return self._clock.now_us()

    def health(self) -> Health:
        """Return how it fares, in a word and a sentence."""
        now = self._health
        return Health(now.state, self._teller.trouble) if now.state == "up" else now

    @property
    def measured(self) -> Measured:
        """What tasks and devices really use now, as far as the engine measures it."""
        return self._engine.measured

    def start(self) -> None:
        """Run the loop in a thread of its own. Returns when it has taken over; raises what kept it from that."""
        self._thread = threading.Thread(target=self._run_in_thread, name="clearway-controller", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            self.wait()

    def stop(self) -> None:
        """End the loop after the turn it is in. Does not wait for it; tasks go on."""
        self._stopping.set()
        self._inbox.ring()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end of the loop's thread, and say whether it has ended. Raises what ended it, if not `stop`."""
        if self._thread is not None:
            self._thread.join(timeout_s)
            if self._thread.is_alive():
                return False
        if isinstance(self._failure, ClearwayError):
            raise self._failure
        if self._failure is not None:
            raise ControllerError(f"the controller failed: {self._failure!r}") from self._failure
        return True

    # --- the loop ------------------------------------------------------------------------------

    def run(self) -> None:
        """Take over, and run until `stop`, in this thread. Raises what else ends it."""
        try:
            self.take_over()
            self._ready.set()
            while not self._stopping.is_set():
                self._go_round()
            self._close(Health("stopped", "the controller was stopped"))
            if self._owed is None:
                self._upkeep.end(self.world, self.board)
        except BaseException as error:
            self._failure = error
            if isinstance(error, InputError | ConflictError | StoreError | EngineError):
                LOG.critical("the controller stops: %s", error)  # the sentence says all
            else:
                LOG.critical("the controller has failed and stops", exc_info=error)
            self._close(Health("failed", f"the controller has failed: {error!r}"))
            raise
        finally:
            self._ready.set()
            if self._on_end is not None:
                self._on_end(self._failure)

    def take_over(self) -> Step:
        """Rebuild the world from the journal, attach to the engine, and take the first turn with what is there."""
        self._rebuild()
        there = self._engine.open()
        self._health, self._audited_us = Health("up"), self._clock.now_us()  # what is there is a look in itself
        # Ends before nodes: a node that no longer runs a task says that nobody saw its end.
        found: list[Ask | Report] = [*self._wall(), ControllerUp(), *there.gone, *there.nodes]
        step = self._decide([*found, *self._first])
        for said in step.answers[len(found) :]:
            if isinstance(said, ClearwayError):
                raise said  # nothing of this turn is written or told
        self.settle()
        return step

    def _rebuild(self) -> None:
        """Know what the newest snapshot and the records after it say."""
        with snapshots.without_collecting():
            begin, number = snapshots.newest(self._journal), 0
            if begin is not None:
                begin.world.forecasting = self.world.forecasting
                self.world, number = begin.world, begin.number
                self.board.put_back(begin.board)
            self._upkeep.begin(number)
            for entry in self._journal.read(number):
                self.world.apply(entry.record)
                self.board.fold((entry.record,))
            if self.world.forecasting is not None:
                self.world.forecasting.learn(self.world.state, MOST_RUNS)
        if self._observer is not None:
            self._observer.begin()

    def turn(self, inputs: Sequence[Ask | Report]) -> Step:
        """Take one turn: step, commit, carry out.

        Where the journal cannot be written the step is owed: `health` says so, and `settle` must succeed before the
        next turn.
        """
        step = self._decide(inputs)
        self.settle()
        return step

    def settle(self) -> bool:
        """Write what is owed, and do what follows from it. False: it is still owed."""
        owed = self._owed
        if owed is None:
            return True
        began_ns = time.perf_counter_ns()
        try:
            last = self._journal.append(owed.step.records)
        except DeposedError:
            raise  # another one has the truth now: what this one has decided since never happened
        except StoreError as error:
            self._be_stuck(error)
            return False
        self._owed = None
        took_ns = time.perf_counter_ns() - began_ns
        self._be_free()
        self.board.fold(owed.step.records)
        self._teller.tell(owed.step.actions, [i.task for i in owed.inputs if isinstance(i, TaskIsGone)])
        self.points.want(owed.step.draws)
        self._answer(owed.step.answers)
        if self._observer is not None:
            self._observer.hear(Heard(owed.step.records, last, owed.took_ns // 1000, took_ns // 1000))
        self._upkeep.look(self.world, self.board)
        return True

    def look_at_itself(self) -> None:
        """Compare the books with their grants, the journal and the board, and have the engine say what it has.

        Where the books are wrong they are built anew from the journal, which is the truth, and the board is put right
        by them. LedgerError where the journal leads to none that add up.
        """
        self._audited_us = self._clock.now_us()
        found = self._audit.look(self.world)
        self._audit.count(found, self._audited_us)
        if found:
            forecasting, progressing = self.world.forecasting, self.world.progressing
            self.world = self._audit.repaired(self.world)
            self.world.forecasting, self.world.progressing = forecasting, progressing
            LOG.warning("the books were built anew from the journal")
            self.turn(())
        self._audit.count(mend(self.board, self.world), self._audited_us)
        self._teller.look()

    def reports(self) -> list[Report]:
        """Return what the engine reports; one that failed is told first what it missed."""
        return self._teller.reports()

    @property
    def engine_again_us(self) -> int | None:
        """When an engine that failed as a whole is tried again, None while it works."""
        return self._teller.next_us

    @property
    def owed(self) -> tuple[int, int | None]:
        """How many records are decided and not written, and since when; from any thread."""
        owed = self._owed
        if owed is None or not owed.step.records:
            return 0, None
        return len(owed.step.records), owed.step.records[0].at_us

    @property
    def trouble(self) -> str:
        """Why the engine fails as a whole, "" while it works."""
        return self._teller.trouble

    @property
    def audited(self) -> Audited:
        """What it has found when it looked at itself."""
        return self._audit.told

    # --- inside --------------------------------------------------------------------------------

    def _go_round(self) -> None:
        if self._owed is not None:
            self._stay_stuck()
            return
        self._rest(self._pause_s())
        reports, self._reports = [*self._reports, *self._teller.reports()], []
        self._unanswered = self._inbox.take()
        inputs = [*self._wall(), *reports, *(letter.ask for letter in self._unanswered)]
        now_us = self._clock.now_us()
        if inputs or (self.next_us is not None and now_us >= self.next_us):
            self.turn(inputs)
        if self._owed is None and now_us - self._audited_us >= AUDIT_EVERY_US:
            self.look_at_itself()

    def _stay_stuck(self) -> None:
        # The engine is listened to all the while: one that hears nothing from us could take its nodes for lost.
        end_s = time.monotonic() + self._stuck_s
        while not self._stopping.is_set() and (left_s := end_s - time.monotonic()) > 0:
            self._rest(left_s)
            self._reports += self._teller.reports()
        self._stuck_s = min(2 * self._stuck_s, STUCK_LAST_S)
        self.settle()

    def _wall(self) -> list[Ask]:
        """Return what tells schedules of a wall clock that was set: ticks are moments of it."""
        if self._wall_us is None:
            return []
        ahead_us = self._wall_us() - self._clock.now_us()
        known_us = self.world.state.flows.schedules.offset_us
        return [SetClock(ahead_us)] if abs(ahead_us - known_us) >= WALL_STEP_US else []

    def _pause_s(self) -> float:
        if self._inbox or self._reports:
            return 0.0
        if self.next_us is None:
            return LONGEST_WAIT_S
        return min(LONGEST_WAIT_S, (self.next_us - self._clock.now_us()) / MICROS)

    def _rest(self, wait_s: float) -> None:
        if wait_s <= 0:
            return
        if self._teller.failure:
            self._called.wait(min(wait_s, RETRY_S))
            self._called.clear()
        else:
            self._teller.wait(wait_s)

    def _wake(self) -> None:
        self._called.set()
        self._engine.wake()

    def _decide(self, inputs: Sequence[Ask | Report]) -> Step:
        if self._owed is not None:
            raise ControllerError("a step is owed to the journal; no turn before it is written")
        began_ns = time.perf_counter_ns()
        step = self.world.step(inputs, self._clock.now_us())
        self._owed = _Owed(step, inputs, time.perf_counter_ns() - began_ns)
        self._audit.count(step.found, self.world.now_us)
        self.next_us = step.next_us
        return step

    def _answer(self, answers: Sequence[object]) -> None:
        letters, self._unanswered = self._unanswered, ()
        answer(letters, answers[len(answers) - len(letters) :])

    def _be_stuck(self, error: StoreError) -> None:
        if self._health.state != "stuck":
            LOG.error("%s; it is tried again until it can be", error)
        self._health = Health("stuck", str(error))
        holds = "what was asked is decided, and holds as soon as the journal can be written: look before asking again"
        decided = StoreError(f"{error}; {holds}")
        self._answer([decided] * len(self._unanswered))
        self._inbox.shut(StoreError(f"{error}; nothing was accepted"))

    def _be_free(self) -> None:
        if self._health.state == "stuck":
            LOG.warning("the journal can be written again; nothing was lost")
            self._health = Health("up")
            self._stuck_s = STUCK_FIRST_S
            self._inbox.reopen()

    def _close(self, health: Health) -> None:
        self._health = health
        refusal = ControllerError(f"{health.text}; nothing was accepted")
        self._answer([refusal] * len(self._unanswered))
        self._inbox.close(refusal)

    def _run_in_thread(self) -> None:
        try:
            self.run()
        except BaseException:  # noqa: BLE001  logged, and raised by `wait`
            return
