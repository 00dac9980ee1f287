"""Nothing that a user sent is unpickled in the controller: its process tells of every pickle that it reads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.api.live import live
from tests.sdk.tasks_used import add, raises

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

SPY = """
import os, pickle, sys

SAID = sys.orig_argv

def note(what):
    with open({file!r}, "a") as file:
        file.write(what + " " + " ".join(SAID) + chr(10))

note("begins")
sys.addaudithook(lambda event, args: note(event) if event == "pickle.find_class" else None)
for name in ("load", "loads", "_load", "_loads"):
    def spied(*args, really=getattr(pickle, name), name=name, **kwargs):
        note(name)
        return really(*args, **kwargs)
    setattr(pickle, name, spied)
"""


def test_the_controller_reads_no_pickle(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told, home = tmp_path / "told", tmp_path / "home"
    (tmp_path / "sitecustomize.py").write_text(SPY.format(file=str(told)))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("CLEARWAY_HOME", str(home))
    env = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"}
    with live(home):
        assert add.options(env=env).map(range(20)).get(60) == list(range(1, 21))
        with pytest.raises(KeyError):
            raises.options(env=env).remote("it").get(60)
    lines = told.read_text().splitlines()
    assert {line.split()[0] for line in lines if "clearway.api.process" in line} == {"begins"}
    assert any(line.startswith("loads") and "clearway.sdk.worker" in line for line in lines), "the spy sees workers"
