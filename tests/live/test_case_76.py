"""A step of the wall clock kills nothing, times nothing out and revives nothing: of controller, runner, or both."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from clearway.config.home import read_running
from clearway.model import events as ev
from clearway.sdk.client import Client
from clearway.store import SqliteJournal
from tests.api.live import end, until
from tests.cli.live import Product
from tests.live.fake_clock import FakeClock
from tests.live.processes import environment_of, runner_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

HOUR = 3600
RUNS_S, FAILS_S, AGAIN_S = 10, 1, 5
JOBS: list[dict[str, Any]] = [
    *({"name": name, "run": f"sleep {RUNS_S}", "gpus": 1, "time_limit": 600} for name in ("j1", "j2")),
    {"name": "f", "run": f"sleep {FAILS_S}; exit 1", "gpus": 1, "max_retries": 1, "retry_backoff": AGAIN_S},
]
SETTINGS = "fleet: {nodes: [{name: n, gpus: 3}]}\npolicy: {order: [priority, fifo], lease: 3s}\n"
WHOSE = ("both", "controller", "runner")


class Machine:
    """A controller and a runner, of which one or both go by a wall clock of the test's."""

    def __init__(self, folder: Path, whose: str) -> None:
        self.clock = FakeClock(folder / f"clock of {whose}")
        self.product = Product(folder / whose)
        self.product.home.mkdir(mode=0o700)
        (self.product.home / "clearway.yaml").write_text(SETTINGS)
        real, fake = dict(os.environ), self.clock.environment
        self._up(real if whose == "controller" else fake)
        if whose != "both":  # the runner stays as long as it has something to do; what starts next meets it
            Client.connect(self.product.home).submit([{"name": "keeps the runner", "run": "sleep 600"}])
            until(lambda: self.client.job("keeps the runner")["state"] == "running", "it runs")
            assert self.product("down").code == 0
            self._up(fake if whose == "controller" else real)
        running = read_running(self.product.home)
        assert running is not None
        pids = {"controller": running.pid, "runner": runner_of(self.product.home)}
        for name, pid in pids.items():  # else it would be another test
            fakes = any(one.startswith("FAKE_CLOCK=") for one in environment_of(pid))
            assert fakes == (whose in (name, "both"))

    def _up(self, environment: dict[str, str]) -> None:
        with self.product.process("up", "--detach", env=environment) as process:
            assert process.wait(60) == 0
        self.client = Client.connect(self.product.home)

    def row(self, name: str) -> dict[str, Any]:
        return self.client.job(name)

    def has_failed(self) -> bool:
        """Whether the first attempt of f is over: it pauses, or on a busy machine runs again already."""
        attempts = self.row("f")["attempts"]
        return bool(attempts) and attempts[0]["to"] is not None

    def shown(self) -> str:
        with self.product.process("ps", "-a", env=self.clock.environment) as process:
            return process.communicate(timeout=60)[0]


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Machine]]:
    """All three live through the same steps at the same time."""
    folder, found = tmp_path_factory.mktemp("76"), dict[str, Machine]()
    with ExitStack() as held:
        for whose in WHOSE:
            found[whose] = Machine(folder, whose)
            held.callback(end, found[whose].product.home)
        for machine in found.values():
            machine.client.submit(JOBS)
        _live_through(list(found.values()))
        yield found


def _live_through(machines: list[Machine]) -> None:
    """Step forward in f's pause, back by twice as much while it runs again, and forth once more."""
    for machine in machines:
        until(machine.has_failed, "f fails")
    shown = []
    for ahead_s in (HOUR, -HOUR, 0):
        for machine in machines:
            machine.clock.step_to(ahead_s)
        time.sleep(1)  # what a step would do it does by then
        shown += [machine.shown() for machine in machines]
    for machine in machines:
        for name in ("j1", "j2", "f"):
            machine.client.wait(name, 60)
        shown.append(machine.shown())
    for text in shown:
        assert " h " not in text, text


def _between_s(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


@pytest.mark.parametrize("whose", WHOSE)
@pytest.mark.parametrize("name", ["j1", "j2"])
def test_what_runs_goes_on_to_its_end_and_its_time_is_shown(
    machines: dict[str, Machine], whose: str, name: str
) -> None:
    (attempt,) = machines[whose].row(name)["attempts"]
    assert attempt["end"] == "succeeded"
    assert RUNS_S <= _between_s(attempt["from"], attempt["to"]) < RUNS_S + 60


@pytest.mark.parametrize("whose", WHOSE)
def test_what_failed_is_tried_again_after_its_pause(machines: dict[str, Machine], whose: str) -> None:
    row = machines[whose].row("f")
    first, second = row["attempts"]
    assert row["state"] == "failed"
    assert AGAIN_S <= _between_s(first["to"], second["from"]) < AGAIN_S + 60


@pytest.mark.parametrize("whose", WHOSE)
def test_no_node_is_lost_and_who_leads_stays(machines: dict[str, Machine], whose: str) -> None:
    home = machines[whose].product.home
    journal = SqliteJournal(home / "journal.db", writes=False)
    records = [entry.record for entry in journal.read()]
    journal.close()
    assert not [r for r in records if isinstance(r, ev.NodeLost | ev.NodeQuiet)]
    assert [r.at_us for r in records] == sorted(r.at_us for r in records)
    assert sum(isinstance(r, ev.ControllerStarted) for r in records) == (1 if whose == "both" else 2)


def test_the_clock_is_set(tmp_path: Path) -> None:
    """Without that the others would hold for nothing."""
    clock = FakeClock(tmp_path / "clock")
    code = (
        "import datetime, time; print(time.time(), time.monotonic(), datetime.datetime.now(datetime.UTC).timestamp())"
    )
    for ahead_s in (HOUR, -HOUR, 0):
        clock.step_to(ahead_s)
        said = subprocess.check_output([sys.executable, "-c", code], env=clock.environment, text=True).split()
        wall, monotonic, date = map(float, said)
        assert round((wall - time.time()) / HOUR) == round((date - time.time()) / HOUR) == ahead_s // HOUR
        assert abs(monotonic - time.monotonic()) < HOUR / 2
