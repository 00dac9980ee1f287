"""Clearway against simulators that share no code with it: FCFS to the digit, packing within half a point."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from benchmarks import openb, rlscheduler
from clearway.sim.workloads.node_lists import openb_nodes

if TYPE_CHECKING:
    from pathlib import Path


def test_fcfs_gives_what_a_simulator_of_its_own_gives(data: Path) -> None:
    drawn = rlscheduler.sequences(data / "swf" / "lublin_256.swf.gz")[:2]
    ours = rlscheduler.cell("fifo", "none", drawn).slowdown
    theirs = [rlscheduler.their_slowdown("fifo", jobs, backfill=False) for jobs in drawn]
    assert ours == pytest.approx(sum(theirs) / len(theirs), rel=1e-12)


@pytest.mark.slow
def test_the_published_cells_follow_from_the_published_rules(data: Path) -> None:
    drawn = rlscheduler.sequences(data / "swf" / "lublin_256.swf.gz")
    for order, published in rlscheduler.CELLS.items():
        for backfill, figure in zip((False, True), published, strict=True):
            found = [rlscheduler.their_slowdown(order, jobs, backfill=backfill) for jobs in drawn]
            assert round(sum(found) / len(found)) == pytest.approx(figure, abs=1), (order, backfill)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["random", "best_fit"])
def test_packing_comes_near_the_published_means(rule: str, data: Path) -> None:
    folder = data / "fgd-openb"
    nodes = openb_nodes(folder / "openb_node_list_gpu_node.csv.gz")
    pods = openb.read_pods(folder / f"{openb.PODS}.csv.gz")
    name, policy = openb.RULES[rule]
    published = json.loads((folder / "published.json").read_text())["results"][openb.PODS][name]
    found = openb.pack(nodes, openb.inflated(pods, nodes, 42), policy, 42)
    for level, value in zip(openb.LEVELS, found, strict=True):
        spread = 3 * published[str(level)]["std"]  # one seed, against the mean of ten
        assert value == pytest.approx(published[str(level)]["mean"], abs=0.5 + spread)
