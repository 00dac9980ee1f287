"""Devices that fall ill while the controller runs leave the pool, and come back when they are well."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from clearway.engines.local import engine as local
from clearway.engines.local import health, inventory
from clearway.engines.local.health import Health
from clearway.engines.local.inventory import Device, unhealthy_of
from clearway.model.fleet import NodeSpec
from clearway.ports.engine import NodeIsUp
from tests.engines.places import NODE, Place, until

if TYPE_CHECKING:
    from pathlib import Path

OFTEN_S = 0.05


def _devices(*healthy: bool) -> list[Device]:
    return [Device(str(n), "A100", 80, well) for n, well in enumerate(healthy)]


@pytest.mark.parametrize(
    ("shown", "ill"),
    [
        (_devices(True, True), ()),
        (_devices(True, False), (1,)),
        (_devices(True), (1,)),
        ([], (0, 1)),
    ],
)
def test_what_the_driver_says_of_each_device(
    monkeypatch: pytest.MonkeyPatch, shown: list[Device], ill: tuple[int, ...]
) -> None:
    monkeypatch.setattr(inventory, "real_devices", lambda: shown)
    assert unhealthy_of(("0", "1")) == ill


@pytest.mark.slow
def test_a_node_is_reported_anew_when_a_device_falls_ill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ill: list[tuple[int, ...]] = [()]
    monkeypatch.setattr(health, "LOOK_EVERY_S", OFTEN_S)
    monkeypatch.setattr(local, "unhealthy_of", lambda _: ill[0])

    class Watched(Place):
        def engine(self) -> local.LocalEngine:
            found = local.LocalEngine(self.home, NodeSpec(NODE, gpus=2), devices=("0", "1"), workdir=self.scratch)
            found._health._every_s = OFTEN_S
            return found

    place = Watched(tmp_path)
    talk = place.open()
    running = place.launch(1, "sleep 60")
    talk.up(running)
    for now in ((1,), ()):
        talk.heard.clear()
        ill[0] = now
        place.hear_until(lambda: any(isinstance(r, NodeIsUp) for r in talk.heard), "the node is reported anew")
        (told,) = [r for r in talk.heard if isinstance(r, NodeIsUp)]
        assert told.unhealthy == now
        assert told.running == (running,)
    place.clear()


def test_a_driver_that_does_not_answer_is_said_to_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "HANGS_AFTER_S", 0.0)
    answer = threading.Event()

    def look() -> tuple[int, ...]:
        answer.wait()
        return ()

    watch = Health(look, lambda: None, (), every_s=0.0)
    assert watch.trouble() == ""
    watch.begin()
    until(lambda: "has not answered" in watch.trouble(), "it is said to hang")
    watch.close()
    answer.set()


def test_whoever_waits_is_woken_by_a_change_and_by_nothing_else() -> None:
    answers = iter([(), (1,), (1,), ()])
    told: list[tuple[int, ...]] = []
    over = threading.Event()

    def look() -> tuple[int, ...]:
        found = next(answers, None)
        if found is None:
            over.set()
            return ()
        return found

    watch = Health(look, lambda: told.append(watch.unhealthy), (), every_s=0.0)
    watch.begin()
    assert over.wait(20)
    watch.close()
    assert told == [(1,), ()]
