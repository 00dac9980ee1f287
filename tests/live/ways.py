"""The four ways in: one job with one word, said in Python, over HTTP, on the command line and in a file."""

from __future__ import annotations

import json
import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.config.home import read_running
from clearway.model.errors import ClearwayError
from clearway.sdk.job import Job
from tests.api.live import live
from tests.api.serving import raw_answer
from tests.cli.live import Product

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from clearway.sdk.client import Client

RUN = ["true"]


@contextmanager
def door(folder: Path, **options: object) -> Iterator[Door]:
    """Run a controller, and open it."""
    home = folder / "home"
    with live(home, **options) as client:
        running = read_running(home)
        assert running is not None
        yield Door(Product(home), client, running.socket, folder)


class Answer(NamedTuple):
    """What came of a submit: the job's number, or why it was refused."""

    job: int | None
    text: str


class Door(NamedTuple):
    """A controller, and where files may be written."""

    product: Product
    client: Client
    socket: str
    folder: Path


def by_python(door: Door, words: dict[str, Any]) -> Answer:
    try:
        return Answer(Job.submit(door.client, {"name": "python", "run": RUN, **words}).id, "")
    except ClearwayError as error:
        return Answer(None, str(error))


def by_http(door: Door, words: dict[str, Any]) -> Answer:
    job = {"name": "http", "run": RUN, **words}
    body = json.dumps({"jobs": [job]}).encode()
    head = "POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
    answer = raw_answer(door.socket, f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    status, found = answer.status, json.loads(answer.body)  # type: ignore[attr-defined]
    return Answer(found["jobs"][0]["id"], "") if status == 201 else Answer(None, found["detail"])


def by_command(door: Door, words: dict[str, Any]) -> Answer:
    options = [f"--{word.replace('_', '-')}={_typed(value)}" for word, value in words.items()]
    return _told(door.product("run", "--json", *options, "--", *RUN))


def by_file(door: Door, words: dict[str, Any]) -> Answer:
    path = door.folder / "job.yaml"
    lines = [f"{word}: {_written(value)}\n" for word, value in {"name": "file", "run": RUN, **words}.items()]
    path.write_text("".join(lines))
    return _told(door.product("submit", "--json", str(path)))


WAYS: dict[str, Callable[[Door, dict[str, Any]], Answer]] = {
    "python": by_python, "http": by_http, "command": by_command, "file": by_file,
}  # fmt: skip


def _told(said: Any) -> Answer:
    if said.code:
        return Answer(None, json.loads(said.err)["detail"])
    found = json.loads(said.out)
    return Answer(found["jobs"][0]["id"] if "jobs" in found else found["id"], "")


def _typed(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _written(value: object) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf"
    return json.dumps(value)  # every JSON is YAML
