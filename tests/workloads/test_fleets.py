"""Fleets: from a file, from the trace, or made to measure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.model.errors import InputError
from clearway.model.job import Demand, JobSpec, Role
from clearway.model.values import SECOND_US
from clearway.sim.truth import Truth
from clearway.sim.workloads import Arrival, open_workload
from clearway.sim.workloads.fleets import fleet_for, read_fleet
from clearway.sim.workloads.survey import Survey
from clearway.sim.workloads.writer import written

if TYPE_CHECKING:
    from pathlib import Path


def test_node_lists_of_traces_are_fleets(data: Path) -> None:
    openb = read_fleet(data / "fgd-openb" / "openb_node_list_all_node.csv.gz").nodes
    spot = read_fleet(data / "alibaba-spot2026" / "node_info_df.csv.gz").nodes
    hpc2n = read_fleet(data / "swf" / "hpc2n.swf.machines").nodes
    assert (len(openb), sum(n.gpus for n in openb)) == (1523, 6212)
    assert (len(spot), sum(n.gpus for n in spot)) == (4278, 10412)
    assert (len(hpc2n), hpc2n[0].cpus, hpc2n[0].memory) == (120, 2000, 2**30)


def test_a_fleet_file_stands_in_for_the_trace_s_own(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_text("fleet: {nodes: [{name: n, count: 3, gpus: 4}]}\nqueues: [{name: a, limit: {gpus: 2}}]\n")
    trace = open_workload(data / "muri" / "trace3.csv.gz")
    fleet = fleet_for(trace, Survey.of(trace), file)
    assert [n.name for n in fleet.nodes] == ["n-0", "n-1", "n-2"]
    assert dict(fleet.queues[0].limit) == {"gpus": 2000}


@pytest.mark.parametrize("text", ["", "[]", "fleet: {}", "fleet: 3", "fleet: {nodes: [{gpus: 1}]}", "{", "jobs: []"])
def test_a_file_without_nodes_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_text(text)
    with pytest.raises(InputError):
        read_fleet(file)


def test_a_fleet_made_to_measure_holds_the_largest_job_and_the_work(data: Path) -> None:
    trace = open_workload(data / "chronus-deadlines" / "trace_job_Philly_MIX1.csv.gz")
    survey = Survey.of(trace)
    fleet = fleet_for(trace, survey)
    gpus = sum(n.gpus for n in fleet.nodes)
    assert 0.79 < survey.gpus[""].work / (1000 * survey.span_us * gpus) <= 0.8
    assert "no fleet is stated" in fleet.notes[0]


def test_queues_that_only_jobs_name_are_made(data: Path) -> None:
    trace = open_workload(data / "philly" / "philly.csv.gz")
    survey = Survey.of(trace)
    names = [q.name for q in fleet_for(trace, survey).queues]
    assert set(survey.queues) <= {*names, "default"}
    assert len(names) == len(set(names))


@pytest.mark.parametrize("jobs", [1, 3])
def test_jobs_that_come_at_once_do_not_make_a_fleet_without_bounds(jobs: int, tmp_path: Path) -> None:
    file = tmp_path / "few.jsonl"
    with written(file) as write:
        for i in range(jobs):
            spec = JobSpec(f"job-{i}", (Role(demand=Demand(gpus=8)),))
            write(Arrival(0, spec, Truth(runtimes_us=(3600 * SECOND_US,))))
    trace = open_workload(file)
    fleet = fleet_for(trace, Survey.of(trace))
    assert len(fleet.nodes) == jobs
    assert ("1 node of 8 GPUs" in fleet.notes[0]) == (jobs == 1)


def test_a_fleet_made_to_measure_has_the_models_that_jobs_name(tmp_path: Path) -> None:
    file = tmp_path / "models.jsonl"
    with written(file) as write:
        for i, model in enumerate(("A100", "H100", "")):
            demand = Demand(gpus=8, gpu_models=(model,) if model else ())
            write(Arrival(i, JobSpec(f"job-{i}", (Role(demand=demand),)), Truth(runtimes_us=(SECOND_US,))))
    trace = open_workload(file)
    fleet = fleet_for(trace, Survey.of(trace))
    assert [(n.gpus, n.gpu_model) for n in fleet.nodes] == [(8, ""), (8, "A100"), (8, "H100")]
    assert "1 node of 8 H100 GPUs" in fleet.notes[0]
