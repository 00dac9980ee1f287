"""`clearway call` at a running controller."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from clearway import group
from clearway.cli.main import cli
from tests.api.live import live
from tests.sdk.tasks_used import add, raises, talk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow
PATIENCE_S = 60


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch, live(place):
        patch.setenv("CLEARWAY_HOME", str(place))
        yield place


def _said(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(cli, ["call", *words])
    assert done.exit_code == code, done.output
    return done.output


def _json(*words: str) -> Any:
    return json.loads(_said(*words, "--json"))


@pytest.mark.usefixtures("home")
def test_an_empty_list_says_where_more_is_and_a_wrong_number_what_one_is() -> None:
    assert "clearway call list -a" in _said("list")
    assert "no calls" in _said("list", "--all")
    for wrong in ("abc", "0", "1" * 30):
        assert f"'{wrong}' is refused: the number of a call; clearway call list -a" in _said("why", wrong, code=2)


def _of_jobs(*words: str) -> str:
    done = CliRunner().invoke(cli, list(words))
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.usefixtures("home")
def test_calls_are_counted_where_jobs_are() -> None:
    assert json.loads(_of_jobs("status", "--json"))["calls"] == {"pending": 0, "running": 0}
    assert "none waits or runs" in _of_jobs("status")
    assert "clearway call list" not in _of_jobs("ps")
    handle = add.options(gpus=900).map(range(700))
    assert handle.id
    assert "700 pending" in _of_jobs("status")
    (pool,) = json.loads(_of_jobs("status", "--json"))["pools"]
    assert (pool["functions"], pool["pending"], pool["running"]) == (["tests.sdk.tasks_used.add"], 700, 0)
    assert re.search(r"^tests.sdk.tasks_used.add +\d+ +0 +700$", _of_jobs("top", "--once"), re.MULTILINE)
    assert "and calls of tasks: 700 pending; clearway call list shows them" in _of_jobs("ps")
    handle.cancel()
    assert "clearway call list" not in _of_jobs("ps")


@pytest.mark.usefixtures("home")
def test_calls_are_listed_shown_and_explained() -> None:
    handle = group(add.s(n) for n in range(7)).remote()
    handle.get(PATIENCE_S)
    (row,) = [one for one in _json("list", "--all")["calls"] if one["id"] == handle.id]
    assert (row["kind"], row["state"], row["parts"], row["over"], row["failed"]) == ("map", "succeeded", 7, 7, 0)
    assert "7 of 7" in _said("list", "--all")
    assert "succeeded" in _said("show", str(handle.id))
    failing = raises.remote("it")
    with pytest.raises(KeyError):
        failing.get(PATIENCE_S)
    assert "KeyError" in _said("why", str(failing.id))
    assert _json("show", str(failing.id))["state"] == "failed"


@pytest.mark.usefixtures("home")
def test_what_a_call_wrote_is_shown() -> None:
    handle = talk.remote("hello")
    handle.get(PATIENCE_S)
    assert _said("logs", str(handle.id)) == "hello\n"
    assert _json("logs", "--stderr", str(handle.id))["text"] == "HELLO\n"


@pytest.mark.usefixtures("home")
def test_a_call_is_cancelled() -> None:
    handle = add.options(gpus=64).remote(1)
    assert _json("cancel", str(handle.id))["state"] == "cancelled"
    assert "there is no call 999999" in _said("cancel", "999999", code=4)
