"""A controller over invented nodes: who holds devices that do nothing is warned of, noticed, listed, and gives way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.control import Controller
from clearway.engines.fake import FakeEngine, Life, ManualClock, Room
from clearway.loop.world import World
from clearway.model.asks import SetPolicy, Submit
from clearway.model.events import TaskRef
from clearway.model.fleet import PolicySpec
from clearway.model.ids import JobId
from clearway.model.states import State
from clearway.model.values import SECOND_US
from clearway.observe.noticing import Notice, Noticing
from clearway.observe.rules import Rules
from clearway.store.memory import MemoryJournal
from clearway.testing.builders import job, node

if TYPE_CHECKING:
    from clearway.ports.observer import Heard

POLICY = PolicySpec(idle_warn_us=600 * SECOND_US, idle_release_us=3600 * SECOND_US)


class Both:
    """Hears for both."""

    def __init__(self, *watchers: Any) -> None:
        self._watchers = watchers

    def begin(self) -> None:
        for one in self._watchers:
            one.begin()

    def hear(self, turn: Heard) -> None:
        for one in self._watchers:
            one.hear(turn)


def test_from_the_warning_to_the_place_that_is_given_up() -> None:
    clock, journal = ManualClock(), MemoryJournal()
    room = Room([node(gpus=2)], clock, lambda _: Life())
    notices: list[Notice] = []
    lines: list[dict[str, Any]] = []
    rules = Rules()
    rules.tell = lines.append
    noticing = Noticing("seed", journal, notices.append, None, lambda _: None)
    controller = Controller(World(POLICY), clock, FakeEngine(room), journal, observer=Both(noticing, rules))
    noticing.controller = controller
    controller.take_over()

    def pass_to(second: int, *asks: Any) -> None:
        clock.move_to(second * SECOND_US)
        controller.turn([*controller.reports(), *asks])
        while found := controller.reports():
            controller.turn(found)

    pass_to(0, SetPolicy(POLICY), Submit((job("notebook", gpus=2, user="ada"), job("train", gpus=1))))
    pass_to(1)
    notebook = controller.board.jobs[JobId(1)]
    assert notebook.state is State.RUNNING
    room.idle(TaskRef(JobId(1), 1, 0, 0))
    pass_to(60)
    assert controller.board.jobs[JobId(1)].idle_since_us == 60 * SECOND_US
    pass_to(660)
    [warning] = [one for one in notices if one.kind == "idle"]
    assert warning.job is not None
    assert (warning.job.name, warning.job.user) == ("notebook", "ada")
    assert warning.text == "all its devices have done nothing since 1970-01-01T00:01:00Z"
    pass_to(3660)
    notebook = controller.board.jobs[JobId(1)]
    assert (notebook.state, notebook.held_by, notebook.idle_since_us) == (State.PENDING, "the idle rule", None)
    assert controller.board.jobs[JobId(2)].state is State.RUNNING
    [stopped] = [one for one in notices if one.kind == "preempted"]
    assert "its devices did nothing for 1 h, and others wait for them" in stopped.text
    [line] = lines
    assert (line["who"], line["method"], line["about"]["job"]) == ("the idle rule", "STOP", 1)
