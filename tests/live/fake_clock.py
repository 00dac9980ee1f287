"""A wall clock that a test sets, for Python programs it starts: monotonic time goes on as it does.

The programs find `sitecustomize` first of all, and their wall clock is ahead by what a file says.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

HOOK = """
import datetime, os, time

def _ahead_ns():
    with open(os.environ["FAKE_CLOCK"]) as file:
        return int(file.read() or 0) * 10**9

_ns, _gm, _local, _get, _get_ns = time.time_ns, time.gmtime, time.localtime, time.clock_gettime, time.clock_gettime_ns
_class = datetime.datetime

class Stepped(_class):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + datetime.timedelta(microseconds=_ahead_ns() // 1000)

time.time_ns = lambda: _ns() + _ahead_ns()
time.time = lambda: time.time_ns() / 10**9
time.gmtime = lambda seconds=None: _gm(time.time() if seconds is None else seconds)
time.localtime = lambda seconds=None: _local(time.time() if seconds is None else seconds)
time.clock_gettime_ns = lambda which: time.time_ns() if which == time.CLOCK_REALTIME else _get_ns(which)
time.clock_gettime = lambda which: time.time() if which == time.CLOCK_REALTIME else _get(which)
datetime.datetime = Stepped
"""


class FakeClock:
    """Sets the wall clock of whatever is started with `environment`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(HOOK)
        self._said = folder / "ahead"
        self.environment = {**os.environ, "PYTHONPATH": str(folder), "FAKE_CLOCK": str(self._said)}
        self.step_to(0)

    def step_to(self, ahead_s: int) -> None:
        """Have the wall clock be so far ahead of the machine's."""
        fresh = self._said.with_suffix(".new")
        fresh.write_text(str(ahead_s))
        fresh.replace(self._said)
