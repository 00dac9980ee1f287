"""Names that look alike to a program, or to a person, stay as many jobs as there are, each shown whole."""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING

import pytest

from clearway.cli.shown import plain
from clearway.sdk.client import Client
from tests.api.live import kill_controller, live, until
from tests.cli.live import Product

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

LEFT, RIGHT = "a" * 70 + "-left", "a" * 70 + "-right"
ALIKE = [
    "x" * 999 + "1", "x" * 999 + "2", "Case", "case", unicodedata.normalize("NFC", "caf\u00e9"),
    unicodedata.normalize("NFD", "caf\u00e9"), "\u0430bc", "abc", "a b", "a  b", " a b", "../../etc/passwd", "..",
    "a/b", "a%2Fb", "a?b#c", "-rf", "--help", "'; touch x; '", "$(touch x)", "line\nbreak", "tab\t", "\u202egnp.exe",
    "\U0001f600", "*", "[0]", "name:x", "id:1", "1", "\x1b[31mred",
]  # fmt: skip
"""Long, with parts of paths, addresses, shells, options, references and terminals in them, and equal but for bytes."""


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    home = tmp_path_factory.mktemp("71") / "home"
    with live(home, fleet={"nodes": [{"name": "n", "gpus": 2}]}):
        yield Product(home)


@pytest.fixture
def client(product: Product) -> Client:
    return Client.connect(product.home)


def _says(word: str, code: int) -> list[str]:
    return ["sh", "-c", f"echo {word}; exit {code}"]


def test_long_names_that_differ_at_the_end_stay_two_jobs(product: Product, client: Client, tmp_path: Path) -> None:
    words = {"gpus": 1, "workdir": str(tmp_path)}
    sent = [{"name": LEFT, "run": _says("LEFT", 1), **words}, {"name": RIGHT, "run": _says("RIGHT", 0), **words}]
    client.submit(sent)
    _look(product, client)
    before = client.job(LEFT)["id"], client.job(RIGHT)["id"]
    kill_controller(product.home)
    assert product.starting("up", "--detach").code == 0
    _look(product, Client.connect(product.home))
    assert (client.job(LEFT)["id"], client.job(RIGHT)["id"]) == before


def _look(product: Product, client: Client) -> None:
    assert (client.wait(LEFT)["state"], client.wait(RIGHT)["state"]) == ("failed", "succeeded")
    assert [b"".join(client.logs(name)) for name in (LEFT, RIGHT)] == [b"LEFT\n", b"RIGHT\n"]
    assert (product("logs", LEFT).out, product("logs", RIGHT).out) == ("LEFT\n", "RIGHT\n")
    for command in (("ps", "-a"), ("show", LEFT), ("why", LEFT)):
        assert LEFT in product(*command).out
    assert {row["name"] for row in product.json("ps", "-a")["jobs"]} >= {LEFT, RIGHT}
    events = client.events(RIGHT)
    assert {event["job"] for event in events if "job" in event} == {RIGHT}


def test_names_that_look_alike_stay_apart(product: Product, client: Client, tmp_path: Path) -> None:
    sent = [{"name": name, "run": ["sh", "-c", 'echo "$CLEARWAY_JOB"'], "workdir": str(tmp_path)} for name in ALIKE]
    numbers = {row["name"]: row["id"] for row in client.submit(sent)}
    assert list(numbers) == ALIKE
    until(lambda: not client.jobs(), "all are over")
    for name, number in numbers.items():
        row = client.job(f"name:{name}")
        assert (row["id"], row["name"], row["state"]) == (number, name, "succeeded")
        assert b"".join(client.logs(f"name:{name}")) == f"{number}\n".encode()
        shown = product("show", "--", f"name:{name}")
        assert plain(name) in shown.out.replace("\n", ""), shown
        assert json.loads(product("show", "--json", "--", f"name:{name}").out)["name"] == name
    assert list(tmp_path.iterdir()) == []
    assert not any(character in product("ps", "-a").out for character in ("\x1b", "\u202e", "\t"))
