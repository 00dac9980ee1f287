"""Actors, by a real controller."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from clearway import group
from clearway.model.errors import ActorDiedError, CallCancelledError
from tests.api.live import until
from tests.sdk.tasks_used import Counter, add

if TYPE_CHECKING:
    from pathlib import Path

    from clearway.sdk.client import Client

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("client")]
SETTINGS = {"fleet": {"nodes": [{"name": "n", "cpus": 16}]}}
PATIENCE_S = 60


def test_a_class_called_plainly_makes_an_object_here() -> None:
    assert Counter(3).add() == 4


def test_state_stays_in_one_process_and_calls_keep_their_order() -> None:
    counter = Counter.remote(10)
    handles = [counter.add.remote(n) for n in range(50)]
    assert [handle.get(PATIENCE_S) for handle in handles] == [10 + sum(range(n + 1)) for n in range(50)]
    assert counter.later.remote().get(PATIENCE_S) == 10 + sum(range(50))
    other = Counter.remote()
    assert other.pid.remote().get(PATIENCE_S) != counter.pid.remote().get(PATIENCE_S)
    assert other.add.remote().get(PATIENCE_S) == 1
    other.end()
    with pytest.raises(ActorDiedError):
        other.add.remote().get(PATIENCE_S)
    assert counter.add.remote(0).get(PATIENCE_S) == 10 + sum(range(50))
    counter.end()


def test_an_actor_that_dies_fails_its_calls(client: Client) -> None:
    counter = Counter.remote()
    with pytest.raises(ActorDiedError):
        counter.die.remote().get(PATIENCE_S)
    with pytest.raises(ActorDiedError):
        counter.add.remote().get(PATIENCE_S)
    assert not [row for row in client.jobs() if row["name"].startswith("actor-") and row["state"] == "running"]


def test_an_actor_is_started_again_by_its_rule(tmp_path: Path) -> None:
    counter = Counter.options(max_retries=2, retry_backoff=0.1).remote(5)
    first = counter.pid.remote().get(PATIENCE_S)
    counter.add.remote().get(PATIENCE_S)
    assert counter.die_once.remote(str(tmp_path / "died")).get(PATIENCE_S) == "alive"
    assert counter.pid.remote().get(PATIENCE_S) != first
    assert counter.add.remote().get(PATIENCE_S) == 6
    counter.end()


def test_an_actor_outlives_the_calls_of_it_that_are_cancelled(tmp_path: Path) -> None:
    counter = Counter.remote(1)
    pid = counter.pid.remote().get(PATIENCE_S)
    for method in (counter.wait, counter.wait_async):
        began = tmp_path / str(method)
        running, behind = method.remote(str(began)), counter.add.remote()
        dropped = counter.add.remote(100)
        until(began.exists, "it runs")
        dropped.cancel()
        running.cancel()
        behind.get(PATIENCE_S)
        with pytest.raises(CallCancelledError):
            running.get(PATIENCE_S)
    assert counter.pid.remote().get(PATIENCE_S) == pid
    assert counter.add.remote().get(PATIENCE_S) == 4
    counter.end()


def test_methods_are_put_together_with_tasks() -> None:
    counter = Counter.remote()
    handle = (add.s(1) | counter.add.s() | group(add.s(), counter.add.s())).remote()
    assert handle.get(PATIENCE_S) == [3, 4]
    counter.end()


def test_a_constructor_that_raises_says_so() -> None:
    counter = Counter.remote(1, 2, 3)
    with pytest.raises(TypeError, match="positional argument"):
        counter.ready.get(PATIENCE_S)
    counter.end()


PROGRAM = """
from clearway import task

@task
class Counter:
    count = 0

    def add(self):
        self.count += 1
        return self.count

one, other = Counter.remote(), Counter.options(detached=True).remote()
assert one.add.remote().get(60) == other.add.remote().get(60) == 1
"""


def test_actors_end_with_their_program_unless_they_are_detached(root: Path, client: Client) -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, cwd=root)

    def left() -> list[dict[str, object]]:
        return [row for row in client.jobs() if row["name"].startswith("actor-")]

    until(lambda: len(left()) == 1, "one ends, the other stays")
    client.cancel(f"id:{left()[0]['id']}")
