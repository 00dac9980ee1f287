"""The books: use is the sum of live grants, and nothing holds more than it has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway.core.devices import pick
from clearway.core.draft import Draft
from clearway.core.ledger import Held, Ledger
from clearway.core.place import grant_of
from clearway.core.resources import CPUS, GPUS
from clearway.model.errors import LedgerError
from clearway.model.fleet import NodeSpec
from clearway.model.ids import JobId, NodeId
from clearway.model.job import WHOLE, Demand
from clearway.testing.builders import GIB, node

N = NodeId(0)
DEMANDS = (
    Demand(gpus=1, cpus=1000), Demand(gpus=2), Demand(share=300, gpu_memory=GIB), Demand(share=500),
    Demand(gpu_memory=30 * GIB), Demand(cpus=3000, memory=GIB), Demand(resources=(("npu", 1),)),
    Demand(gpus=1, colocate=2, gpu_memory=20 * GIB), Demand(gpus=2, colocate=1), Demand(slice="1g.10gb"),
)  # fmt: skip


def books(*specs: object) -> Ledger:
    ledger = Ledger()
    cut = ((3, "1g.10gb"), (3, "1g.10gb"), (3, "2g.20gb"))
    for number, spec in enumerate(specs or (node(resources=(("npu", 2),), slices=cut),)):
        ledger.add_node(NodeId(number), spec)  # type: ignore[arg-type]
    return ledger


def hold(ledger: Ledger, job: int, demand: Demand, at: NodeId = N) -> bool:
    """Have a job hold one task of a demand, if there is room."""
    devices = pick(ledger, at, demand)
    if devices is None or any(ledger.free[row][at] < amount for row, amount in ledger.needs_of(demand)):
        return False
    grant = grant_of(ledger, 0, 0, at, devices, demand)
    ledger.take(grant, demand)
    ledger.register(JobId(job), [Held(grant, demand)])
    return True


def columns(ledger: Ledger) -> list[list[int]]:
    n = ledger.count
    rows = [free[:n].tolist() for free in ledger.free] + [ledger.milli[:n].tolist()]
    return [*rows, ledger.dev_share[: n * ledger.width].tolist(), ledger.dev_room[: n * ledger.width].tolist()]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from([(), (0,), (1, 2), (3,)])), max_size=25)
)
def test_what_is_given_back_leaves_the_books_as_they_were(acts: list[tuple[int, int, tuple[int, ...]]]) -> None:
    ledger = books()
    for demand in DEMANDS:
        ledger.needs_of(demand)
    before = columns(ledger)
    for number, (which, release, sick) in enumerate(acts):
        hold(ledger, number, DEMANDS[which])
        ledger.validate()
        if ledger.holdings:
            job = list(ledger.holdings)[release % len(ledger.holdings)]
            ledger.release(job, 0, 0)
        ledger.set_sick(N, sick)
        ledger.validate()
    for job in list(ledger.holdings):
        ledger.release(job, 0, 0)
    ledger.set_sick(N, ())
    ledger.validate()
    assert columns(ledger) == before


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(0, 12))
def test_a_draft_that_is_undone_was_never_there(which: list[int], kept: int) -> None:
    ledger = books()
    for demand in DEMANDS:
        ledger.needs_of(demand)
    draft, marks = Draft(ledger), []
    for one in which:
        demand = DEMANDS[one]
        devices = pick(ledger, N, demand)
        marks.append((draft.mark(), columns(ledger)))
        if devices is not None:
            draft.take(grant_of(ledger, 0, 0, N, devices, demand), demand)
    for mark, was in reversed(marks[min(kept, len(marks)) :]):
        draft.undo(mark)
        assert columns(ledger) == was


def test_a_whole_device_takes_its_share_and_its_memory() -> None:
    ledger = books(node())
    assert hold(ledger, 1, Demand(gpus=1))
    assert (int(ledger.free[GPUS][0]), int(ledger.milli[0])) == (3, 3 * WHOLE)
    assert int(ledger.dev_room[0]) == 0
    assert not any(pick(ledger, N, Demand(gpu_memory=1)) == (0,) for _ in range(4))


def test_parts_of_a_device_add_up_to_it_and_no_more() -> None:
    ledger = books(node(gpus=1))
    assert hold(ledger, 1, Demand(share=500, gpu_memory=40 * GIB))
    assert hold(ledger, 2, Demand(share=500))
    assert not hold(ledger, 3, Demand(share=1))
    assert hold(ledger, 4, Demand(gpu_memory=40 * GIB)), "a share of the memory alone is a part of its own"
    assert not hold(ledger, 5, Demand(gpu_memory=1))
    assert int(ledger.free[GPUS][0]) == 0
    ledger.validate()


def test_devices_in_turns_are_held_whole_by_all_of_them_and_carry_so_many() -> None:
    ledger = books(node(gpus=2))
    patient, once = Demand(gpus=1, colocate=2), Demand(gpus=1, colocate=1)
    assert hold(ledger, 1, patient)
    assert hold(ledger, 2, patient)
    assert (int(ledger.free[GPUS][0]), int(ledger.milli[0])) == (1, WHOLE)
    assert pick(ledger, N, once) == (1,), "there are two on device 0, and it puts up with one"
    assert pick(ledger, N, Demand(share=1)) == (1,), "whoever does not share finds no part of a device in turns"
    assert hold(ledger, 3, patient)
    assert pick(ledger, N, patient) == (1,), "three are enough"
    ledger.validate()
    ledger.release(JobId(1), 0, 0)
    assert pick(ledger, N, patient) == (0,)
    for job in (2, 3):
        ledger.release(JobId(job), 0, 0)
    assert int(ledger.free[GPUS][0]) == 2
    assert ledger.turns.on == {}
    ledger.validate()


def test_a_share_holds_its_part_of_the_memory_where_the_policy_says_so() -> None:
    ledger = books(node(gpus=1))
    ledger.proportional = True
    assert hold(ledger, 1, Demand(share=500))
    assert int(ledger.dev_room[0]) == 40 * GIB
    assert not hold(ledger, 2, Demand(share=100, gpu_memory=41 * GIB))
    assert hold(ledger, 2, Demand(gpu_memory=40 * GIB))
    assert not hold(ledger, 3, Demand(share=1)), "no memory is left for it"
    ledger.validate()
    plenty = books(NodeSpec("n", gpus=1))
    plenty.proportional = True
    assert hold(plenty, 1, Demand(share=500))
    assert plenty.holdings[JobId(1)][0].grant.gpu_memory == 0, "a node that states no memory has plenty"


def test_a_device_that_is_cut_gives_slices_and_nothing_else() -> None:
    ledger = books(node(gpus=2, slices=((1, "1g.10gb"), (1, "3g.40gb"), (1, "1g.10gb"))))
    small = Demand(slice="1g.10gb")
    assert (int(ledger.cap[GPUS][0]), int(ledger.milli[0])) == (1, WHOLE)
    assert pick(ledger, N, Demand(gpus=2)) is None
    assert hold(ledger, 1, Demand(share=500))
    assert pick(ledger, N, Demand(share=600)) is None, "device 0 has half left, device 1 is cut"
    assert [hold(ledger, job, small) for job in (2, 3, 4)] == [True, True, False]
    found = [ledger.holdings[JobId(job)][0].grant for job in (2, 3)]
    assert [(one.devices, one.share, one.gpu_memory) for one in found] == [((2,), 142, 10**10), ((4,), 142, 10**10)]
    assert hold(ledger, 5, Demand(slice="3g.40gb"))
    ledger.validate()
    ledger.release(JobId(2), 0, 0)
    ledger.set_sick(N, (1,))
    assert pick(ledger, N, small) is None
    ledger.set_sick(N, (2,))
    assert pick(ledger, N, small) is None, "number 2 is the slice itself"
    ledger.set_sick(N, ())
    assert pick(ledger, N, small) == (2,)
    ledger.validate()


def test_an_unhealthy_device_is_no_device_and_is_one_again_when_it_is_well() -> None:
    ledger = books(node(gpus=2))
    assert hold(ledger, 1, Demand(gpus=1))
    ledger.set_sick(N, (0, 1))
    assert not hold(ledger, 2, Demand(share=1))
    ledger.release(JobId(1), 0, 0)
    ledger.validate()
    assert not hold(ledger, 2, Demand(gpus=1))
    ledger.set_sick(N, ())
    assert hold(ledger, 2, Demand(gpus=2))


@pytest.mark.parametrize("words", [{"gpus": 1}, {"gpus": 6}, {"gpu_memory": 40 * GIB}, {"cpus": 1000}])
def test_new_words_while_something_is_held(words: dict[str, object]) -> None:
    ledger = books(node(gpus=4))
    assert hold(ledger, 1, Demand(gpus=3, cpus=4000))
    ledger.add_node(N, node(**words))  # type: ignore[arg-type]
    ledger.validate()
    ledger.release(JobId(1), 0, 0)
    ledger.validate()
    fresh = books(node(**words))  # type: ignore[arg-type]
    assert [c[0] for c in columns(ledger)[:6]] == [c[0] for c in columns(fresh)[:6]]
    assert hold(ledger, 2, Demand(gpus=fresh.specs[0].gpus))


def test_books_that_are_wrong_are_found_out() -> None:
    ledger = books()
    assert hold(ledger, 1, Demand(gpus=1, cpus=1000))
    ledger.free[CPUS][0] += 1
    with pytest.raises(LedgerError, match="cpus"):
        ledger.validate()
    ledger.free[CPUS][0] -= 1
    ledger.dev_share[0] += 1
    with pytest.raises(LedgerError, match="share"):
        ledger.validate()


def test_more_than_there_is_is_found_out() -> None:
    ledger = books(node(gpus=1))
    for job in (1, 2):
        grant = grant_of(ledger, 0, 0, N, (0,), Demand(share=600))
        ledger.take(grant, Demand(share=600))
        ledger.register(JobId(job), [Held(grant, Demand(share=600))])
    with pytest.raises(LedgerError, match="device 0"):
        ledger.validate()


def test_nodes_come_one_after_the_other() -> None:
    with pytest.raises(LedgerError, match="not the next"):
        books().add_node(NodeId(5), node())


def test_many_nodes_of_many_widths() -> None:
    ledger = books(*(node(f"n{i}", gpus=i % 9) for i in range(100)))
    for i in range(100):
        assert hold(ledger, i, Demand(gpus=i % 9, cpus=1), NodeId(i))
    ledger.validate()
    assert not ledger.free[GPUS][:100].any()


def test_devices_come_from_the_island_that_they_fill_best() -> None:
    ledger = books(node(gpus=8, links=((0, 1, 2, 3), (4, 5, 6, 7))))
    ledger.set_sick(N, (0, 1))
    assert pick(ledger, N, Demand(gpus=2)) == (2, 3)
    assert pick(ledger, N, Demand(gpus=4)) == (4, 5, 6, 7)
    assert pick(ledger, N, Demand(gpus=6)) == (2, 3, 4, 5, 6, 7)
    assert pick(ledger, N, Demand(gpus=7)) is None


def test_a_part_comes_from_the_device_with_the_least_room_that_is_enough() -> None:
    ledger = books(node(gpus=3))
    hold(ledger, 1, Demand(share=600))
    assert pick(ledger, N, Demand(share=400)) == (0,)
    assert pick(ledger, N, Demand(share=500)) == (1,)
