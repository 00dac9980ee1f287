"""Units of memory mean what they say, and odd ones are refused, in every word that takes a size, at every door."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.api.live import until
from tests.live.ways import WAYS, Door, door

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

DEVICE = 25_769_803_776
BYTES: dict[object, int] = {
    1073741824: 1073741824, "1Ki": 1024, "1k": 1000, "500Mi": 524288000, "24Gi": DEVICE, "24GiB": DEVICE,
    "24G": 24 * 10**9, "24GB": 24 * 10**9, "1.5Gi": 1610612736,
}  # fmt: skip
MORE: dict[object, int] = {
    0: 0, "0Ki": 0, "1KiB": 1024, "1kB": 1000, "1M": 10**6, "1MB": 10**6, "1MiB": 2**20, "1T": 10**12, "1Ti": 2**40,
    "0.1Ki": 103, "0.0001k": 1,
}  # fmt: skip
"""A part of a byte counts as a whole one."""

ODD: list[object] = ["128m", "0.5", "1 Gi", "Gi", "", "-1Gi", "1Zz", "1e400", "1e3"]
MORE_ODD: list[object] = [
    "1K", "1kib", "1gi", "1GIB", "1Gib", "1 ", " 1Gi", "1Gi ", "+1Gi", "1,5Gi", "1_000Ki", "1.Gi", ".5Gi", "1.5", "1B",
    "0x10Ki", "\u0661Gi", "\uff11Gi", "1G\u0456", "1e3Ki", "inf", "nan", "9" * 50, 0.5, 1e3, True, [1], {"Gi": 1},
]  # fmt: skip


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    fleet = {"nodes": [{"name": "n", "gpus": 2, "gpu_memory": DEVICE, "cpus": 1}]}
    with door(tmp_path_factory.mktemp("83"), fleet=fleet) as found:
        yield found


@pytest.mark.parametrize("way", WAYS)
def test_what_is_said_is_what_is_read_and_shown(opened: Door, way: str) -> None:
    for value, expected in (BYTES | MORE).items():
        answer = WAYS[way](opened, {"memory": value})
        assert answer.job is not None, (value, answer.text)
        assert opened.client.job(f"id:{answer.job}")["words"]["memory"] == expected, value
        opened.client.cancel(f"id:{answer.job}")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("word", ["memory", "disk", "gpu_memory"])
def test_odd_ones_are_refused_by_name(opened: Door, way: str, word: str) -> None:
    for value in [*ODD, *MORE_ODD]:
        if way == "command" and not isinstance(value, str | bool):
            continue  # an option is a text, and "1000.0" is asked below
        answer = WAYS[way](opened, {word: value})
        assert answer.job is None, value
        assert answer.text.startswith(f"{word}: "), answer.text
        assert "a size is" in answer.text or "at most" in answer.text


@pytest.mark.parametrize(
    "words",
    [
        {"inputs": [{"name": "corpus", "size": "128m"}]},
        {"roles": [{"name": "worker", "memory": "1 Gi"}]},
    ],
    ids=["an input", "a role"],
)
def test_sizes_inside_other_words_too(opened: Door, words: dict[str, Any]) -> None:
    for way in WAYS.values():
        answer = way(opened, words)
        assert answer.job is None
        assert "a size is" in answer.text
        assert answer.text.startswith(("size: ", "memory: "))


def test_limits_and_settings_read_sizes_the_same_way(opened: Door) -> None:
    opened.client.set_queue({"name": "units", "limit": {"memory": "24G"}})
    (queue,) = [one for one in opened.client.queues() if one["name"] == "units"]
    assert queue["limit"]["memory"] == 24 * 10**9
    said = opened.product("queue", "set", "units", "--limit", "memory=128m")
    assert said.code == 2
    assert "memory" in said.err


def test_jobs_of_24_gib_and_24_gb_start_side_by_side(opened: Door) -> None:
    for name, size in (("gib", "24GiB"), ("gb", "24GB")):
        opened.client.submit([{"name": name, "run": "sleep 600", "gpus": 1, "gpu_memory": size}])
    until(lambda: all(opened.client.job(name)["started"] for name in ("gib", "gb")), "both start")
    shown = [opened.client.job(name)["words"]["gpu_memory"] for name in ("gib", "gb")]
    assert shown == [DEVICE, 24 * 10**9]
