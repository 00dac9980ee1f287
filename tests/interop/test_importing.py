"""Histories of others become workloads: what they tell is kept, what they do not is said, nothing ends an import."""

from __future__ import annotations

import json
import tracemalloc
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clearway.cli.main import cli
from clearway.interop.importing import Column, Imported, Options, import_history
from clearway.interop.sources import SOURCES, detect
from clearway.model.errors import InputError
from clearway.sim.workloads import open_workload, order

if TYPE_CHECKING:
    from collections.abc import Sequence

PASTS = Path(__file__).parent / "pasts"
BEGIN = datetime(2026, 3, 2, 8, tzinfo=UTC)
COLUMNS = {
    "id": "id", "user": "who", "submit": "created", "start": "began", "end": "finished", "state": "outcome",
    "gpus": "n_gpu", "memory": "mem_gb:Gi", "time_limit": "limit_min:min",
}  # fmt: skip
TABLE = Options(columns={w: Column(*name.split(":")) for w, name in COLUMNS.items()})


def brought(file: Path, folder: Path, options: Options | None = None, source: str = "") -> tuple[Imported, list[Any]]:
    out = folder / "out.jsonl"
    found = import_history(SOURCES[source] if source else detect(file), file, out, options or Options())
    return found, [json.loads(line) for line in out.read_text().splitlines()[1:]] if found.jobs else []


def by_id(jobs: Sequence[Any]) -> dict[str, Any]:
    return {job.get("labels", {}).get("id", job["name"]): job for job in jobs}


# --- Slurm ---


def test_slurm_s_rows_become_jobs(tmp_path: Path) -> None:
    found, jobs = brought(PASTS / "sacct.txt", tmp_path)
    named = by_id(jobs)
    assert found.jobs == len(jobs) == 8
    assert sorted(named) == ["100", "101_1", "101_2", "102", "103", "104", "105", "109"]
    train = named["100"]
    assert (train["submit"], train["runtime"], train["took"], train["time_limit"]) == (0, 7200, 7800, 86400)
    assert (train["gpus"], train["cpus"], train["memory"]) == (4, 16, 128 * 2**30)
    assert "gpu_model" not in train, "any model would have done: it only got an a100"
    assert (train["user"], train["tenant"], train["queue"]) == ("anna", "vision", "gpu")
    assert (named["101_1"]["exit_code"], named["101_2"]["exit_code"]) == (2, 137)
    assert (named["101_1"]["gpu_model"], named["101_1"]["queue"]) == (["h100"], "gpu")
    assert "time_limit" not in named["101_1"]
    roles = named["102"]["roles"]
    assert [(r["name"], r.get("tasks", 1), r.get("gpus", 0)) for r in roles] == [("part-0", 1, 0), ("part-1", 2, 8)]


def test_slurm_s_attempts_are_those_of_its_own(tmp_path: Path) -> None:
    named = by_id(brought(PASTS / "sacct.txt", tmp_path)[1])
    again = named["103"]
    assert again["exit_code"] == [1, 1], "one failed, one ran into its limit; the preempted one is decided anew"
    assert again["runtime"][0] == 60
    assert again["runtime"][1] > again["time_limit"]
    assert again["max_retries"] == 1
    assert named["104"]["cancel_after"] == 45 * 60
    assert "runtime" not in named["104"]
    assert (named["105"]["submit"], named["105"]["runtime"]) == (1800, 300), "it was eligible half an hour later"


def test_slurm_s_gaps_are_counted_and_bad_rows_named(tmp_path: Path) -> None:
    gaps = brought(PASTS / "sacct.txt", tmp_path)[0].gaps
    assert list(gaps.left.values()) == [3, 1, 1]
    assert gaps.bad == 3
    assert [line for line, _ in gaps.first] == [18, 17, 20]
    assert [what for _, what in gaps.first][1].startswith("Submit: 'yesterday' is refused: a time such as")
    assert any("gres/shard" in what for what in gaps.assumed)
    assert any("UTC is taken" in what for what in gaps.lacks)


def test_local_times_are_those_of_the_zone(tmp_path: Path) -> None:
    options = Options(zone=ZoneInfo("Europe/Berlin"), zone_said=True, queue_by="account")
    found, jobs = brought(PASTS / "sacct.txt", tmp_path, options)
    assert found.first_us == round((BEGIN - timedelta(hours=1)).timestamp()) * 10**6
    assert {job["queue"] for job in jobs} == {"vision", "speech"}
    assert not any("UTC" in what for what in found.gaps.lacks)


