"""Negative, not-a-number and infinite requests are refused at the door, whichever door it is."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from tests.api.bad_values import BAD, FIELD, INFINITE, NAN
from tests.api.live import until
from tests.live.ways import WAYS, Door, door

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

REFUSED: list[dict[str, Any]] = [
    *({"gpus": value} for value in (-1, NAN, INFINITE, "abc", True, -0.5)),
    {"cpus": -100}, {"memory": "-1Gi"}, {"tasks": 0, "gpus": 1}, {"tasks": -2, "gpus": 1},
    {"priority": NAN}, {"time_estimate": -5}, {"max_retries": -1},
]  # fmt: skip
MORE: list[dict[str, Any]] = [
    *({word: value} for word in ("cpus", "bandwidth", "max_cost") for value in (NAN, INFINITE, -INFINITE, -1, True)),
    *({word: value} for word in ("time_limit", "start_deadline", "retry_backoff") for value in (NAN, INFINITE, -0.1)),
    *({word: value} for word in ("max_losses", "colocate", "min_tasks") for value in (-1, 0.5, NAN, True)),
    *({word: value} for word in ("memory", "disk", "gpu_memory") for value in (-1, NAN, INFINITE, True, "NaN")),
    {"priority": True}, {"priority": 0.5}, {"priority": INFINITE}, {"array": -1}, {"array": 0},
]  # fmt: skip
"""The same kinds of value in the other words."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    fleet = {"nodes": [{"name": "n", "gpus": 8, "cpus": 16, "memory": "64GiB"}]}
    with door(tmp_path_factory.mktemp("81"), fleet=fleet, queues=[{"name": "q", "limit": {"gpus": 4}}]) as found:
        yield found


def _stored(opened: Door) -> tuple[int, int]:
    return opened.client.status()["journal"]["records"], len(opened.client.jobs(everything=True))


@pytest.mark.parametrize("way", WAYS)
def test_every_bad_value_is_refused_by_name_and_nothing_of_it_is_stored(opened: Door, way: str) -> None:
    before = _stored(opened)
    for words in [*REFUSED, *MORE]:
        answer = WAYS[way](opened, {"queue": "q", **words})
        assert answer.job is None, words
        assert answer.text.startswith(f"{next(iter(words))}: "), answer.text
        assert " is refused: " in answer.text
    assert _stored(opened) == before


def _can_be_written(word: str, value: object) -> bool:
    """Whether a file can hold it: no lone half of a character or zero byte; its workdir is where it is read."""
    text = json.dumps(value)
    return word != "workdir" and "\\u" not in text and not (isinstance(value, dict) and "NaN" in text)


@pytest.mark.parametrize(("word", "value", "rule"), [one for one in BAD if _can_be_written(*one[:2])])
def test_what_http_refuses_a_file_refuses_too(opened: Door, word: str, value: object, rule: str) -> None:
    answer = WAYS["file"](opened, {word: value})
    assert answer.job is None
    assert answer.text.startswith((*FIELD.get(word, (word,)), word))
    assert rule in answer.text


def test_the_limit_holds_for_what_is_let_in(opened: Door) -> None:
    client, seen = opened.client, list[float]()

    def used() -> float:
        (queue,) = [one for one in client.queues() if one["name"] == "q"]
        seen.append(queue["use"].get("gpus", 0))
        return seen[-1]

    assert used() == 0
    words = {"queue": "q", "workdir": str(opened.folder)}
    client.submit([{"name": "four", "run": "while [ ! -e go ]; do sleep 0.05; done", "gpus": 4, **words}])
    until(lambda: client.job("four")["started"], "four starts")
    client.submit([{"name": "one", "run": "true", "gpus": 1, **words}])
    assert "limit" in client.job("one")["reason"]["text"]
    assert used() == 4
    (opened.folder / "go").touch()
    until(lambda: used() is not None and client.job("one")["state"] == "succeeded", "one succeeds")
    assert max(seen) <= 4
    four, one = client.job("four"), client.job("one")
    assert four["state"] == "succeeded"
    assert one["started"] >= four["ended"]
    for document in (client.status(), client.nodes(), client.queues(), client.jobs(everything=True), four, one):
        _check_numbers(json.loads(json.dumps(document)))


def _check_numbers(value: object) -> None:
    if isinstance(value, dict):
        for one in value.values():
            _check_numbers(one)
    elif isinstance(value, list):
        for one in value:
            _check_numbers(one)
    elif isinstance(value, int | float):
        assert math.isfinite(value)
        assert value >= 0
