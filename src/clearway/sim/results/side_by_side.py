"""Several policies at once, a process each. An interruption gives what has been found so far."""

from __future__ import annotations

import multiprocessing as mp
import signal
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, Self

from clearway.model.errors import ClearwayError
from clearway.sim.results.replay import Plan, replay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess
    from types import FrameType

    from clearway.sim.results.outcome import Outcome

LOOK_EVERY_S = 0.2


class Interrupt:
    """Within it, Ctrl-C is a wish to stop and no exception; a second Ctrl-C is one."""

    def __init__(self) -> None:
        """Nobody has asked yet."""
        self.asked = False
        self._before: Any = None

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._heard)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _heard(self, _number: int, _frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


def run_all(plans: Sequence[Plan], workers: int, told: Callable[[int, int], None]) -> list[Outcome]:
    """Run the plans, at most `workers` at once, and return their outcomes in order.

    `told` is given the number of a plan and its finished jobs. After Ctrl-C runs that have begun give what they have
    so far, and the others nothing. Errors: that of the first plan that fails.
    """
    with Interrupt() as interrupt:
        if workers == 1 or len(plans) == 1:
            return _in_turn(plans, interrupt, told)
        return _Pool(plans, workers, interrupt, told).run()


def _in_turn(plans: Sequence[Plan], interrupt: Interrupt, told: Callable[[int, int], None]) -> list[Outcome]:
    found: list[Outcome] = []
    for i, plan in enumerate(plans):
        if interrupt.asked:
            break

        def step(finished: int, i: int = i) -> bool:
            told(i, finished)
            return not interrupt.asked

        found.append(replay(plan, step))
        told(i, found[-1].figures["finished"])
    return found


class _Pool:
    """Starts a process a plan while there is room, and gathers what they tell."""

    def __init__(
        self, plans: Sequence[Plan], workers: int, interrupt: Interrupt, told: Callable[[int, int], None]
    ) -> None:
        self._waiting = list(enumerate(plans))
        self._workers = workers
        self._interrupt = interrupt
        self._told = told
        self._context = mp.get_context("spawn")
        self._running: dict[Connection, tuple[int, BaseProcess]] = {}
        self._found: dict[int, Outcome] = {}
        self._asked = False

    def run(self) -> list[Outcome]:
        """Return the outcomes in the order of the plans."""
        try:
            while self._running or (self._waiting and not self._interrupt.asked):
                self._fill()
                self._stop_if_asked()
                for pipe in wait(list(self._running), LOOK_EVERY_S):
                    self._hear(pipe)  # type: ignore[arg-type]  # `wait` gives back what it was given
        finally:
            for _, process in self._running.values():
                process.terminate()
        return [self._found[i] for i in sorted(self._found)]

    def _fill(self) -> None:
        while self._waiting and len(self._running) < self._workers and not self._interrupt.asked:
            i, plan = self._waiting.pop(0)
            ours, theirs = self._context.Pipe()
            process = self._context.Process(target=_work, args=(plan, theirs), daemon=True)
            with _deaf():
                process.start()
            theirs.close()
            self._running[ours] = (i, process)

    def _stop_if_asked(self) -> None:
        if self._interrupt.asked and not self._asked:
            self._asked = True
            for pipe in self._running:
                pipe.send("stop")

    def _hear(self, pipe: Connection) -> None:
        i, process = self._running[pipe]
        try:
            word, what = pipe.recv()
        except EOFError:
            process.join()
            raise ClearwayError(f"the process of a replay died with exit code {process.exitcode}") from None
        if word == "finished":
            self._told(i, what)
            return
        del self._running[pipe]
        process.join()
        if word == "failed":
            raise what
        self._found[i] = what
        self._told(i, what.figures["finished"])


@contextmanager
def _deaf() -> Iterator[None]:
    """Keep Ctrl-C from a process that is started within, for good; ours hears it afterwards.

    A terminal sends it to both, and it is the parent's to hear: it asks through the pipe.
    """
    resource_tracker.ensure_running()  # or the first start begins with that, and with lifting the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(plan: Plan, pipe: Connection) -> None:
    """Run in a process of its own."""

    def told(finished: int) -> bool:
        pipe.send(("finished", finished))
        return not pipe.poll()

    try:
        pipe.send(("outcome", replay(plan, told)))
    except ClearwayError as error:
        pipe.send(("failed", error))
