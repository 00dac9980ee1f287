"""A worker: pulls calls, runs one after the other, and says how they ended.

Three threads share a hand of calls: the main one runs them, one asks for more, one reports. What is done is reported in
batches, at the latest some milliseconds after it was done; calls behind one that takes long are given back. While the
call that runs waits for others, the next ones run beside it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from clearway.calls import wire
from clearway.model.errors import ClearwayError, ControllerError, InputError
from clearway.sdk.tasks.reach import POOL, reach
from clearway.sdk.tasks.waits import WAITS
from clearway.sdk.worker.beside import MOST, Lane, Work
from clearway.sdk.worker.running import Runs
from clearway.sdk.worker.stale import Stale
from clearway.sdk.worker.telling import fit
from clearway.sdk.worker.threads import thread

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from clearway.sdk.transport import Line
    from clearway.sdk.worker.beside import Said

ROOM = 512
LINGER_S = 0.01
"""So long results may wait for others to go with them, while there is more to do."""
ACTOR = "CLEARWAY_ACTOR"
LONG_S = 0.2
"""A call that takes longer than this keeps no others waiting behind it."""
WAIT_MS = 25_000
AGAIN_S = (0.05, 0.1, 0.25, 0.5, 1.0)
REPORT_BYTES = 4 << 20
"""So many bytes of results go into one report, or one result: what a controller takes at once has a limit."""
ITEM_BYTES = 64
"""What an item of a generator takes at least, on its way."""
REFUSED = "CallError"
ENOUGH_S = 3.0
"""So long a worker that has to go tries to say so."""
WAITS_S = 0.02
"""A call that waits for others for so long lets the next one run beside it."""
NO_LANE_S = 1.0
"""Where no process can be started for that, it is tried again after so long."""
BESIDE_ROOM = 32
ALONE_S = 10.0
"""A worker that has nothing to do and hears of no controller leaves after so long .."""
ACTOR_ALONE_S = 600.0
""".. and an actor, unless it is detached, after so long: its program would find it no more."""
DETACHED = "detached"


class Worker:
    """One worker process."""

    def __init__(self) -> None:
        env = os.environ
        self._pool, self._job, self._attempt = int(env[POOL]), int(env["CLEARWAY_JOB"]), int(env["CLEARWAY_ATTEMPT"])
        self._home, self._actor = env.get("CLEARWAY_HOME", ""), env.get(ACTOR, "")
        self._change = threading.Condition()
        self._hand: deque[wire.Given] = deque()
        self._done: list[wire.Done] = []
        self._done_since = 0.0
        self._back: list[tuple[int, int]] = []
        self._current: wire.Given | None = None
        self._began = 0.0
        self._unreported: list[tuple[int, int]] = []
        self._leaving, self._asleep, self._serial = False, False, 0
        self._say_all = False
        """Whether to say next what it holds."""
        self._runs = Runs(self._yields)
        self._items: list[wire.Items] = []
        self._items_bytes, self._items_since = 0, 0.0
        self._stale = Stale()
        self._lanes: list[Lane] = []
        self._lost: list[tuple[int, int]] = []
        self._waits_since: float | None = None
        self._told_room, self._heard = ROOM, time.monotonic()
        self._helper: threading.Thread | None = None

    def work(self) -> int:
        """Work until told to leave."""
        signal.signal(signal.SIGTERM, self._asked_to_stop)
        thread(self._listen, "listen").start()
        speaker = thread(self._speak, "speak")
        speaker.start()
        if not self._actor:
            WAITS.tell = self._waits
        while (given := self._next()) is not None:
            self._run(given)
        speaker.join()
        return 0

    def _asked_to_stop(self, _number: int, _frame: FrameType | None) -> None:
        threading.Thread(target=self._leave, daemon=True).start()  # the main thread may hold the lock right now

    def _leave(self) -> None:
        with self._change:
            self._give_back()
            self._leaving = True
            self._change.notify_all()

    # --- the main thread -----------------------------------------------------------------------

    def _next(self) -> wire.Given | None:
        with self._change:
            while not self._hand:
                if self._leaving:
                    return None
                self._change.wait()
            self._current, self._began = self._hand.popleft(), time.monotonic()
            if self._asleep:
                self._change.notify_all()
            return self._current

    def _run(self, given: wire.Given) -> None:
        done = self._runs.run(given)
        with self._change:
            self._current, self._waits_since = None, None
            self._is_done(done)
            for lane in [lane for lane in self._lanes if lane.given is None]:
                lane.end()

    def _is_done(self, done: wire.Done) -> None:
        if not self._done:
            self._done_since = time.monotonic()
        self._done.append(done)
        if not self._hand or len(self._done) == 1:
            self._change.notify_all()

    def _yields(self, items: wire.Items) -> None:
        """Take in what a call yields. Waits where more is on its way than one report takes."""
        with self._change:
            while self._items_bytes > REPORT_BYTES:
                self._change.wait()
            last = self._items[-1] if self._items else None
            if last is not None and (last.call, last.first + len(last.values)) == (items.call, items.first):
                last.values.extend(items.values)
            else:
                self._items.append(items)
            self._items_bytes += sum(map(len, items.values)) + ITEM_BYTES
            if len(self._items) == 1 and len(self._items[0].values) == 1:
                self._items_since = time.monotonic()
                self._change.notify_all()

    # --- beside it -----------------------------------------------------------------------------

    def _waits(self, waits: bool) -> None:  # noqa: FBT001  a callback
        """Hear that the call that runs begins to wait for others, or ends that."""
        with self._change:
            if self._current is None:
                return
            self._waits_since = time.monotonic() if waits else None
            if waits and self._helper is None:
                self._helper = thread(self._help, "help")
                self._helper.start()
            self._change.notify_all()

    def _help(self) -> None:
        """Have the next calls run beside the one that waits."""
        while True:
            with self._change:
                while not (self._hand and self._idles()):
                    self._change.wait(self._until_idle_s())
                given = self._hand.popleft()
                lane = next((lane for lane in self._lanes if lane.given is None and not lane.over), None)
                if lane is None:
                    lane = self._new_lane()
                if lane is None:
                    self._back.append((given.call, given.attempt))
                    self._change.notify_all()
                    continue
                lane.begin(Work(given, *self._runs.told(given)))
                self._change.notify_all()

    def _new_lane(self) -> Lane | None:
        """Start a process; None where that cannot be now, such as for lack of descriptors. It is tried again later."""
        try:
            lane = Lane(self._said)
        except OSError as error:
            sys.stderr.write(f"clearway: no process for the next call can be started now: {error}\n")
            self._waits_since = time.monotonic() + NO_LANE_S
            return None
        self._lanes.append(lane)
        return lane

    def _idles(self) -> bool:
        """Whether the call that runs, and all beside it, wait for others."""
        since = self._waits_since
        if self._current is None or since is None or time.monotonic() < since + WAITS_S:
            return False
        return not any(lane.active for lane in self._lanes) and len(self._lanes) < MOST

    def _until_idle_s(self) -> float | None:
        since = self._waits_since
        return None if since is None or self._idles() else max(0.001, since + WAITS_S - time.monotonic())

    def _said(self, lane: Lane, said: Said | None) -> None:
        with self._change:
            if said is not None and said.items is not None:
                if lane.given is not None:
                    self._yields(said.items)
            elif said is None:
                self._lanes.remove(lane)
                if lane.given is not None:
                    self._lost.append((lane.given.call, lane.given.attempt))
            elif said.waits is not None:
                lane.waits = said.waits
            elif said.done is not None and lane.given is not None:
                lane.given, lane.waits = None, False
                self._is_done(said.done)
                if self._current is None:
                    lane.end()
            self._change.notify_all()

    def _running(self) -> list[tuple[wire.Given, float, Lane | None]]:
        """Return the calls that run, with when each began, and where."""
        found: list[tuple[wire.Given, float, Lane | None]] = [
            (lane.given, lane.began, lane) for lane in self._lanes if lane.given is not None
        ]
        return found if self._current is None else [(self._current, self._began, None), *found]

    def _busy_since(self) -> float | None:
        """Return since when the call that computes has done so; None where none does."""
        if self._current is None or self._idles():
            return None
        return max([self._began, *(lane.began for lane in self._lanes if lane.active)])

    # --- asking for calls ----------------------------------------------------------------------

    def _listen(self) -> None:
        failures, line = 0, None
        while not self._leaving:
            try:
                if line is None:
                    line = reach(start=False).line()
                    self._say_all = True
                said = self._turn(holds=self._say_all)
                hand = msgspec.msgpack.decode(line.call("POST", "calls/turn", wire.encode(said)), type=wire.Hand)
                failures, self._say_all, self._heard = 0, hand.again, time.monotonic()
            except ControllerError:
                line = None
                self._leave_alone()
                if self._home and not os.path.isdir(self._home):  # noqa: PTH112  pathlib costs memory
                    os._exit(0)  # its controller's home was removed: nobody will ever ask for what it has
                time.sleep(AGAIN_S[min(failures, len(AGAIN_S) - 1)])
                failures += 1
            except ClearwayError as error:
                sys.stderr.write(f"clearway: {error}\n")
                time.sleep(AGAIN_S[-1])
            else:
                self._take(hand)

    def _leave_alone(self) -> None:
        """Leave where nobody has asked for so long, and there is nothing to tell of."""
        if self._actor == DETACHED or time.monotonic() < self._heard + (ACTOR_ALONE_S if self._actor else ALONE_S):
            return
        with self._change:
            if not (self._hand or self._running() or self._untold()):
                self._leaving = True
                self._change.notify_all()

    def _untold(self) -> bool:
        return any((self._done, self._back, self._lost, self._items, self._unreported))

    def _turn(self, *, holds: bool) -> wire.Turn:
        with self._change:
            held = [(given.call, given.attempt) for given in self._hand] if holds else None
            if held is not None:
                held += [(done.call, done.attempt) for done in self._done] + self._unreported
                held += self._lost + [(given.call, given.attempt) for given, *_ in self._running()]
            self._serial += 1
            self._told_room = self._room()
            return wire.Turn(self._pool, self._job, self._attempt, self._told_room, self._serial, WAIT_MS, held)

    def _room(self) -> int:
        if self._hand or self._leaving:
            return 0
        since = self._busy_since()
        if since is None:
            return ROOM if self._current is None else BESIDE_ROOM
        return 0 if time.monotonic() - since > LONG_S else ROOM

    def _take(self, hand: wire.Hand) -> None:
        self._runs.learn(hand)
        with self._change:
            if hand.stop:
                self._stop(set(hand.stop))  # before what is handed over anew
            if hand.calls and (self._leaving or (not self._actor and self._stale.found())):
                self._back += [(given.call, given.attempt) for given in hand.calls]
                self._leaving = True
            else:
                known = [given for given in hand.calls if self._runs.knows(given)]
                self._hand.extend(known)
                if len(known) < len(hand.calls):  # it takes us to know more than we do: we say all that we have
                    self._back += [(one.call, one.attempt) for one in hand.calls if not self._runs.knows(one)]
                    self._say_all = True
            if hand.leave:
                self._give_back()
                self._leaving = True
            self._change.notify_all()

    def _stop(self, calls: set[int]) -> None:
        """Drop calls that were cancelled. One that runs is ended with its process; that of an actor is interrupted."""
        self._hand = deque(given for given in self._hand if given.call not in calls)
        for given, _, lane in self._running():
            if given.call not in calls:
                continue
            if lane is not None:
                lane.given = None
                lane.end()
            elif self._actor:
                self._runs.interrupt(given.call)
            else:
                self._give_back()
                self._end_here()

    def _give_back(self) -> None:
        self._back += [(given.call, given.attempt) for given in self._hand]
        self._hand.clear()

    def _end_here(self) -> None:
        """End this process in the middle of a call, when all else is said."""
        self._leaving, self._current = True, None
        for lane in self._lanes:
            if lane.given is not None:
                self._back.append((lane.given.call, lane.given.attempt))
                lane.given = None
            lane.end()
        threading.Thread(target=self._last_words, daemon=True).start()

    def _last_words(self) -> None:
        end = time.monotonic() + ENOUGH_S
        with self._change:
            while self._untold() and time.monotonic() < end:
                self._change.notify_all()
                self._change.wait(0.05)
        os._exit(1 if self._actor else 0)  # an actor is started again by its job's rule

    # --- reporting -----------------------------------------------------------------------------

    def _speak(self) -> None:
        line = None
        while True:
            with self._change:
                while (pause_s := self._silence_s()) != 0.0:
                    self._asleep = pause_s is None
                    self._change.wait(pause_s)
                self._asleep = False
                if self._leaving and not (self._done or self._back or self._lost or self._items or self._running()):
                    return  # all is said
                done = self._some_done()
                (back, self._back), (lost, self._lost) = (self._back, []), (self._lost, [])
                items, self._items, self._items_bytes = self._items, [], 0
                self._unreported = [(one.call, one.attempt) for one in done] + lost
                self._change.notify_all()
            line = self._report(line, _News(done, back, lost, items))
            with self._change:
                self._unreported = []
                self._change.notify_all()

    def _some_done(self) -> list[wire.Done]:
        """Take what is done, as much as goes into one report."""
        size = count = 0
        while count < len(self._done) and (not count or size + len(self._done[count].value) <= REPORT_BYTES):
            size += len(self._done[count].value)
            count += 1
        done, self._done = self._done[:count], self._done[count:]
        return done

    def _report(self, line: Line | None, news: _News) -> Line | None:
        """Say it until it is heard. What is refused is said in parts, and of one call instead why it cannot be said."""
        failures = 0
        while True:
            with self._change:
                self._serial += 1
                self._told_room = self._room()
                place = self._pool, self._job, self._attempt, self._told_room, self._serial
                said = wire.Report(*place, list(news.done), list(news.back), list(news.lost), list(news.items))
            try:
                line = line or reach(start=False).line()
                line.call("POST", "calls/report", wire.encode(said))
            except ControllerError:
                line = None
                time.sleep(AGAIN_S[min(failures, len(AGAIN_S) - 1)])
                failures += 1
            except (InputError, UnicodeError) as error:
                if news.alone is None:
                    for part in news.parts():
                        line = self._report(line, part)
                    return line
                if news.done and news.alone != REFUSED:
                    news = _News([_refused(news.done[0], error)])
                else:
                    _complain(error)
                    return line
            except ClearwayError as error:
                _complain(error)
            else:
                return line

    def _silence_s(self) -> float | None:
        """How long there is nothing to say; None: until something changes, 0: not at all."""
        now = time.monotonic()
        if self._back or self._lost or (self._leaving and not self._running()):
            return 0.0
        if self._idles() and not self._told_room and self._room():
            return 0.0  # it has room again
        waits: list[float] = []
        if self._items:
            waits.append(self._items_since + LINGER_S - now)
            if self._items_bytes > REPORT_BYTES:
                return 0.0
        if self._done:
            if not self._hand and self._current is None:
                return 0.0
            waits.append(self._done_since + LINGER_S - now)
        for given, began, lane in self._running():
            waits.append(LONG_S)  # the next call begins without a word
            limit_s = self._runs.limit_s(given)
            if limit_s is not None:
                waits.append(began + limit_s - now)
                if waits[-1] <= 0:
                    self._time_out(given, limit_s, lane)
                    return 0.0
        since = self._busy_since()
        if since is not None and self._hand and not self._actor:  # nobody else could run those of an actor
            waits.append(since + LONG_S - now)
            if waits[-1] <= 0:
                self._give_back()
                return 0.0
        if (idle_s := self._until_idle_s()) is not None:
            waits.append(idle_s)
        return max(0.0, min(waits)) if waits else None

    def _time_out(self, given: wire.Given, limit_s: float, lane: Lane | None) -> None:
        told = f"it took longer than its time limit of {limit_s:g} s"
        problem = wire.Problem(["timed_out"], told, self._runs.stack() if lane is None else "")
        self._done.append(wire.Done(given.call, given.attempt, b"", problem, round(limit_s * 1e6)))
        if lane is not None:
            lane.given = None
            lane.end()
            return
        self._give_back()
        self._end_here()


class _News(NamedTuple):
    """What is said in one report."""

    done: Sequence[wire.Done] = ()
    back: Sequence[tuple[int, int]] = ()
    lost: Sequence[tuple[int, int]] = ()
    items: Sequence[wire.Items] = ()

    @property
    def alone(self) -> str | None:
        """Whether it is one thing: how one call ended, by the name of its problem, or anything else; None: more."""
        if len(self.done) == 1 and not (self.back or self.lost or self.items):
            problem = self.done[0].problem
            return "" if problem is None else problem.types[0]
        return None if self.done or sum(map(bool, self)) > 1 or len(self.items) > 1 else ""

    def parts(self) -> list[_News]:
        """Return it in parts, in an order in which it can be said."""
        items = [_News(items=[one]) for one in self.items]
        rest = [_News(back=self.back), _News(lost=self.lost)]
        return [*items, *(one for one in rest if any(one)), *(_News([one]) for one in self.done)]


def _refused(done: wire.Done, error: Exception) -> wire.Done:
    problem = wire.Problem([REFUSED], fit(f"how it ended cannot be told: {error}"))
    return wire.Done(done.call, done.attempt, b"", problem, done.took_us)


def _complain(error: Exception) -> None:
    sys.stderr.write(f"clearway: {error}\n")
    time.sleep(AGAIN_S[-1])


def main() -> int:
    """Work on calls until told to leave, and return the exit code."""
    code = Worker().work()
    last = threading.Timer(ENOUGH_S, os._exit, (code,))  # a thread that a call left behind keeps no place
    last.daemon = True
    last.start()
    return code
