"""The behaviours that every engine must show. Derive a test class from `EngineSuite`, and pytest runs them all.

    class TestMyEngine(EngineSuite):
        def attach(self) -> Engine: ...          # a new instance for the same machines, as after a restart

What an engine of real processes runs are shell commands, given here. An engine that only pretends overrides
`exits`, `runs_on`, .., `starts` and sets `real` to False: behaviours that need processes to look at are skipped.
What an engine cannot have at all is said in `cannot`, with the reason, by the name of the method that would do it
(`lose_node`, `change_node`, `join_node`); one that says nothing has to give the method. An example that runs is in
docs/engines/own.md.
"""
# ruff: noqa: D102, PLR2004, S101  # a test's name says what holds, its numbers stand in the expectation, pytest reads asserts

from __future__ import annotations

import threading
import time

from clearway.model.actions import Halt, Launch, Pause
from clearway.model.events import Grant, TaskRef
from clearway.model.ids import JobId, NodeId
from clearway.ports.engine import NodeIsGone, NodeIsQuiet, NodeIsUp, TaskIsGone, TaskIsUp
from clearway.ports.optional import OPTIONAL
from clearway.testing.engine_place import PATIENCE_S, SECOND_US, Talk, how
from clearway.testing.engine_processes import ProcessSuite

JOB_THAT_IS_LOST = 50
"""What a node that is lost leaves of a task may lie there for a while: no other test has one of this number."""

__all__ = ["PATIENCE_S", "SECOND_US", "EngineSuite", "Talk", "how"]

PROMISES = {"gpus", "cpus", "memory", "disk", "user", "stop"}


