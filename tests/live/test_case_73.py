"""An environment that the system cannot pass to a process is refused clearly, once, and nothing of it is shown."""

from __future__ import annotations

import json
import resource
from typing import TYPE_CHECKING, Any

import pytest

from clearway.model.errors import InputError
from tests.api.live import live
from tests.cli.live import Product
from tests.live.processes import runner_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.sdk.client import Client

pytestmark = pytest.mark.slow

SECRET = "hunter2-and-more"
K100 = 100_000


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("73") / "home"


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[Client]:
    with live(home, fleet={"nodes": [{"name": "n", "cpus": 4}]}) as found:
        yield found


def _job(name: str, run: str = "echo 1", **words: Any) -> dict[str, Any]:
    return {"name": name, "run": run, "cpus": 1, "workdir": "/", **words}


def _output(client: Client, name: str) -> bytes:
    return b"".join(client.logs(name))


def _largest_stack() -> int:
    """Return at least what the system passes to a process in all: a quarter of the stack, at most 6 MB."""
    soft = resource.getrlimit(resource.RLIMIT_STACK)[0]
    return 6 * 2**20 if soft == resource.RLIM_INFINITY else min(soft // 4, 6 * 2**20)


def test_what_can_be_passed_runs_and_what_cannot_is_named_once(client: Client, home: Path) -> None:
    script = "# " + "x" * 2**20 + "\necho OK\n"
    names = [f"FOO{n}" for n in range(_largest_stack() // K100 + 10)]
    foo = {"SECRET": SECRET, "FOO": "x" * K100}
    client.submit(
        [
            _job("v100k", 'printf %s "$FOO" | wc -c', env=foo, max_retries=3),
            _job("v200k", 'printf %s "$FOO" | wc -c', env={**foo, "FOO": SECRET + "x" * 2 * K100}, max_retries=3),
            _job("many", env=dict.fromkeys(names, SECRET + "x" * K100), max_retries=3),
            _job("script", script, env={"SECRET": SECRET}),
        ]
    )  # fmt: skip
    assert client.wait("v100k")["state"] == "succeeded"
    runner = runner_of(home)
    client.submit([_job("after")])
    for name, output in (("v100k", b"100000"), ("script", b"OK"), ("after", b"1")):
        assert client.wait(name)["state"] == "succeeded"
        assert _output(client, name).strip() == output
    for name in ("v200k", "many"):
        client.wait(name)
        row = client.job(name)
        assert row["state"] == "failed"
        assert len(row["attempts"]) == 1
        assert "its environment has" in row["reason"]["text"]
        assert "the largest variable, FOO" in row["reason"]["text"]
    assert runner_of(home) == runner
    _no_secret(client, home)


def _no_secret(client: Client, home: Path) -> None:
    """Nothing that is shown, logged or printed has it in it."""
    product = Product(home)
    shown = [str(client.status()), (home / "controller.log").read_text(), (home / "runner/runner.log").read_text()]
    for row in client.jobs(everything=True):
        ref = f"id:{row['id']}"
        shown += [str(client.job(ref)), str(client.why(ref)), str(client.events(ref)), product("why", ref).out]
        shown += [product("show", ref).out, product("show", "--json", ref).out]
    shown += [path.read_text(errors="replace") for path in (home / "logs").rglob("*") if path.is_file()]
    assert not [text for text in shown if SECRET in text]


@pytest.mark.parametrize(
    ("env", "says"),
    [
        ({"A=B": SECRET}, "a name without ="),
        ({f"A={SECRET}": ""}, "a name without ="),
        ({f"A={SECRET}": None}, "not shown"),
        ({"": SECRET}, "1 to 1000 characters"),
        ({"A\0": SECRET}, "zero"),
        ({"A": SECRET + "\0"}, "zero"),
        ({"A": [SECRET]}, "not shown"),
        ({"A": 1.5}, "not shown"),
        ([f"A={SECRET}"], "not shown"),
        (SECRET, "not shown"),
    ],
    ids=range(10),
)
def test_what_no_environment_can_hold_is_refused_at_the_door(client: Client, env: object, says: str) -> None:
    before = client.status()["journal"]["records"]
    with pytest.raises(InputError, match="env") as refused:
        client.submit([_job("bad", env=env)])
    assert says in str(refused.value)
    assert SECRET not in str(refused.value)
    assert client.status()["journal"]["records"] == before


def test_odd_names_and_values_arrive_as_they_are(client: Client) -> None:
    env = {"ÜBER": "ö\n\"'$x\x7f\x01", "1A": "digit", "A B": "space", "A-B.C": "dash", "\U0001f600": "\U0001f680"}
    code = f"import json, os; print(json.dumps({{k: os.environ[k] for k in {list(env)!r}}}))"
    client.submit([{"name": "odd", "run": ["python3", "-X", "utf8", "-c", code], "env": env, "workdir": "/"}])
    assert client.wait("odd")["state"] == "succeeded"
    assert json.loads(_output(client, "odd")) == env


@pytest.mark.parametrize("run", [["echo", "x" * 200_000], ["x" * 200_000]], ids=["an argument", "a program"])
def test_a_command_that_cannot_be_passed_is_named_too(client: Client, run: list[str]) -> None:
    (row,) = client.submit([_job("long", run=run, max_retries=3)])  # type: ignore[arg-type]
    client.wait(f"id:{row['id']}")
    found = client.job(f"id:{row['id']}")
    assert (found["state"], len(found["attempts"])) == ("failed", 1)
    assert "cannot be started" in found["reason"]["text"]
    assert len(found["reason"]["text"]) < 1000
