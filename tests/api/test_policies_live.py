"""A policy that is tried, promoted and taken back, on a controller that runs and is killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clearway.compose.launch import ensure_running
from clearway.config.home import process_start, read_running
from clearway.model.errors import ConflictError, InputError
from clearway.sdk.client import Client
from tests.api.live import kill_controller, live, until
from tests.cli.live import Product

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow
SETTINGS = {"devices": 1, "policy": {"order": ["fifo"], "backfill": "none"}}
STAYS = ["sleep", "3000"]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    with live(tmp_path, **SETTINGS):
        yield tmp_path


def children(home: Path) -> list[int]:
    """Return the processes of the candidate that the controller of a home has."""
    running = read_running(home)
    assert running is not None
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = stat.read_text().rpartition(")")[2].split()[1]
            if int(parent) == running.pid and b"clearway.api.past.shadow" in (stat.parent / "cmdline").read_bytes():
                found.append(int(stat.parent.name))
        except OSError:
            continue
    return found


def sees(client: Client) -> bool:
    return bool(client.compare_policies()["state"] == "watching")


def test_a_policy_that_starves_a_tenant_is_taken_back_by_itself(home: Path) -> None:
    client, product = Client.connect(home), Product(home)
    holder = client.submit([{"name": "holder", "run": STAYS, "gpus": 1}])[0]["id"]
    until(lambda: client.job(f"id:{holder}")["state"] == "running", "the device is held")
    assert product("policy", "shadow", "sjf+none").code == 0
    until(lambda: sees(client), "the candidate is followed")
    (child,) = children(home)
    born = process_start(child)
    row = product.json("policy", "promote", "--bound", "10", "--least", "1s", "--jobs", "1", "--for", "1h")
    assert (row["how"], row["called"], row["before"]) == ("promoted", "sjf+none", "fifo+none")

    kill_controller(home)
    until(lambda: process_start(child) != born, "the candidate's process has ended with the controller")
    ensure_running(home, SETTINGS)
    client = Client.connect(home)
    row = client.policy()
    assert (row["how"], row["words"]["order"], row["candidate"]["name"]) == ("promoted", ["sjf"], "fifo+none")
    assert "stays in force" in (home / "controller.log").read_text()
    until(lambda: sees(client), "the guard sees")

    work = {"run": STAYS, "gpus": 1}
    client.submit([{"name": "long", "tenant": "slow", "time_estimate": "2h", **work}])
    client.submit([{"name": "short", "tenant": "quick", "time_estimate": "1s", **work}])
    client.cancel(f"id:{holder}")
    until(lambda: client.policy()["how"] == "rolled back", "the guard takes it back")
    row = client.policy()
    worse = row["changes"][0]["worse"]
    assert (worse["tenant"], worse["jobs"]) == ("slow", 1)
    assert worse["wait_s"] >= worse["would_s"] + 1
    assert (row["by"], row["guard"], row["candidate"], row["words"]["order"]) == (None, None, None, ["fifo"])
    (line,) = client.changes(who="the guard")
    assert (line["method"], line["about"]["tenant"]) == ("ROLLBACK", "slow")
    assert "the guard" in product("policy", "show").out
    until(lambda: children(home) == [], "nothing is tried any more")
    assert client.compare_policies()["state"] == "none"

    kill_controller(home)
    ensure_running(home, SETTINGS)
    row = Client.connect(home).policy()
    assert (row["how"], row["words"]["order"], row["settings"]) == ("rolled back", ["fifo"], "fifo+none")


def test_it_is_compared_shown_and_refused_where_it_cannot_be(home: Path) -> None:
    client, product = Client.connect(home), Product(home)
    with pytest.raises(InputError, match="policy"):
        client.shadow("sfj")
    with pytest.raises(ConflictError):
        client.promote()
    with pytest.raises(ConflictError):
        client.rollback()
    assert "no policy is tried" in product("policy", "compare").out
    client.shadow({"order": ["sjf"]}, "mine")
    for n in range(3):
        assert client.wait(f"id:{client.submit([{'name': f'j{n}', 'run': ['true'], 'gpus': 1}])[0]['id']}")["ended"]
    until(lambda: (client.compare_policies()["comparison"] or {"whole": {"jobs": 0}})["whole"]["jobs"] == 3, "seen")
    found = client.compare_policies()
    assert (found["candidate"], found["in_force"]) == ("mine", "fifo+none")
    assert found["comparison"]["whole"]["same"] == 3
    said = product("policy", "compare")
    assert said.code == 0
    assert "mine beside fifo+none: 3 jobs" in said.out
    (child,) = children(home)
    os.kill(child, signal.SIGKILL)
    until(lambda: client.compare_policies()["state"] == "failed", "it is told that nobody follows it")
    assert "its process has ended" in client.compare_policies()["reason"]
    assert "not followed any more" in product("policy", "compare").out
    assert client.policy()["how"] == "settings"
    assert product("policy", "shadow", "--off").code == 0
    assert client.policy()["candidate"] is None
    assert [change["what"] for change in client.policy()["changes"]][:2] == ["tried no longer", "tried beside it"]
    client.shadow("sjf")
    until(lambda: sees(client), "the next candidate is followed")
    os.kill(children(home)[0], signal.SIGSTOP)  # one that hangs is ended all the same
    client.end_shadow()
    until(lambda: children(home) == [], "the process is gone")
