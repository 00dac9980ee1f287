"""Tenants at the door: whose queue a job may wait in, whatever way it comes in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clearway.config.home import read_running
from clearway.model.errors import InputError
from clearway.sdk.client import Client
from tests.api.live import live

if TYPE_CHECKING:
    from collections.abc import Iterator

SETTINGS = """
queues: [{name: eyes, defaults: {priority: 4}}, {name: ears}]
tenants:
  - {name: vision, users: [ada], queues: [eyes], defaults: {priority: 2, max_retries: 1}}
  - {name: speech, users: [cy], queues: [ears], max_priority: 3}
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    home = tmp_path_factory.mktemp("tenants")
    (home / "clearway.yaml").write_text(SETTINGS)
    with live(home, devices=1, listen="127.0.0.1:0") as found:
        yield found


def job(**words: object) -> dict[str, object]:
    return {"name": "j", "run": "true", **words}


def test_a_job_has_its_users_tenant_and_its_defaults_below_those_of_the_queue(client: Client) -> None:
    told = client.submit([job(user="ada"), job(user="ada", queue="eyes"), job()])
    asked = [client.job(f"id:{one['id']}")["words"] for one in told]
    assert [one["tenant"] for one in asked] == ["vision", "vision", None]
    assert [one["priority"] for one in asked] == [2, 4, 0]
    assert [one["max_retries"] for one in asked] == [1, 1, 0]


@pytest.mark.parametrize(
    "words", [{"user": "ada", "queue": "ears"}, {"queue": "eyes"}, {"user": "cy", "tenant": "vision"}]
)
def test_a_job_for_another_tenants_queue_is_refused(client: Client, words: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"tenant.*jobs\[0\], job j"):
        client.submit([job(**words)])


def test_a_job_is_not_moved_to_another_tenants_queue(client: Client) -> None:
    number = client.submit([job(user="ada", gpus=2, queue="eyes")])[0]["id"]
    with pytest.raises(InputError, match="this one belongs to tenant 'speech'"):
        client.set(f"id:{number}", {"queue": "ears"})
    assert client.set(f"id:{number}", {"queue": "default"})["queue"] == "default"
    client.cancel(f"id:{number}")


def test_steps_schedules_and_trials_are_looked_at_too(client: Client) -> None:
    bad = {"run": "true", "queue": "eyes"}
    with pytest.raises(InputError, match="'vision'"):
        client.run_flow({"name": "w", "steps": [{"name": "s", **bad}]})
    with pytest.raises(InputError, match="'vision'"):
        client.set_schedule({"name": "s", "cron": "0 0 * * *", "timezone": "UTC", "job": bad})
    with pytest.raises(InputError, match="'vision'"):
        client.run_search({"name": "x", "trials": 1, "space": {"x": [1]}, "sampler": "grid", "job": bad})


def test_a_submitters_priority_has_a_bound(client: Client, tmp_path: Path) -> None:
    home = client.status()["controller"]["home"]
    running = read_running(Path(home))
    assert running is not None

    def as_(user: str, role: str) -> Client:
        file = tmp_path / user
        file.write_text(client.make_token({"user": user, "role": role})["token"])
        return Client.at(running.listen, file)

    cy, ada, oscar = as_("cy", "submitter"), as_("ada", "submitter"), as_("oscar", "operator")
    with pytest.raises(InputError, match="priority.*at most 3 for a submitter here"):
        cy.submit([job(priority=4)])
    with pytest.raises(InputError, match="at most 2 "):
        ada.submit([job(priority=3)])
    with pytest.raises(InputError, match="at most 3"):
        cy.run_flow({"name": "w", "steps": [{"name": "s", "run": "true", "priority": 4}]})
    with pytest.raises(InputError, match="at most 3"):
        cy.set_schedule({"name": "s", "cron": "0 0 * * *", "timezone": "UTC", "job": {"run": "true", "priority": 9}})
    (high,) = ada.submit([job(queue="eyes", priority=4, gpus=1, name="high")])
    with pytest.raises(InputError, match="at most 2 "):
        ada.set(f"id:{high['id']}", {"queue": "default"})
    (mine,) = cy.submit([job(priority=3, gpus=2, name="mine")])
    with pytest.raises(InputError, match="at most 3"):
        cy.set(f"id:{mine['id']}", {"priority": 4})
    assert oscar.set(f"id:{mine['id']}", {"priority": 50})["priority"] == 50
    assert cy.set(f"id:{mine['id']}", {"priority": 20})["priority"] == 20, "less is always given"
    for one in (high, mine):
        client.cancel(f"id:{one['id']}")


def test_tenants_hold_anew_when_the_settings_are_read_anew(client: Client) -> None:
    home = client.status()["controller"]["home"]
    with open(f"{home}/clearway.yaml", "w") as file:  # noqa: PTH123
        file.write(SETTINGS.replace("[cy]", "[cy, bo]"))
    client.reload()
    assert client.submit([job(user="bo", queue="ears")])[0]["id"]


def test_a_container_image_is_refused_where_there_are_no_containers(client: Client) -> None:
    with pytest.raises(InputError, match="image: 'pytorch:2' is refused: none: the engine `local` runs no containers"):
        client.submit([job(image="pytorch:2")])
    number = client.submit([job(venv="/env", gpus=2)])[0]["id"]
    assert client.job(f"id:{number}")["words"]["venv"] == "/env"
    client.cancel(f"id:{number}")
