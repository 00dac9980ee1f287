"""The example day runs as it stands, through the product as anybody has it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest
import yaml

from clearway.compose.history import records
from clearway.model.events import Ended, Submitted
from clearway.model.machine_words import read_queue
from clearway.model.words import read_job

LONGEST_S = 280
UNSEEN = 0.9  # of the digits that were kept aside; a guess is right at one in ten
DAY = Path(__file__).resolve().parents[2] / "examples" / "day"


class Run(NamedTuple):
    """What the day did."""

    code: int
    out: str
    place: Path

    def document(self, name: str) -> Any:
        return json.loads((self.place / name).read_text())


@pytest.fixture(scope="module")
def day(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run it once, for all tests of this file."""
    place = tmp_path_factory.mktemp("day") / "out"
    command = [sys.executable, "-m", "examples.day.run", "--out", str(place)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    return Run(done.returncode, done.stdout + done.stderr, place)


def jobs() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for path in sorted((DAY / "jobs").glob("*.yaml")):
        document = yaml.safe_load(path.read_text())
        found += document.get("jobs", [document])
    return found


@pytest.mark.slow
def test_all_jobs_of_the_day_succeed(day: Run) -> None:
    assert day.code == 0, day.out
    names: dict[int, str] = {}
    ends: dict[str, str] = {}
    for record in records(day.place / "home"):
        if isinstance(record, Submitted):
            names[record.job] = record.spec.name
        elif isinstance(record, Ended):
            ends[names[record.job]] = str(record.state)
    assert ends == {job["name"]: "succeeded" for job in jobs()}
    table = day.out.partition("What ran when, and why")[2].partition("The devices")[0]
    assert [name for name in ends if f"  {name} " not in table] == []


@pytest.mark.slow
def test_the_model_that_is_picked_knows_digits_that_nobody_has_seen(day: Run) -> None:
    best, compared = day.document("best.json"), day.document("evaluation.json")["models"]
    assert best["digits"] > 300
    assert best["accuracy"] > UNSEEN
    assert compared[best["model"]]["accuracy"] == max(found["accuracy"] for found in compared.values())
    assert f"{best['accuracy']:.2%} right" in day.out


@pytest.mark.slow
def test_the_gang_has_trained_one_model_together(day: Run) -> None:
    assert "gang-of-4" in day.document("evaluation.json")["models"]
    written = sorted((day.place / "home" / "logs").glob("*/*-0-[0-3].stdout"))
    ranks = {line.split(" on ")[0] for path in written for line in path.read_text().splitlines() if " of 4 " in line}
    assert ranks == {f"rank {rank} of 4" for rank in range(4)}


@pytest.mark.slow
def test_it_says_that_devices_are_only_counted(day: Run) -> None:
    assert "8 devices are only counted" in day.out


@pytest.mark.slow
def test_nothing_of_it_runs_on(day: Run) -> None:
    """A runner that has nothing to do and no controller goes by itself, so it is given a moment."""
    mine = [p for p in psutil.process_iter(["cmdline"]) if any(str(day.place) in w for w in p.info["cmdline"] or ())]
    _, alive = psutil.wait_procs(mine, timeout=10)
    assert [process.cmdline() for process in alive] == []


@pytest.mark.parametrize("words", jobs(), ids=lambda words: str(words["name"]))
def test_its_jobs_are_what_the_product_reads(words: dict[str, Any]) -> None:
    assert read_job(words).name == words["name"]


def test_its_queues_are_what_the_product_reads_and_those_that_its_jobs_name() -> None:
    queues = {read_queue(words).name for words in yaml.safe_load((DAY / "queues.yaml").read_text())["queues"]}
    assert {words["queue"] for words in jobs()} <= queues


def test_every_dependency_is_submitted_before_or_with_the_job_that_waits_for_it() -> None:
    names = [words["name"] for words in jobs()]
    for words in jobs():
        assert set(words.get("after", ())) <= set(names[: names.index(words["name"])]), words["name"]


@pytest.mark.slow
def test_a_day_that_cannot_begin_says_so(root: Path, tmp_path: Path) -> None:
    """The place is taken: there is no controller, no trace and no half day."""
    (tmp_path / "taken").mkdir()
    command = [sys.executable, "-m", "examples.day.run", "--out", str(tmp_path / "taken")]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "taken" in done.stderr
