"""Clearway's own workload file: what is written is read back the same, and mistakes are named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.model.errors import InputError
from clearway.model.fleet import LimitSpec, NodeSpec, QueueSpec
from clearway.model.job import Checkpoint, Demand, JobSpec, Role
from clearway.sim.truth import Truth
from clearway.sim.workloads import Arrival, open_workload
from clearway.sim.workloads.fleet_words import limit_words, node_words, queue_words
from clearway.sim.workloads.writer import written

if TYPE_CHECKING:
    from pathlib import Path

SAMPLES = (
    "fgd-openb/openb_pod_list_gpuspec33.csv.gz", "itp-elasticflow/cluster01.csv.gz", "muri/trace3.csv.gz",
    "swf/hpc2n_alea_excerpt.swf.gz", "chronus-deadlines/trace_job_Philly_MIX1.csv.gz", "gaia-cluster/pai_1k.csv",
    "pollux/workloads/workload-1.csv",
)  # fmt: skip
HEADER = '{"format": "clearway-workload", "version": 1}\n'
RICH = JobSpec(
    "rich ü",
    (Role("a", 2, 1, Demand(gpus=2, gpu_memory=2**30, cpus=1500, gpu_models=("A100", "H100")), one_per_node=True),
     Role("b", 1, 1, Demand(share=250, memory=10, disk=20, bandwidth=2500, resources=(("npu", 2),),
                            nodes=(("zone", "z"),), tolerates=("x",), spot="avoid"))),
    queue="q", priority=-3, uses=("db",), after=("other",), time_limit_us=7, time_estimate_us=1_500_000,
    start_deadline_us=3_600_000_000, deadline_us=9_000_000, on_deadline="stop", preemptible=False,
    checkpoint=Checkpoint(every_us=5_000_000), max_retries=2, max_losses=0, user="u", tenant="t", labels=(("k", "v"),),
)  # fmt: skip


@pytest.mark.parametrize("file", SAMPLES)
@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_what_is_written_is_read_back_the_same(file: str, name: str, data: Path, tmp_path: Path) -> None:
    source, copy = open_workload(data / file), tmp_path / name
    with written(copy, {"fleet": {"nodes": [node_words(node) for node in source.nodes]}}) as write:
        for arrival in source.arrivals():
            write(arrival)
    again = open_workload(copy)
    assert (again.format, again.nodes) == ("clearway", source.nodes)
    assert list(again.arrivals()) == list(source.arrivals())
    assert again.damage.count == 0


def test_every_word_of_a_job_comes_back(tmp_path: Path) -> None:
    arrival = Arrival(0, RICH, Truth((1, 2_000_000), (3, 0), cancel_after_us=4))
    with written(tmp_path / "w.jsonl") as write:
        write(arrival)
    assert list(open_workload(tmp_path / "w.jsonl").arrivals()) == [arrival]


def test_fleet_queues_and_limits_come_back(tmp_path: Path) -> None:
    node = NodeSpec(
        "n", cpus=1500, memory=7, gpus=2, gpu_model="A", gpu_memory=5, links=((0, 1),), rack="r", zone="z",
        labels=(("a", "b"),), taints=("t",), price_micros=1_500_000, spot=True, holds=("d",), resources=(("npu", 1),),
    )  # fmt: skip
    queue = QueueSpec("q", "p", (("gpus", 500), ("memory", 9)), (("cpus", 2000),), 3, borrow=False, order=("fifo",))
    header = {
        "fleet": {"nodes": [node_words(node)]},
        "queues": [queue_words(queue)],
        "limits": [limit_words(LimitSpec("l", 2))],
    }
    with written(tmp_path / "w.jsonl", header):
        pass
    again = open_workload(tmp_path / "w.jsonl")
    assert (again.nodes, again.queues, again.limits) == ((node,), (queue,), (LimitSpec("l", 2),))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"name": "a", "gpuz": 1}', "gpuz"), ('{"gpus": 1}', "name"), ('{"name": "a", "gpus": 1.5}', "gpus"),
        ("[1, 2]", "object"), ("{", "truncated"), ('{"name": "a", "submit": -1}', "submit"),
        ('{"name": "a", "runtime": "soon"}', "runtime"), ('{"name": "a", "deadline": "2026-01-01T00:00:00Z"}', "clock"),
    ],
)  # fmt: skip
def test_a_line_that_breaks_a_rule_is_damage_that_names_it(line: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "w.jsonl"
    file.write_text(HEADER + '{"name": "good", "runtime": 1}\n' + line + "\n")
    trace = open_workload(file)
    assert [a.spec.name for a in trace.arrivals()] == ["good"]
    ((number, why),) = trace.damage.first
    assert number == 3
    assert says in why


def test_a_header_of_another_version_or_with_unknown_words_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "w.jsonl"
    file.write_text('{"format": "clearway-workload", "version": 2}\n')
    with pytest.raises(InputError, match="version 1"):
        open_workload(file)
    file.write_text('{"format": "clearway-workload", "version": 1, "flet": {}}\n')
    with pytest.raises(InputError, match="flet"):
        open_workload(file)


def test_a_deadline_in_wall_clock_time_counts_from_the_clock(tmp_path: Path) -> None:
    file = tmp_path / "w.jsonl"
    file.write_text(
        '{"format": "clearway-workload", "version": 1, "clock": "2026-01-05T00:00:00Z"}\n'
        '{"name": "a", "submit": 0, "runtime": 1, "deadline": "2026-01-05T00:01:00+00:00"}\n'
    )
    (arrival,) = open_workload(file).arrivals()
    assert arrival.spec.deadline_us == 60_000_000