@pytest.mark.parametrize(
    ("header", "row", "runs"),
    [
        ("JobID|State|Submit|Start|End|", "1|COMPLETED|2026-03-02T08:00:00|2026-03-02T08:00|2026-03-02T08:00:09|", 9),
        ("JobID,State,Submit,Elapsed", "1,COMPLETED,1772438400,1-00:00:01", 86401),
        ("JobID|State|Submit|ElapsedRaw", "1|COMPLETED|2026-03-02T08:00:00+01:00|12", 12),
        ("JobID|State|Submit|Elapsed|AllocGRES|NNodes", "1|COMPLETED|2026-03-02T08:00:00|01:02|gpu:a100:2|2", 62),
    ],
)  # fmt: skip
def test_slurm_s_other_shapes(header: str, row: str, runs: int, tmp_path: Path) -> None:
    file = tmp_path / "sacct.out"
    file.write_text(f"{header}\n{row}\n{header}\n\n")
    found, jobs = brought(file, tmp_path)
    assert [job["runtime"] for job in jobs] == [runs], found.gaps
    if "GRES" in header:
        assert (jobs[0]["tasks"], jobs[0]["gpus"], jobs[0]["gpu_model"]) == (2, 2, ["a100"])


def test_a_header_that_lacks_what_is_needed_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "s.txt"
    file.write_text("JobID|State|User\n1|COMPLETED|a\n")
    with pytest.raises(InputError, match="Submit"):
        brought(file, tmp_path)


# --- Kubernetes, Ray, tables ---


@pytest.mark.parametrize("as_yaml", [False, True])
def test_kubernetes_objects_become_jobs(as_yaml: bool, tmp_path: Path) -> None:  # noqa: FBT001 - both ways in
    file = PASTS / "kubernetes.json"
    if as_yaml:
        raw = json.loads(file.read_text())
        file = tmp_path / "all.yaml"
        file.write_text(yaml.safe_dump_all(raw["items"]))
    found, jobs = brought(file, tmp_path)
    named = {job["name"]: job for job in jobs}
    assert sorted(named) == ["ddp", "train", "wide"]
    train = named["train"]
    assert (train["gpus"], train["cpus"], train["memory"], train["gpu_model"]) == (4, 8, 65 * 2**30, ["A100"])
    assert (train["runtime"], train["exit_code"], train["max_retries"]) == ([600, 4800], [137, 0], 1)
    assert (train["took"], train["time_limit"], train["queue"], train["user"]) == (7200, 86400, "gpus", "anna")
    assert (named["wide"]["tasks"], named["wide"]["runtime"], named["wide"]["exit_code"]) == (3, 1800, 1)
    assert (named["ddp"]["tasks"], named["ddp"]["gpus"], named["ddp"]["priority"]) == (2, 8, 7)
    assert named["ddp"]["runtime"] == 3620
    assert found.gaps.left == {
        "pods of services and of the cluster itself": 1,
        "objects of kind ConfigMap (Jobs, Pods and Events are read)": 1,
        "Jobs that are not over": 1,
    }
    assert found.gaps.first[0][1].startswith("resources.cpu: 'many' is refused")


def test_ray_s_list_becomes_jobs(tmp_path: Path) -> None:
    found, jobs = brought(PASTS / "ray.json", tmp_path)
    named = by_id(jobs)
    train = named["raysubmit_a"]
    assert (train["name"], train["user"], train["queue"]) == ("train", "anna", "vision")
    assert (train["runtime"], train["gpus"], train["cpus"], train["resources"]) == (3600.5, 1, 2, {"npu": 2})
    assert (named["raysubmit_b"]["exit_code"], named["raysubmit_b"]["gpus"]) == (3, 0.5)
    assert named["03000000"]["exit_code"] == 1
    assert found.gaps.left == {"jobs that are not over": 1}
    assert [what.split(":")[0] for _, what in found.gaps.first] == ["end_time", "gpus"]
    assert [line for line, _ in found.gaps.first] == [6, 7]


def test_a_table_is_read_by_its_columns(tmp_path: Path) -> None:
    found, jobs = brought(PASTS / "table.csv", tmp_path, TABLE, "csv")
    named = by_id(jobs)
    assert sorted(named) == ["13", "7", "8"]
    first = named["7"]
    assert (first["submit"], first["runtime"], first["took"]) == (7200, 3600, 4200)
    assert (first["gpus"], first["memory"], first["time_limit"]) == (2, 64 * 2**30, 7200)
    assert (named["8"]["submit"], named["8"]["exit_code"], named["8"]["gpus"]) == (0, 1, 0.5)
    assert named["13"]["user"] == "ben\nny"
    assert found.gaps.left == {"rows of jobs that are not over": 1}
    assert [(line, what.split(":")[0]) for line, what in found.gaps.first] == [
        (5, "finished"),
        (6, "gpus"),
        (7, "n_gpu"),
    ]


