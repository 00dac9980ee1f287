"""What nodes hold of the data that jobs read."""

from __future__ import annotations

from clearway.core.copies import Copies, Shelves, copy_us
from clearway.model.values import SECOND_US
from clearway.testing.builders import node

GB = 10**9
GBIT_S = 1000


def test_copying_takes_size_over_bandwidth() -> None:
    assert copy_us(2250 * GB, 10 * GBIT_S) == 1800 * SECOND_US
    assert copy_us(1, node().bandwidth) == 0


def test_a_copy_is_made_once_and_waited_for() -> None:
    copies, n = Copies(), node(bandwidth=8 * GBIT_S)
    inputs = (("d", 100 * GB),)
    assert copies.missing(n, inputs) == 100 * GB
    assert copies.begin(n, "a", inputs, 0) == 100 * SECOND_US
    assert copies.begin(n, "b", inputs, 40 * SECOND_US) == 100 * SECOND_US
    assert copies.missing(n, inputs) == 0
    copies.end(n, "a", 50 * SECOND_US)
    assert "d" in copies, "b goes on with it"
    copies.end(n, "b", 60 * SECOND_US)
    assert "d" not in copies
    assert copies.begin(n, "c", inputs, 70 * SECOND_US) == 170 * SECOND_US
    copies.end(n, "c", 170 * SECOND_US)
    assert copies.begin(n, "e", inputs, 200 * SECOND_US) == 200 * SECOND_US


def test_what_a_node_states_is_never_copied() -> None:
    copies, n = Copies(), node(bandwidth=8 * GBIT_S, holds=("d",))
    assert copies.begin(n, "a", (("d", 100 * GB), ("e", 10 * GB)), 0) == 10 * SECOND_US


def test_the_smallest_unread_copies_go_first() -> None:
    copies, n = Copies(), node(bandwidth=8 * GBIT_S, disk=100 * GB)
    for name, size in (("big", 60), ("small", 10), ("middle", 20)):
        copies.begin(n, name, ((name, size * GB),), 0)
        copies.end(n, name, 1000 * SECOND_US)
    copies.begin(n, "x", (("new", 25 * GB),), 1000 * SECOND_US)
    assert [name for name in ("big", "small", "middle", "new") if name in copies] == ["big", "new"]


def test_what_is_read_stays_and_goes_when_it_is_read_no_more() -> None:
    copies, n = Copies(), node(bandwidth=8 * GBIT_S, disk=50 * GB)
    copies.begin(n, "a", (("one", 40 * GB),), 0)
    copies.begin(n, "b", (("two", 30 * GB),), 0)
    assert "one" in copies
    assert "two" in copies
    copies.end(n, "a", 1000 * SECOND_US)
    assert "one" not in copies
    assert "two" in copies


def test_what_is_left_on_a_node_is_old_elsewhere() -> None:
    shelves, nodes = Shelves(), [node(bandwidth=8 * GBIT_S), node(bandwidth=8 * GBIT_S, holds=("stated",))]
    data = (("d", 100 * GB), ("stated", GB))
    assert shelves.leave([0, 0], nodes, data, 5) == [0]
    assert shelves.missing(nodes, [0, 1], data) == [0, 100 * GB]
    assert shelves.leave([1], nodes, (("d", 100 * GB),), 9) == [1, 0]
    assert shelves.missing(nodes, [0, 1], data) == [100 * GB, 0]
    shelves.begin(0, nodes[0], "reader", data, 10)
    assert shelves.leave([1], nodes, (("d", 90 * GB),), 20) == [1, 0]
    shelves.end(0, nodes[0], "reader", 30)
    assert shelves.missing(nodes, [0, 1], data) == [100 * GB, 0]
