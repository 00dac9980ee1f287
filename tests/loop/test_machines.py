"""Machines that are ordered: what the loop tells the provider, and what it makes of machines that come or do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.loop.world import World
from clearway.model import events as ev
from clearway.model.actions import GiveBack, Order, Supply
from clearway.model.asks import Cancel, ControllerUp, SetMachineType, SetQueue, Submit
from clearway.model.fleet import MachineType, NodeSpec, PolicySpec, QueueSpec
from clearway.model.ids import JobId
from clearway.model.job import Demand, JobSpec, Role
from clearway.model.reasons import Code
from clearway.ports.engine import NodeIsGone, NodeIsUp, TaskIsGone
from clearway.ports.provider import OrderFailed

if TYPE_CHECKING:
    from clearway.loop.world import Step
    from clearway.model.asks import Ask
    from clearway.model.events import Record
    from clearway.ports.engine import Report

SECOND_US = 1_000_000
KIND = MachineType(NodeSpec("T", gpus=2, price_micros=10), 50 * SECOND_US, 0, 3, 100 * SECOND_US, 300 * SECOND_US)


def job(name: str, gpus: int = 1, tasks: int = 1, queue: str = "default") -> JobSpec:
    return JobSpec(name, roles=(Role(tasks=tasks, min_tasks=tasks, demand=Demand(gpus)),), queue=queue)


class Town:
    """A world with types of machines; what it tells the provider is in `told`."""

    def __init__(self, *kinds: MachineType) -> None:
        self.world = World(PolicySpec(order=("priority", "fifo")))
        self.journal: list[Record] = []
        self.told: list[Supply] = []
        self.at(0, ControllerUp(), *map(SetMachineType, kinds))

    def at(self, second: int, *inputs: Ask | Report | OrderFailed) -> Step:
        step = self.world.step(inputs, second * SECOND_US)
        self.journal += step.records
        self.told = list(step.supply)
        self.world.validate()
        return step

    def up(self, second: int, *numbers: int) -> Step:
        return self.at(second, *(NodeIsUp(NodeSpec(f"T-{n}", gpus=2, price_micros=10)) for n in numbers))

    def ordered(self) -> list[str]:
        return [one.spec.name for one in self.told if isinstance(one, Order)]

    def given_back(self) -> list[str]:
        return [one.name for one in self.told if isinstance(one, GiveBack)]

    def restart(self, second: int, *inputs: Ask | Report) -> None:
        self.world = World(PolicySpec(order=("priority", "fifo")))
        for record in self.journal:
            self.world.apply(record)
        self.at(second, ControllerUp(), *inputs)


def started(step: Step) -> list[JobId]:
    return [record.job for record in step.records if isinstance(record, ev.Started)]


def test_as_few_are_ordered_as_hold_those_who_wait() -> None:
    town = Town(KIND)
    town.at(1, Submit((job("a"), job("b"), job("c"))))
    assert town.ordered() == ["T-1", "T-2"]
    town.at(2, Submit((job("d"),)))
    assert town.told == []
    assert started(town.up(51, 1)) == [JobId(1), JobId(2)]
    assert town.told == []
    assert started(town.up(60, 2)) == [JobId(3), JobId(4)]


def test_a_new_controller_tells_what_was_ordered_once_more_by_the_same_name() -> None:
    town = Town(KIND)
    town.at(1, Submit((job("a"),)))
    first = town.told
    town.restart(20)
    assert town.told == first
    assert town.world.ledger.count == 1
    assert started(town.up(51, 1)) == [JobId(1)]


def test_a_machine_on_its_way_is_not_missed_by_a_new_controller() -> None:
    town = Town(KIND)
    town.at(1, Submit((job("a"),)))
    town.restart(20)
    assert not [record for record in town.journal if isinstance(record, ev.NodeQuiet)]


def test_an_order_that_nobody_counts_on_is_taken_back_and_a_late_machine_is_sent_back() -> None:
    town = Town(KIND)
    town.at(1, Submit((job("a"),)))
    town.at(2, Cancel(JobId(1)))
    assert town.given_back() == ["T-1"]
    town.up(50, 1)
    assert town.given_back() == ["T-1"]
    assert town.world.node_named("T-1") is None
    town.at(60, Submit((job("b"),)))
    assert town.ordered() == ["T-2"]


def test_a_failed_order_is_not_repeated_at_once() -> None:
    town = Town(KIND)
    town.at(1, Submit((job("a"),)))
    town.at(2, OrderFailed("T-1", "quota"))
    assert town.ordered() == []
    town.at(3, Submit((job("b"),)))
    assert town.ordered() == []
    step = town.at(302)
    assert town.ordered() == ["T-2"]
    gone = [record for record in town.journal if isinstance(record, ev.MachineGone)]
    assert [record.cause.code for record in gone] == [Code.ORDER_FAILED]
    assert step.next_us is not None


def test_an_idle_machine_goes_after_its_time_and_is_removed_when_the_engine_says_so() -> None:
    town = Town(KIND)
    town.at(1, Submit((job("a"),)))
    town.up(51, 1)
    town.at(60, Cancel(JobId(1)))
    town.world.validate()
    step = town.at(61, TaskIsGone(ev.TaskRef(JobId(1), 1, 0, 0), 0))
    assert town.told == []
    assert step.next_us == 161 * SECOND_US
    town.restart(100, NodeIsUp(NodeSpec("T-1", gpus=2, price_micros=10)))
    town.at(160)
    assert town.told == []
    town.at(161)
    assert town.given_back() == ["T-1"]
    assert not town.world.ledger.open[0]
    town.restart(162, NodeIsUp(NodeSpec("T-1", gpus=2, price_micros=10)))
    assert "T-1" in town.given_back()
    assert not town.world.ledger.open[0], "what is given back is not used any more"
    town.at(163, NodeIsGone("T-1"))
    assert town.world.node_named("T-1") is None


def test_a_queue_at_its_limit_orders_nothing_and_the_books_stay_as_they_were() -> None:
    town = Town(KIND)
    town.at(1, SetQueue(QueueSpec("q", limit=(("gpus", 1000),))))
    town.at(2, Submit(tuple(job(f"j{i}", queue="q") for i in range(5))))
    assert town.ordered() == ["T-1"]
    assert not any(town.world.state.view.queues.used["q"].values())


def test_a_larger_number_that_may_be_there_lets_a_gang_have_its_machines() -> None:
    town = Town(KIND)
    town.at(1, Submit((job("gang", gpus=2, tasks=4),)))
    assert town.ordered() == []
    town.at(2, SetMachineType(MachineType(KIND.node, KIND.boot_us, 0, 4, KIND.idle_timeout_us)))
    assert town.ordered() == ["T-1", "T-2", "T-3", "T-4"]