@pytest.mark.parametrize(
    ("columns", "field"),
    [
        ({"submit": "created"}, "columns"),
        ({"submit": "created", "runtime": "nothing"}, "nothing"),
        ({"submit": "created", "run_time": "id"}, "run_time"),
        ({"submit": "created", "runtime": "id:Gi"}, "columns.runtime"),
    ],
)
def test_columns_that_are_not_there_are_refused(columns: dict[str, str], field: str, tmp_path: Path) -> None:
    options = Options(columns={w: Column(*name.split(":")) for w, name in columns.items()})
    with pytest.raises(InputError) as caught:
        brought(PASTS / "table.csv", tmp_path, options, "csv")
    assert caught.value.field == field


# --- what always holds ---

TIMES = st.integers(0, 10**7)
SLURM_JOB = st.fixed_dictionaries({
    "at": TIMES, "waits": TIMES, "runs": TIMES, "nodes": st.integers(1, 40), "each": st.integers(0, 16),
    "cpus": st.integers(1, 256), "gib": st.integers(0, 4000), "failed": st.booleans(),
    "user": st.text("abcäß -", min_size=1, max_size=9).filter(lambda t: t.strip() == t),
})  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.lists(SLURM_JOB, min_size=1, max_size=12))
def test_what_slurm_tells_comes_back(jobs: list[dict[str, Any]]) -> None:
    rows = ["JobID|User|State|ExitCode|Submit|Start|End|ElapsedRaw|AllocTRES"]
    for i, job in enumerate(jobs):
        at = BEGIN + timedelta(seconds=job["at"])
        start = at + timedelta(seconds=job["waits"])
        end = start + timedelta(seconds=job["runs"])
        state = "FAILED|3:0" if job["failed"] else "COMPLETED|0:0"
        tres = f"cpu={job['cpus'] * job['nodes']},mem={job['gib'] * job['nodes']}G,node={job['nodes']}"
        tres += f",gres/gpu={job['each'] * job['nodes']}"
        times = "|".join(t.strftime("%Y-%m-%dT%H:%M:%S") for t in (at, start, end))
        rows.append(f"{i}|{job['user']}|{state}|{times}|{job['runs']}|{tres}")
    with TemporaryDirectory() as folder:
        file = Path(folder, "s.txt")
        file.write_text("\n".join(rows) + "\n")
        found, written = brought(file, Path(folder))
        trace = open_workload(Path(folder, "out.jsonl"))
        arrivals = list(trace.arrivals())
    assert (found.gaps.bad, trace.damage.count, len(arrivals)) == (0, 0, len(jobs))
    first = min(job["at"] for job in jobs)
    for raw, (at_us, spec, truth) in zip(written, arrivals, strict=True):
        job = jobs[int(raw["labels"]["id"])]
        assert at_us == (job["at"] - first) * 10**6
        assert truth.runtimes_us == (job["runs"] * 10**6,)
        assert truth.took_us == (job["waits"] + job["runs"]) * 10**6
        assert truth.exit_codes == (3 if job["failed"] else 0,)
        (role,) = spec.roles
        assert (role.tasks, role.demand.gpus) == (job["nodes"], job["each"])
        assert (role.demand.cpus, role.demand.memory) == (job["cpus"] * 1000, job["gib"] * 2**30)
        assert spec.user == job["user"]


CELL = st.one_of(
    st.text(max_size=12),
    st.sampled_from([
        "100", "100.batch", "7_3", "7_[1-9]", "5+1", "COMPLETED", "RUNNING", "TIMEOUT", "CANCELLED by 0", "Unknown",
        "2026-03-02T08:00:00", "0001-01-01T00:00:00", "9999-12-31T23:59:59", "1772438400", "99999999999999999999",
        "01:00:00", "9-99:99:99", "UNLIMITED", "cpu=8,gres/gpu=3,node=2", "gres/gpu:a=999999999999", "mem=1e9",
        "mem=5Q",
        "1:0", "-1", "NaN", "1e400", "∞", "٣", "\x00", "a|b", '"',
    ]),
)  # fmt: skip
HEADER = (
    "JobID",
    "State",
    "Submit",
    "Start",
    "End",
    "Elapsed",
    "Timelimit",
    "AllocTRES",
    "JobName",
    "NNodes",
    "ReqMem",
)
VALUE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), CELL),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(CELL, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(CELL, min_size=9, max_size=12), max_size=5))
@example([["1", "COMPLETED", "2026-03-02T08:00:00", "", "", "01:00:00", "", "", "\ud800x"[1:], "", ""]])
def test_no_row_of_slurm_ends_an_import(rows: list[list[str]]) -> None:
    text = "|".join(HEADER) + "\n" + "".join("|".join(cells) + "\n" for cells in rows)
    _survives(text, "slurm")


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(CELL, min_size=8, max_size=10), max_size=5))
def test_no_row_of_a_table_ends_an_import(rows: list[list[str]]) -> None:
    text = ",".join([*COLUMNS.values(), "mem_gb", "limit_min"]).replace("mem_gb:Gi,limit_min:min,", "") + "\n"
    _survives(text + "".join(",".join(cells) + "\n" for cells in rows), "csv", TABLE)


