"""Two controllers on one PostgreSQL database: one leads, the other stands by and takes over when it is killed."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests import servers
from tests.cli.live import PATIENCE_S, Product, until

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.real_engine]
TAKEOVER_S = 10.0


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
def pair(tmp_path: Path) -> Iterator[Pair]:
    server = servers.start()
    made = Pair(tmp_path, server.make("clearway"))
    yield made
    made.end()
    servers.stop(server)


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
