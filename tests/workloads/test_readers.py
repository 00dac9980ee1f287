"""Every format on the files in which it is published: how many jobs, what the first and the last ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from clearway.model.values import SECOND_US
from clearway.sim.workloads import FORMATS, detect, open_workload
from clearway.sim.workloads.textfile import head

if TYPE_CHECKING:
    from pathlib import Path

HOUR_US, MINUTE_US = 3600 * SECOND_US, 60 * SECOND_US


class Known(NamedTuple):
    """What a file holds, counted with other tools."""

    file: str
    format: str
    jobs: int
    damaged: int
    nodes: int
    gpus: int
    first_runtime_us: int
    first_milli_gpus: int


KNOWN = (
    Known("fgd-openb/openb_pod_list_default.csv.gz", "openb", 8151, 1, 1213, 6212, 12537496 * SECOND_US, 1000),
    Known("fgd-openb/openb_pod_list_multigpu50.csv.gz", "openb", 9061, 0, 1213, 6212, 0, 1000),
    Known("swf/lublin_256.swf.gz", "swf", 10000, 0, 1, 0, 12072 * SECOND_US, 0),
    Known("swf/NASA-iPSC-1993-3.1-cln.swf.zip", "swf", 18066, 173, 1, 0, 1451 * SECOND_US, 0),
    Known("swf/hpc2n_alea_excerpt.swf.gz", "swf", 3145, 25, 120, 0, 31405 * SECOND_US, 0),
    Known("philly/philly.csv.gz", "philly", 82247, 0, 352, 2816, 2240194 * SECOND_US, 8000),
    Known("muri/trace3.csv.gz", "muri", 992, 0, 8, 64, 927475 * SECOND_US, 4000),
    Known("itp-elasticflow/cluster01.csv.gz", "itp", 1595, 0, 64, 512, 2429 * SECOND_US, 64000),
    Known("itp-elasticflow/philly_103959.csv.gz", "itp", 876, 0, 32, 256, 976570 * SECOND_US, 1000),
    Known("chronus-deadlines/trace_job_Philly_MIX1.csv.gz", "chronus", 30940, 0, 0, 0, 196 * MINUTE_US, 1000),
    Known("pollux/workloads/workload-1.csv", "pollux", 160, 0, 16, 64, 853227145, 6000),
    Known("sia/workloads/saturn/workload-1.csv", "pollux", 160, 0, 16, 64, 572389846, 12000),
    Known("gaia-cluster/pai-100k.csv.gz", "gaia", 99998, 0, 0, 0, 91469 * SECOND_US, 0),
    Known("gaia-cluster/pai_1k.csv", "gaia", 1000, 0, 0, 0, 6302 * SECOND_US, 0),
)
SHOCKWAVE = ("120", 120, 32), ("220", 220, 64)


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.file)
def test_reads_what_is_there(known: Known, data: Path) -> None:
    trace = open_workload(data / known.file)
    jobs, first, before = 0, None, -1
    for arrival in trace.arrivals():
        assert arrival.at_us >= before
        before, jobs, first = arrival.at_us, jobs + 1, first or arrival
    assert first is not None
    assert (trace.format, jobs, trace.damage.count) == (known.format, known.jobs, known.damaged)
    assert (len(trace.nodes), sum(node.gpus for node in trace.nodes)) == (known.nodes, known.gpus)
    assert (first.at_us, first.truth.runtimes_us) == (0, (known.first_runtime_us,) if known.first_runtime_us else ())
    assert first.spec.milli_gpus == known.first_milli_gpus


@pytest.mark.parametrize(("name", "jobs", "gpus"), SHOCKWAVE)
def test_reads_shockwave_without_a_header(name: str, jobs: int, gpus: int, data: Path) -> None:
    (file,) = (data / "shockwave").glob(f"{name}_*.trace.gz")
    trace = open_workload(file)
    assert trace.format == "shockwave"
    assert sum(node.gpus for node in trace.nodes) == gpus
    assert len(list(trace.arrivals())) == jobs


def test_units_of_each_trace_come_out_as_seconds(data: Path) -> None:
    """The spans that the authors state: a year of hours, two weeks of minutes, months of milliseconds."""
    days = {
        "gaia-cluster/azure-100k.csv.gz": 365, "gaia-cluster/pai_1k.csv": 7, "muri/trace3.csv.gz": 95,
        "chronus-deadlines/trace_job_Philly_SLO.csv.gz": 14,
    }  # fmt: skip
    for file, expected in days.items():
        *_, last = open_workload(data / file).arrivals()
        assert expected - 1 < last.at_us / SECOND_US / 86400 <= expected, file


def test_a_job_wider_than_a_node_is_a_gang_of_equal_tasks(data: Path) -> None:
    jobs = open_workload(data / "muri" / "trace3.csv.gz").arrivals()
    wide = next(a.spec.roles[0] for a in jobs if a.spec.milli_gpus == 32000)
    assert (wide.tasks, wide.min_tasks, wide.demand.gpus) == (4, 4, 8)


def test_models_of_openb_pods_are_alternatives(data: Path) -> None:
    jobs = open_workload(data / "fgd-openb" / "openb_pod_list_gpuspec33.csv.gz").arrivals()
    models = {a.spec.roles[0].demand.gpu_models for a in jobs}
    assert {("T4",), ("V100M16", "V100M32")} <= models


def test_a_share_of_a_device_stays_one(data: Path) -> None:
    trace = open_workload(data / "fgd-openb" / "openb_pod_list_gpushare100.csv.gz")
    demands = [a.spec.roles[0].demand for a in trace.arrivals()]
    assert all(d.gpus == 0 for d in demands if d.share)
    assert {d.share for d in demands if d.share} - {1000}


def test_philly_virtual_clusters_are_queues_with_their_nodes_as_guarantee(data: Path) -> None:
    queues = {q.name: dict(q.guarantee) for q in open_workload(data / "philly" / "philly.csv.gz").queues}
    assert queues["6214e9"] == {"gpus": 64 * 8 * 1000}
    assert len(queues) == 11


def test_deadlines_move_with_the_jobs_when_a_trace_begins_at_zero(data: Path) -> None:
    first = next(open_workload(data / "itp-elasticflow" / "cluster01.csv.gz").arrivals())
    assert first.spec.deadline_us == (1933904 - 1932025) * SECOND_US


def test_estimates_of_a_log_are_what_users_asked_for(data: Path) -> None:
    first = next(open_workload(data / "swf" / "hpc2n_alea_excerpt.swf.gz").arrivals())
    assert first.spec.time_estimate_us == 37980 * SECOND_US
    assert (first.spec.roles[0].tasks, first.spec.roles[0].demand.cpus) == (30, 1000)
    assert next(open_workload(data / "swf" / "lublin_256.swf.gz").arrivals()).spec.time_estimate_us is None


def test_every_workload_of_the_folder_is_recognised_by_one_format_only(data: Path) -> None:
    files = [data / known.file for known in KNOWN] + list((data / "shockwave").glob("*.trace.gz"))
    for file in files:
        seen = head(file)
        assert [form.name for form in FORMATS if form.matches(seen)] == [detect(file).name]


def test_a_log_that_states_waits_says_how_long_jobs_took(data: Path) -> None:
    first = next(open_workload(data / "swf" / "hpc2n_alea_excerpt.swf.gz").arrivals())
    assert first.truth.took_us == (308434 + 31405) * SECOND_US
    assert next(open_workload(data / "swf" / "lublin_256.swf.gz").arrivals()).truth.took_us is None
