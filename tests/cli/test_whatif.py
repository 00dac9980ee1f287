"""`clearway whatif`: the past replayed as it would have gone, told in words, as a page and as JSON."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from clearway.cli.main import cli
from clearway.model.job import Demand, JobSpec, Role
from clearway.model.values import SECOND_US
from clearway.sim.run import simulate
from clearway.sim.truth import Truth
from clearway.sim.workloads import Arrival
from clearway.sim.workloads.writer import written
from clearway.store import SqliteJournal

if TYPE_CHECKING:
    from pathlib import Path

HOUR = 3600 * SECOND_US
DAY = 24 * HOUR
HEADER = {
    "clock": "2026-03-01T00:00:00Z",
    "fleet": {"nodes": [{"name": "n", "count": 2, "gpus": 4, "gpu_model": "A100"}]},
    "queues": [{"name": "long", "guarantee": {"gpus": 4}}, {"name": "short"}],
    "limits": [{"name": "db", "slots": 2}],
}


def job(at_us: int, name: str, gpus: int, run_us: int, user: str, *, took_us: int | None = None) -> Arrival:
    queue = "long" if gpus > 1 else "short"
    spec = JobSpec(
        name, (Role(demand=Demand(gpus=gpus)),), queue=queue, user=user, tenant=f"of-{queue}", time_estimate_us=run_us
    )
    return Arrival(at_us, spec, Truth(runtimes_us=(run_us,), took_us=took_us))


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Days on which long jobs come first and short ones wait behind them."""
    file = tmp_path_factory.mktemp("past") / "past.jsonl"
    with written(file, HEADER) as write:
        for day in range(8):
            for i in range(4):
                write(job(day * DAY + i, "wide", 4, 4 * HOUR, "lena", took_us=(4 + 4 * (i // 2)) * HOUR))
            for i in range(6):
                write(job(day * DAY + 60 * SECOND_US + i, "small", 1, HOUR // 6, "sami", took_us=9 * HOUR))
            write(job(day * DAY + 9 * HOUR + 120 * SECOND_US, "after", 1, HOUR // 6, "sami", took_us=HOUR))
    return file


def called(*args: object) -> Result:
    return CliRunner().invoke(cli, ["whatif", *map(str, args)])


def answered(*args: object) -> Any:
    done = called("--json", *args)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_who_wins_and_who_loses_is_told_with_intervals(workload: Path) -> None:
    told = answered(workload, "--base-policy", "fifo+none", "--policy", "sjf+none")
    groups = {(group["kind"], group["name"]): group for group in told["groups"]}
    small, wide = groups[("user", "sami")], groups[("user", "lena")]
    assert (small["jobs"], wide["jobs"]) == (56, 32)
    assert small["verdict"] == "shorter"
    assert small["completion"]["high"] < 0 < small["wait_before"]
    assert wide["completion"]["mean"] >= 0
    assert {kind for kind, _ in groups} == {"queue", "user", "tenant", "size"}
    assert groups[("size", "1")]["jobs"] == 56
    assert told["changes"] == ["policy sjf+none instead of fifo+none"]
    assert told["comparison"]["differences"]["what if"]["jobs"] == 88


def test_what_hung_on_an_end_comes_sooner_where_that_is_sooner(workload: Path) -> None:
    args = (workload, "--base-policy", "fifo+none", "--policy", "sjf+none")
    told = answered(*args)
    assert (told["arrivals"]["source"], told["arrivals"]["hang"], told["arrivals"]["held"]) == ("record", 8, 0)
    open_ = answered(*args, "--think", "none")
    assert (open_["arrivals"]["source"], open_["arrivals"]["hang"]) == ("none", 0)
    assert "no time of thought is wanted" in " ".join(open_["caveats"])


def test_without_recorded_ends_those_of_the_replay_are_taken(tmp_path: Path) -> None:
    file = tmp_path / "w.jsonl"
    with written(file, HEADER) as write:
        for day in range(4):
            write(job(day * DAY, "first", 4, HOUR, "lena"))
            write(job(day * DAY + HOUR + 60 * SECOND_US, "second", 4, HOUR, "lena"))
    told = answered(file, "--policy", "fifo")
    assert (told["arrivals"]["source"], told["arrivals"]["hang"], told["fidelity"]) == ("replay", 4, None)
    assert told["comparison"]["differences"]["what if"]["completion"]["mean"] == 0


def test_the_same_question_has_the_same_answer(workload: Path) -> None:
    def told(*args: object) -> Any:
        found = answered(workload, "--policy", "sjf", "--seed", 3, *args)
        for policy in found["comparison"]["policies"].values():
            for key in ("wall_seconds", "jobs_per_second", "peak_bytes"):
                policy.pop(key)
        return found

    assert told("-j", 1) == told("-j", 2)


def test_more_machines_and_other_quotas(workload: Path) -> None:
    told = answered(workload, "--fleet", "+8xH100", "--queue", "short.weight=5", "--limit", "db=4")
    assert told["changes"] == [
        "machines +8xH100: 4 nodes with 16 GPUs (8 A100, 8 H100)", "queue short.weight=5", "shared limit db=4",
    ]  # fmt: skip
    figures = told["comparison"]["policies"]
    assert figures["what if"]["wait"]["mean"] < figures["as is"]["wait"]["mean"]


def test_jobs_since_a_time_count_and_those_before_fill_the_machines(workload: Path) -> None:
    for since in ("3d", "2026-03-05T09:00:00Z"):
        told = answered(workload, "--policy", "sjf", "--since", since, "--warm-up", "1d")
        assert told["comparison"]["policies"]["as is"]["finished"] == 33 + 1, since
        assert told["warm_up_jobs"] == 11
    bare = workload.parent / "bare.jsonl"
    with written(bare) as write:
        write(job(0, "a", 1, HOUR, "u"))
    done = called(bare, "--policy", "sjf", "--since", "2026-03-05T09:00:00Z")
    assert (done.exit_code, "has no clock" in done.output) == (2, True)


def test_the_words_and_the_page(workload: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = called(workload, "--base-policy", "fifo+none", "-p", "sjf+none", "--html", page)
    assert done.exit_code == 0, done.output
    for words in (
        "what if: policy sjf+none instead of fifo+none", "a job would be over", "who wins and who loses, by users",
        "how far to believe it", "8 of 88 jobs were submitted at most 20 min after", "recorded was",
    ):  # fmt: skip
        assert words in done.output, words
    html = page.read_text()
    assert "Who wins, who loses" in html
    assert "How far to believe it" in html
    assert not re.search(r"<script|https?://|src=|@import|url\(", html), "it needs nothing else"


def test_names_are_shown_escaped(tmp_path: Path) -> None:
    file, page = tmp_path / "w.jsonl", tmp_path / "p.html"
    with written(file, HEADER) as write:
        for i, user in enumerate(("<img src=x>", "b&b")):
            write(job(i, "x", 1, HOUR, user))
    assert called(file, "-p", "sjf", "--html", page).exit_code == 0
    assert "<img" not in page.read_text()
    assert "b&amp;b" in page.read_text()


def test_the_journal_of_a_controller_is_the_past(tmp_path: Path) -> None:
    scenario = tmp_path / "s.yaml"
    scenario.write_text(
        "policy: {order: [fifo], backfill: none}\nfleet: {nodes: [{name: n, gpus: 4}]}\nuntil: 4000\njobs:\n"
        "  - {name: long, runtime: 1000, gpus: 4, time_estimate: 1000, user: lena}\n"
        "  - {name: wide, submit: 1, runtime: 1000, gpus: 4, time_estimate: 1000, user: lena}\n"
        "  - {name: small, submit: 2, count: 5, runtime: 10, gpus: 1, time_estimate: 10, user: sami}\n"
        "  - {name: open, submit: 3}\n"
    )
    journal = SqliteJournal(tmp_path / "journal.db")
    journal.append(simulate(scenario).records)
    journal.close()
    told = answered("--home", tmp_path, "--base-policy", "fifo+none", "--policy", "sjf+none")
    assert told["read"].startswith("the journal of this controller, records 1 to ")
    assert "7 jobs that are over" in told["read"]
    assert "1 that are not over are left out" in told["read"]
    assert told["as_is"] == "fifo+none on 1 node with 4 GPUs"
    assert told["fidelity"]["recorded_mean"] == pytest.approx(told["fidelity"]["replayed_mean"])
    users = {group["name"]: group for group in told["groups"] if group["kind"] == "user"}
    assert users["sami"]["completion"]["mean"] == -1000
    assert answered("--home", tmp_path, "--policy", "fair")["as_is"].startswith("priority+fifo+easy on")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "say what would be otherwise"),
        (["-p", "quick"], "policy: 'quick' is refused"),
        (["-p", "sjff+none"], "did you mean 'sjf'?"),
        (["--fleet", "+8H100"], "fleet: '+8H100' is refused"),
        (["--queue", "lang.weight=1"], "did you mean 'long'"),
        (["--limit", "db"], "limit: 'db' is refused"),
        (["-p", "sjf", "--think", "long"], "think: 'long' is refused"),
        (["-p", "sjf", "--html", "/nowhere/x.html"], "html: '/nowhere/x.html' is refused"),
    ],
)
def test_what_is_wrong_is_named(args: list[str], said: str, workload: Path) -> None:
    done = called(workload, *args)
    assert done.exit_code == 2, done.output
    assert said in done.output


def test_a_home_without_a_journal_is_named(tmp_path: Path) -> None:
    done = called("--home", tmp_path, "-p", "sjf")
    assert done.exit_code != 0
    assert "journal" in done.output


def test_a_journal_without_a_job_that_is_over_is_named(tmp_path: Path) -> None:
    scenario = tmp_path / "s.yaml"
    scenario.write_text("fleet: {nodes: [{name: n, gpus: 4}]}\njobs: [{name: a, runtime: 10}]\n")
    SqliteJournal(tmp_path / "journal.db").close()
    done = called("--home", tmp_path, "-p", "sjf")
    assert (done.exit_code, "no job is over yet" in done.output) == (4, True), done.output
    journal = SqliteJournal(tmp_path / "journal.db")
    journal.append(simulate(scenario).records)
    journal.close()
    assert "no job submitted since 1h is over" in called("--home", tmp_path, "-p", "sjf", "--since", "1h").output
    assert "Nothing would change for any of 1 jobs" in called("--home", tmp_path, "-p", "sjf").output
