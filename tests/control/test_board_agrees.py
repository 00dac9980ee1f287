"""The board folds what the world decides: both say the same of every job, node and queue at any moment."""

from __future__ import annotations

import pytest

from clearway.control.board import Board
from clearway.loop.world import World
from clearway.model.fleet import PolicySpec
from clearway.model.job import WHOLE
from clearway.model.states import State
from tests.test_differential import simulated

EVERY = 97  # records between two looks


@pytest.mark.parametrize("seed", range(2))
def test_board_and_world_say_the_same(seed: int) -> None:
    policy = PolicySpec()
    world, board = World(policy, seed), Board()
    for number, record in enumerate(simulated(seed, policy)):
        world.apply(record)
        board.fold((record,))
        if number % EVERY == 0:
            agree(world, board)
    agree(world, board)


def agree(world: World, board: Board) -> None:
    world.validate()
    for job, entry in world.jobs.items():
        row = board.jobs[job]
        assert (row.state, row.attempt) == (entry.state, entry.attempt)
        if entry.state is State.PENDING and entry.cls is None:
            assert row.reasons == entry.reasons or not entry.reasons
        if entry.cls is not None:
            assert row.cls == entry.cls
    assert {job for job, row in board.jobs.items() if not row.over} == set(world.jobs)
    for number, node in board.nodes.items():
        held = [(j, g) for j in world.ledger.on_node[number] for g in world.jobs[j].held.values() if g.node == number]
        assert node.tasks == len(held)
        assert sum(node.shares) == sum(g.share * len(g.devices) for _, g in held) <= WHOLE * node.spec.gpus
        cpus = sum(world.jobs[j].spec.roles[g.role].demand.cpus for j, g in held)
        assert dict(node.use).get("cpus", 0) == cpus
    for name, queue in board.queues.items():
        mine = [e for e in world.jobs.values() if e.spec.queue == name]
        assert queue.pending == sum(e.state is State.PENDING for e in mine)
        assert queue.running == len(mine) - queue.pending
