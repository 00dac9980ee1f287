"""Two controllers on one PostgreSQL database: one leads, the other stands by and takes over when it is killed."""

from __future__ import annotations

import itertools
import json
import os
import signal
import time
from typing import TYPE_CHECKING

import psutil
import pytest

from clearway.store.postgres import LEASE_S
from tests.cli.live import PATIENCE_S, Product, until

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from tests.servers import Server

pytestmark = [pytest.mark.slow, pytest.mark.real_engine]
TAKEOVER_S = 10.0
_numbers = itertools.count(1)


class Pair:
    """Two homes with one database and one engine."""

    def __init__(self, folder: Path, url: str) -> None:
        self.engine = folder / "engine"
        self.homes = [self._home(folder / name, url) for name in ("one", "two")]
        self.processes: list[subprocess.Popen[str]] = []

    def _home(self, home: Path, url: str) -> Product:
        home.mkdir(mode=0o700)
        (home / "clearway.yaml").write_text(f"store: {url}\nengine_home: {self.engine}\ndevices: 2\n")
        return Product(home)

    def up(self, number: int) -> subprocess.Popen[str]:
        """Start a controller in the foreground."""
        self.processes.append(self.homes[number].process("up"))
        return self.processes[-1]

    def leads(self, number: int) -> bool:
        """Say whether a controller answers."""
        return self.homes[number]("status").code == 0

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()


def says(product: Product, text: str) -> bool:
    log = product.home / "controller.log"
    return log.exists() and text in log.read_text()


@pytest.fixture
def pair(tmp_path: Path, postgres: Server) -> Iterator[Pair]:
    made = Pair(tmp_path, postgres.make(f"standby{next(_numbers)}"))
    yield made
    made.end()


def test_the_standby_takes_over_and_what_runs_goes_on(pair: Pair, tmp_path: Path) -> None:
    one, two = pair.homes
    leader = pair.up(0)
    until(lambda: pair.leads(0), "the first one leads")
    mark, release = tmp_path / "ran", tmp_path / "release"
    script = f"echo $CLEARWAY_ATTEMPT >> {mark}; while [ ! -e {release} ]; do sleep 0.1; done"
    running = one.run("sh", "-c", script)
    waiting = one.run("sh", "-c", f"echo waited >> {mark}", words=("--after", "sh", "--name", "waits"))
    until(mark.exists, "the job runs")
    pair.up(1)
    until(lambda: says(two, "standing by"), "the second one stands by")
    assert not pair.leads(1)
    killed = time.monotonic()
    leader.send_signal(signal.SIGKILL)
    while not pair.leads(1):
        assert time.monotonic() - killed < PATIENCE_S
        time.sleep(0.05)
    assert time.monotonic() - killed < TAKEOVER_S
    assert two.json("show", f"id:{running}")["state"] == "running"
    release.touch()
    assert two("wait", "--timeout", "30", f"id:{running}", f"id:{waiting}").code == 0
    assert mark.read_text().split() == ["1", "waited"]
    assert two.json("db", "check")["faults"] == []


def test_a_leader_that_hung_and_comes_back_does_nothing_any_more(pair: Pair, tmp_path: Path) -> None:
    """Stopped for longer than its lease, it is succeeded; when it goes on it writes nothing, and ends."""
    one, two = pair.homes
    leader = pair.up(0)
    until(lambda: pair.leads(0), "the first one leads")
    pid = one.json("status")["controller"]["pid"]
    pair.up(1)
    until(lambda: says(two, "standing by"), "the second one stands by")
    os.kill(pid, signal.SIGSTOP)
    until(lambda: pair.leads(1), "the second one leads")
    number = two.run("sh", "-c", f"echo ran >> {tmp_path / 'ran'}")
    assert two("wait", "--timeout", "30", f"id:{number}").code == 0
    os.kill(pid, signal.SIGCONT)
    leader.wait(PATIENCE_S)
    assert says(one, "is led by another controller since")
    assert [row["name"] for row in two.json("ps", "-a")["jobs"]] == ["sh"]
    assert (tmp_path / "ran").read_text() == "ran\n"


def all_of(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to a process and all that it started, those of it first that can start no others."""
    for one in (psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)):
        one.send_signal(number)


def test_a_database_that_is_cut_off_and_comes_back_is_led_by_one(pair: Pair, postgres: Server, tmp_path: Path) -> None:
    """Nobody writes for longer than a lease; then one of the two leads, and all that was accepted has run once."""
    one, two = pair.homes
    pair.up(0)
    until(lambda: pair.leads(0), "the first one leads")
    pair.up(1)
    until(lambda: says(two, "standing by"), "the second one stands by")
    mark, release = tmp_path / "ran", tmp_path / "release"
    script = f"echo $CLEARWAY_ATTEMPT >> {mark}; while [ ! -e {release} ]; do sleep 0.1; done"
    one.run("sh", "-c", script)
    until(mark.exists, "the job runs")
    all_of(postgres.process, signal.SIGSTOP)
    try:
        time.sleep(LEASE_S + 2)
        release.touch()  # it ends while nobody can write that down
    finally:
        all_of(postgres.process, signal.SIGCONT)
    later = tmp_path / "later.yaml"
    later.write_text(json.dumps({"name": "later", "run": f"echo later >> {mark}", "idempotency_key": "once"}))
    until(lambda: any(home("submit", str(later)).code == 0 for home in pair.homes), "one of them takes a job")
    until(lambda: any(states(home) == ["succeeded"] * 2 for home in pair.homes), "both jobs are over")
    assert mark.read_text().split() == ["1", "later"]
    until(lambda: [pair.leads(0), pair.leads(1)].count(True) == 1, "exactly one leads")
    leader = one if pair.leads(0) else two
    assert leader.json("db", "check")["faults"] == []


def states(home: Product) -> list[str]:
    """Return how the jobs stand that a controller knows; none where it leads no more."""
    told = home("--json", "ps", "-a")
    return [row["state"] for row in json.loads(told.out)["jobs"]] if told.code == 0 else []


def test_no_tick_fires_twice_when_the_leader_is_killed_between_two(pair: Pair, tmp_path: Path) -> None:
    """Every second has one run at most, before, during and after the change, and each run takes place."""
    one, two = pair.homes
    leader = pair.up(0)
    until(lambda: pair.leads(0), "the first one leads")
    ran = tmp_path / "ran"
    ran.touch()
    words = {"name": "S", "cron": "* * * * * *", "overlap": "allow", "catchup": "all"}
    job = {"run": f"echo $CLEARWAY_JOB >> {ran}"}
    assert one("schedule", "set", "-", stdin=json.dumps({**words, "job": job})).code == 0
    pair.up(1)
    until(lambda: says(two, "standing by"), "the second one stands by")
    until(lambda: len(ran.read_text().split()) > 1, "it has fired")
    leader.send_signal(signal.SIGKILL)
    until(lambda: pair.leads(1), "the second one leads")
    before = len(ran.read_text().split())
    until(lambda: len(ran.read_text().split()) > before + 1, "it fires again")
    assert two("schedule", "pause", "S").code == 0
    until(lambda: set(states(two)) == {"succeeded"}, "nothing of it runs")
    names = [row["name"] for row in two.json("ps", "-a")["jobs"]]
    assert len(set(names)) == len(names) == len(set(ran.read_text().split()))  # the kill may have one tried again
    assert two.json("db", "check")["faults"] == []
