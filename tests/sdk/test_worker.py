"""What a worker does where something odd is in its process."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

import pytest

from clearway.calls import wire
from clearway.sdk.tasks.values import dumps
from clearway.sdk.worker.running import Runs
from clearway.sdk.worker.stale import Stale

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Lazy(ModuleType):
    def __getattribute__(self, name: str) -> NoReturn:
        raise ImportError(f"{name}: what it stands for is not there")


@pytest.fixture
def runs() -> Iterator[Runs]:
    before = signal.getsignal(signal.SIGINT)
    yield Runs(lambda _: None)
    signal.signal(signal.SIGINT, before)


def test_anything_may_stand_among_the_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lazy", _Lazy("lazy"))
    for name, path in {"path": Path("/x.py"), "nul": "/x\0.py", "none": None}.items():
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
        monkeypatch.setattr(sys.modules[name], "__file__", path, raising=False)
    assert not Stale().found()


def test_a_call_that_is_cancelled_just_before_it_begins_does_not_begin(runs: Runs) -> None:
    told = wire.Told("digest", "name", "call")
    runs.learn(wire.Hand(recipes={1: told}, functions={"digest": dumps(("", int))}))
    value = dumps(((), {}))
    runs.interrupt(7)
    problem = runs.run(wire.Given(7, 1, 1, value)).problem
    assert problem is not None
    assert problem.types[0] == "KeyboardInterrupt"
    assert runs.run(wire.Given(8, 1, 1, value)).problem is None


def test_a_worker_that_has_lost_a_thread_ends() -> None:
    code = (
        "import time; from clearway.sdk.worker.threads import thread as t; t(lambda: 1 / 0, 'x').start(); time.sleep(9)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "ZeroDivisionError" in ended.stderr