class EngineSuite(ProcessSuite):
    """Behaviours of an engine."""

    def test_says_what_is_done_about_each_thing_that_a_job_asks_for(self, talk: Talk) -> None:
        said = talk.engine.enforced()
        assert said.keys() == PROMISES
        assert all(said.values())
        assert talk.engine.trouble == ""
        assert talk.engine.lacks.keys() <= OPTIONAL.keys()

    # --- starting and ending ---------------------------------------------------------------------

    def test_reports_start_and_end(self, talk: Talk) -> None:
        order = self.launch(self.exits(0))
        talk.tell(order)
        assert how(talk.gone(order.task)) == TaskIsGone(order.task, 0)
        assert talk.heard.index(TaskIsUp(order.task)) < talk.heard.index(talk.gone(order.task))

    def test_names_its_node(self, talk: Talk) -> None:
        assert [up.spec.name for up in talk.inventory.nodes] == [self.node]
        assert talk.inventory.nodes[0].running == ()

    def test_says_what_it_runs_when_asked(self, talk: Talk) -> None:
        order = self.launch(self.runs_on())
        talk.tell(order)
        talk.up(order.task)
        talk.engine.look()
        talk.until(lambda: any(isinstance(one, NodeIsUp) for one in talk.heard), "no node was reported")
        (said,) = [one for one in talk.heard if isinstance(one, NodeIsUp)]
        assert (said.spec.name, said.running) == (self.node, (order.task,))

    def test_keeps_the_exit_code(self, talk: Talk) -> None:
        orders = [self.launch(self.exits(code), job=code) for code in (1, 127, 143, 255)]
        talk.tell(*orders)
        for order in orders:
            assert how(talk.gone(order.task)) == TaskIsGone(order.task, order.task.job), "143 too is what a task said"

    def test_starts_once_however_often_it_is_told(self, talk: Talk) -> None:
        order = self.launch(self.runs_on())
        talk.tell(order, order)
        talk.up(order.task)
        talk.tell(order)
        self.settle(talk)
        assert self.starts(order.task) == 1
        assert talk.ends(order.task) == []

    def test_answers_a_launch_after_the_end_with_the_end(self, talk: Talk) -> None:
        order = self.launch(self.exits(3))
        talk.tell(order)
        talk.gone(order.task)
        talk.tell(order)
        assert how(talk.gone(order.task, times=2)) == TaskIsGone(order.task, 3)
        assert self.starts(order.task) == 1

    def test_starts_nothing_again_after_the_acknowledgement(self, talk: Talk) -> None:
        order = self.launch(self.exits(3))
        talk.tell(order)
        talk.gone(order.task)
        talk.engine.acknowledge([order.task])
        talk.tell(order)
        talk.gone(order.task, times=2)
        assert self.starts(order.task) == 1

    def test_takes_another_attempt_for_another_task(self, talk: Talk) -> None:
        first, second = self.launch(self.exits(1)), self.launch(self.exits(2), attempt=2)
        talk.tell(first)
        assert talk.gone(first.task).exit_code == 1
        talk.tell(second)
        assert talk.gone(second.task).exit_code == 2

    def test_says_why_a_command_cannot_start_and_goes_on(self, talk: Talk) -> None:
        broken, sound = self.launch(self.cannot_start()), self.launch(self.exits(0), job=2)
        talk.tell(broken, sound)
        report = talk.gone(broken.task)
        assert report.exit_code is None
        assert "no-such-command" in report.error
        assert talk.gone(sound.task).exit_code == 0

    def test_refuses_a_node_that_it_does_not_have(self, talk: Talk) -> None:
        task = TaskRef(JobId(1), 1, 0, 0)
        talk.tell(Launch(task, self.exits(0), Grant(0, 0, NodeId(7)), "elsewhere", 0, 1))
        assert "elsewhere" in talk.gone(task).error
        talk.tell(Halt(task, "elsewhere", "SIGTERM", 0))
        assert talk.gone(task, times=2).exit_code is None

    def test_refuses_devices_that_its_node_does_not_have(self, talk: Talk) -> None:
        order, sound = self.launch(self.exits(0), devices=(77,)), self.launch(self.exits(0), job=2)
        talk.tell(order, sound)
        assert "devices" in talk.gone(order.task).error
        assert talk.gone(sound.task).exit_code == 0
        assert self.starts(order.task) == 0

    def test_refuses_what_it_cannot_give_and_says_it(self, talk: Talk) -> None:
        order, sound = self.launch(self.refused()), self.launch(self.exits(0), job=2)
        talk.tell(order, sound)
        assert "no-such-thing" in talk.gone(order.task).error
        assert talk.gone(sound.task).exit_code == 0
        assert self.starts(order.task) == 0

    def test_runs_many_short_tasks_each_once(self, talk: Talk) -> None:
        orders = [self.launch(self.exits(job % 5), job=job) for job in range(1, 61)]
        talk.tell(*orders)
        for order in orders:
            assert talk.gone(order.task).exit_code == order.task.job % 5
            assert self.starts(order.task) == 1

    # --- stopping --------------------------------------------------------------------------------

    def test_stops_by_the_signal(self, talk: Talk) -> None:
        order = self.launch(self.runs_on())
        talk.tell(order)
        talk.up(order.task)
        talk.tell(self.halt(order.task, signal="SIGINT"))
        assert how(talk.gone(order.task)) == TaskIsGone(order.task, -2)

    def test_kills_what_does_not_stop_within_the_grace(self, talk: Talk) -> None:
        order = self.launch(self.stubborn())
        self.ready(talk, order)
        talk.tell(self.halt(order.task, grace_s=0.5))
        assert how(talk.gone(order.task)) == TaskIsGone(order.task, -9)

    def test_gives_the_whole_grace(self, talk: Talk) -> None:
        order = self.launch(self.lingers(0.7, code=5))
        self.ready(talk, order)
        talk.tell(self.halt(order.task, grace_s=PATIENCE_S))
        assert how(talk.gone(order.task)) == TaskIsGone(order.task, 5), "it needs a while, and ends in its own way"

    def test_a_halt_stops_its_own_task_alone(self, talk: Talk) -> None:
        """Nor another of the same attempt, nor one of another attempt."""
        one, beside = self.launch(self.runs_on(), of=2), self.launch(self.runs_on(), index=1, of=2)
        other = self.launch(self.runs_on(), attempt=2)
        talk.tell(one, beside, other)
        for order in (one, beside, other):
            talk.up(order.task)
        talk.tell(self.halt(one.task))
        assert talk.gone(one.task).exit_code == -15
        heard = len(talk.heard)
        talk.engine.look()
        talk.until(lambda: self._said(talk, heard) is not None, "no node was reported")
        said = self._said(talk, heard)
        assert said is not None
        assert set(said.running) == {beside.task, other.task}
        assert talk.ends(beside.task) == talk.ends(other.task) == []

    def test_a_second_halt_does_not_prolong_the_grace(self, talk: Talk) -> None:
        order = self.launch(self.stubborn())
        self.ready(talk, order)
        talk.tell(self.halt(order.task, grace_s=0.5), self.halt(order.task, grace_s=3600))
        assert talk.gone(order.task).exit_code == -9

    def test_a_second_halt_may_shorten_the_grace(self, talk: Talk) -> None:
        order = self.launch(self.stubborn())
        self.ready(talk, order)
        talk.tell(self.halt(order.task, grace_s=3600), self.halt(order.task, grace_s=0))
        assert talk.gone(order.task).exit_code == -9

    def test_answers_a_halt_of_something_unknown(self, talk: Talk) -> None:
        task = TaskRef(JobId(99), 1, 0, 0)
        talk.tell(self.halt(task))
        assert how(talk.gone(task)) == TaskIsGone(task)

    def test_a_launch_that_comes_after_its_halt_starts_nothing(self, talk: Talk) -> None:
        order = self.launch(self.exits(0))
        talk.tell(self.halt(order.task), order)
        talk.gone(order.task, times=2)
        self.settle(talk)
        assert self.starts(order.task) == 0

    def test_answers_a_halt_of_something_over_with_its_end(self, talk: Talk) -> None:
        order = self.launch(self.exits(3))
        talk.tell(order)
        talk.gone(order.task)
        talk.tell(self.halt(order.task))
        assert how(talk.gone(order.task, times=2)) == TaskIsGone(order.task, 3)

    def test_stands_still_and_goes_on(self, talk: Talk) -> None:
        order = self.launch(self.lasts(0.6))
        talk.tell(order)
        talk.up(order.task)
        talk.tell(Pause(order.task, self.node, paused=True))
        self.settle(talk, 1.2)
        assert talk.ends(order.task) == []
        talk.tell(Pause(order.task, self.node, paused=False))
        assert talk.gone(order.task).exit_code == 0

    def test_stops_what_stands_still(self, talk: Talk) -> None:
        order = self.launch(self.runs_on())
        talk.tell(order)
        talk.up(order.task)
        talk.tell(Pause(order.task, self.node, paused=True), self.halt(order.task))
        assert talk.gone(order.task).exit_code == -15

    # --- across a restart of the controller ------------------------------------------------------

    def test_a_new_instance_finds_what_runs(self, talk: Talk) -> None:
        order = self.launch(self.runs_on())
        talk.tell(order)
        talk.up(order.task)
        talk.until(lambda: self.starts(order.task) > 0, "it left no mark that it was started")
        new = self.again()
        assert new.inventory.nodes[0].running == (order.task,)
        new.tell(order, self.halt(order.task))
        assert new.gone(order.task).exit_code == -15
        assert self.starts(order.task) == 1

    def test_a_new_instance_hears_what_ended_meanwhile(self, talk: Talk) -> None:
        order = self.launch(self.exits(3))
        talk.tell(order)
        talk.gone(order.task)
        assert tuple(map(how, self.again().inventory.gone)) == (TaskIsGone(order.task, 3),)
        assert tuple(map(how, self.again().inventory.gone)) == (TaskIsGone(order.task, 3),)

    def test_an_acknowledged_end_is_not_told_to_a_new_instance(self, talk: Talk) -> None:
        orders = [self.launch(self.exits(3)), self.launch(self.exits(4), job=2)]
        talk.tell(*orders)
        for order in orders:
            talk.gone(order.task)
        talk.engine.acknowledge([orders[0].task])
        assert tuple(map(how, self.again().inventory.gone)) == (TaskIsGone(orders[1].task, 4),)

    def test_early_doubled_and_strange_acknowledgements_lose_nothing(self, talk: Talk) -> None:
        order = self.launch(self.runs_on())
        strange = TaskRef(JobId(98), 1, 0, 0)
        talk.tell(order)
        talk.up(order.task)
        talk.engine.acknowledge([order.task, strange, order.task])
        new = self.again()
        assert new.inventory.nodes[0].running == (order.task,)
        new.tell(self.halt(order.task))
        new.gone(order.task)
        new = self.again()
        assert tuple(map(how, new.inventory.gone)) == (TaskIsGone(order.task, -15),), "it was not over when it was said"
        new.engine.acknowledge([order.task])
        new.engine.acknowledge([order.task])
        assert self.again().inventory == talk.inventory

    def test_a_new_instance_starts_nothing_twice_that_was_just_told(self, talk: Talk) -> None:
        """The old one goes before it has heard anything; the new one is told the same."""
        order = self.launch(self.runs_on())
        talk.tell(order)
        new = self.again()
        new.tell(order)
        new.until(
            lambda: TaskIsUp(order.task) in new.heard or order.task in new.inventory.nodes[0].running, "it does not run"
        )
        new.until(lambda: self.starts(order.task) > 0, "it left no mark that it was started")
        new.tell(self.halt(order.task))
        new.gone(order.task)
        assert self.starts(order.task) == 1

    # --- reports that come late or twice ---------------------------------------------------------

    def test_no_report_of_running_follows_the_end(self, talk: Talk) -> None:
        order = self.launch(self.exits(0))
        talk.tell(order)
        talk.gone(order.task)
        before = len(talk.heard)
        talk.tell(order, order)
        talk.engine.look()
        talk.gone(order.task, times=2)
        talk.until(lambda: self._said(talk, before) is not None, "no node was reported")
        said = self._said(talk, before)
        assert said is not None
        assert order.task not in said.running
        assert TaskIsUp(order.task) not in talk.heard[before:]

    def test_each_halt_after_the_end_is_answered_alike(self, talk: Talk) -> None:
        order = self.launch(self.exits(3))
        talk.tell(order)
        talk.gone(order.task)
        talk.tell(self.halt(order.task), self.halt(order.task))
        talk.gone(order.task, times=3)
        assert set(map(how, talk.ends(order.task))) == {TaskIsGone(order.task, 3)}

    # --- nodes that go, come and change ----------------------------------------------------------

    def test_a_lost_node_is_told_and_its_tasks_are_gone_when_it_is_back(self, talk: Talk) -> None:
        self._needs("lose_node")
        order = self.launch(self.runs_on(), job=JOB_THAT_IS_LOST)
        talk.tell(order)
        talk.up(order.task)
        talk.until(lambda: self.starts(order.task) > 0, "it left no mark that it was started")
        self.lose_node()
        talk.until(lambda: any(isinstance(one, NodeIsQuiet) for one in talk.heard), "its silence was not told")
        assert talk.ends(order.task) == [], "nobody can know yet whether it goes on"
        silent = len(talk.heard)
        talk.engine.look()
        self.settle(talk, 3)
        assert self._said(talk, silent) is None, "it is silent, and was reported as up"
        assert talk.ends(order.task) == [], "it may have been cut off only, and its task may go on"
        self.bring_back()
        talk.until(lambda: self._said(talk, silent) is not None, "it is back, and was not reported")

        def missed() -> bool:
            said = self._said(talk, silent)
            return bool(talk.ends(order.task)) or (said is not None and order.task not in said.running)

        talk.until(missed, "it is back, and what ran there before it died is said to run on")
        talk.tell(self.halt(order.task))
        assert talk.gone(order.task).exit_code is None, "nobody saw it end"
        assert self.starts(order.task) == 1
        again = self.launch(self.exits(5), JOB_THAT_IS_LOST, attempt=2)
        talk.tell(again)
        assert talk.gone(again.task).exit_code == 5

    def test_a_change_of_a_node_is_told(self, talk: Talk) -> None:
        self._needs("change_node")
        first = talk.inventory.nodes[0]

        def differs(since: int) -> bool:
            said = self._said(talk, since)
            return said is not None and (said.spec, said.unhealthy) != (first.spec, first.unhealthy)

        self.change_node()
        talk.until(lambda: differs(0), "the change was not told")
        changed = len(talk.heard)
        self.change_back()
        talk.until(lambda: self._said(talk, changed) is not None and not differs(changed), "the way back was not told")

    def test_a_node_that_joins_and_one_that_leaves_is_told(self, talk: Talk) -> None:
        self._needs("join_node")
        name = self.join_node()

        def joined() -> bool:
            return any(isinstance(one, NodeIsUp) and one.spec.name == name for one in talk.heard)

        talk.until(joined, "the node that joined was not told")
        self.leave_node()

        def left() -> bool:
            gone = {one.node for one in talk.heard if isinstance(one, NodeIsGone | NodeIsQuiet)}
            return name in gone  # quiet, where nobody knows that it went for good

        talk.until(left, "the node that left was not told")
        assert [up.spec.name for up in self.again().inventory.nodes] == [self.node]

    def _said(self, talk: Talk, since: int) -> NodeIsUp | None:
        """Return what the node said of itself last, since so many reports."""
        said = [one for one in talk.heard[since:] if isinstance(one, NodeIsUp) and one.spec.name == self.node]
        return said[-1] if said else None

    # --- waiting ---------------------------------------------------------------------------------

    def test_wake_ends_a_wait_from_another_thread(self, talk: Talk) -> None:
        self._only_real()
        timer = threading.Timer(0.2, talk.engine.wake)
        began = time.monotonic()
        timer.start()
        talk.engine.wait(20)
        timer.join()
        assert 0.1 < time.monotonic() - began < 10

    def test_wait_ends_when_there_is_a_report(self, talk: Talk) -> None:
        order = self.launch(self.lasts(0.2))
        talk.tell(order)
        began = time.monotonic()
        talk.gone(order.task)
        talk.tell(order)
        talk.engine.wait(20)
        assert [how(one) for one in talk.engine.reports() if isinstance(one, TaskIsGone)] == [TaskIsGone(order.task, 0)]
        assert time.monotonic() - began < 10