def _placed(template: Any, value: Any, at: int) -> tuple[Any, int]:
    """Put a value into the place with this number."""
    if isinstance(template, dict):
        made = {}
        for key, inner in template.items():
            made[key], at = _placed(inner, value, at)
        return made, at
    if isinstance(template, list):
        listed = []
        for inner in template:
            one, at = _placed(inner, value, at)
            listed.append(one)
        return listed, at
    return (value if at == 0 else template), at - 1


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["ray", "kubernetes"]), VALUE, st.integers(0, 150))
def test_no_value_of_an_object_ends_an_import(source: str, value: Any, at: int) -> None:
    template = json.loads((PASTS / f"{source}.json").read_text())
    _survives(json.dumps(_placed(template, value, at)[0]), source)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(["ray", "kubernetes"]), st.text(max_size=60))
def test_no_text_ends_an_import_otherwise_than_with_a_reason(source: str, text: str) -> None:
    _survives(text, source)
    _survives("[" * 5000 + text, source)


def _survives(text: str, source: str, options: Options | None = None) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder, "in.txt")
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            found, jobs = brought(file, Path(folder), options, source)
        except InputError as error:
            assert str(error)
            return
        assert len(jobs) == found.jobs
        if jobs:
            trace = open_workload(Path(folder, "out.jsonl"))
            assert sum(1 for _ in trace.arrivals()) == found.jobs
            assert trace.damage.count == 0


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = "|".join(["2026-03-02T08:00:00"] * 2 + ["2026-03-02T09:00:00"])
    row = "{}|train-{}|anna|COMPLETED|0:0|" + times + "|3600|gres/gpu=1,node=1\n"

    def peak(rows: int) -> int:
        file = tmp_path / f"{rows}.txt"
        with file.open("w") as out:
            out.write("JobID|JobName|User|State|ExitCode|Submit|Start|End|ElapsedRaw|AllocTRES\n")
            out.writelines(row.format(i, i % 50) for i in range(rows))
        tracemalloc.start()
        assert brought_count(file, tmp_path) == rows
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    monkeypatch.setattr(order, "PIECE_LINES", 500)
    assert peak(6000) < 2 * peak(1500)


def brought_count(file: Path, folder: Path) -> int:
    return import_history(detect(file), file, folder / "out.jsonl", Options()).jobs


# --- the command ---


def test_the_command_writes_a_workload_and_says_what_is_missing(tmp_path: Path) -> None:
    out = tmp_path / "past.jsonl.gz"
    done = CliRunner().invoke(cli, ["history", "import", str(PASTS / "sacct.txt"), str(out)])
    assert done.exit_code == 0, done.output
    assert "wrote 8 jobs" in done.output
    assert "left out: rows of steps, whose job's row tells the same: 3" in done.output
    assert "line 17: Submit: 'yesterday' is refused" in done.output
    assert sum(1 for _ in open_workload(out).arrivals()) == 8
    again = CliRunner().invoke(cli, ["history", "import", "--json", str(PASTS / "ray.json"), str(out)])
    told = json.loads(again.stdout)
    assert (told["jobs"], told["bad_rows"], told["source"]) == (3, 2, "ray")
    args = [f"--column={word}={name}" for word, name in COLUMNS.items()]
    table = ["history", "import", str(PASTS / "table.csv"), str(out), "--from", "csv", *args, "--default", "priority=5"]
    assert CliRunner().invoke(cli, table).exit_code == 0
    assert {a.spec.priority for a in open_workload(out).arrivals()} == {5}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--timezone", "Mars/Base"], "timezone: 'Mars/Base'"),
        (["--default", "gpu=1"], "did you mean 'gpus'"),
        (["--default", "gpus"], "default: 'gpus' is refused"),
        (["--from", "csv"], "columns"),
    ],
)
def test_the_command_names_what_is_wrong(args: list[str], said: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["history", "import", str(PASTS / "sacct.txt"), str(tmp_path / "o"), *args])
    assert done.exit_code == 2, done.output
    assert said in done.output


def test_a_file_that_no_source_knows_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("hello\n")
    done = CliRunner().invoke(cli, ["history", "import", str(file), str(tmp_path / "o")])
    assert (done.exit_code, "it begins with 'hello'" in done.output) == (2, True)
