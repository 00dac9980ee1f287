"""Which tests touch which lines, so that a fault is shown only to the tests that run through it.

Used as a plugin of pytest (`-p benchmarks.touched`): the tests run once without a fault, and a file says for each line
of the rooms which tests went through it, and how long each test takes.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import coverage
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

WRITTEN_TO = "CLEARWAY_TOUCHED"
"""Environment variable that names the file to write."""

ROOMS_WATCHED = "CLEARWAY_TOUCHED_ROOMS"
"""Environment variable with the folders whose lines count, split by the system's path separator."""

BUDGET_S = 60.0  # a fault is shown to the cheapest tests that touch it, together no longer than this


class Touched:
    """What was found out: tests by line, cheapest first."""

    def __init__(self, path: Path) -> None:
        found = json.loads(path.read_text())
        self._names: list[str] = found["tests"]
        self._takes_s: list[float] = found["takes_s"]
        self._lines: dict[str, dict[str, list[int]]] = found["lines"]

    def tests(self, file: str, lines: Iterable[int]) -> list[str]:
        """Return the names of the tests that touch any of these lines of a file, the cheapest first, within budget."""
        touched = self._lines.get(file, {})
        found = {test for line in lines for test in touched.get(str(line), [])}
        return self._cheapest(found)

    def tests_of(self, file: str) -> list[str]:
        """Return the tests that touch a file at all: for lines that run when it is imported."""
        return self._cheapest({test for tests in self._lines.get(file, {}).values() for test in tests})

    def _cheapest(self, found: set[int]) -> list[str]:
        chosen: list[str] = []
        spent = 0.0
        for test in sorted(found, key=lambda one: (self._takes_s[one], one)):
            spent += self._takes_s[test]
            if chosen and spent > BUDGET_S:
                break
            chosen.append(self._names[test])
        return chosen


class Watch:
    """Watches a test run."""

    def __init__(self, path: Path, rooms: list[str]) -> None:
        self._path = path
        self._cov = coverage.Coverage(data_file=None, include=[f"{room}/*" for room in rooms], config_file=False)
        self._takes_s: dict[str, float] = {}
        self._cov.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:  # noqa: ANN401  the hook's own type
        """Count the lines that run from here on for this test."""
        self._cov.switch_context(item.nodeid)
        result = yield
        self._cov.switch_context("")
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how long a test takes, with what sets it up."""
        self._takes_s[report.nodeid] = self._takes_s.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        """Write down what was found."""
        self._cov.stop()
        data = self._cov.get_data()
        names = sorted(self._takes_s)
        number = {name: i for i, name in enumerate(names)}
        lines = {
            os.path.relpath(file): {
                line: sorted(number[name] for name in contexts if name in number)
                for line, contexts in data.contexts_by_lineno(file).items()
            }
            for file in sorted(data.measured_files())
        }
        found = {"tests": names, "takes_s": [round(self._takes_s[name], 4) for name in names], "lines": lines}
        self._path.write_text(json.dumps(found))


def pytest_configure(config: pytest.Config) -> None:
    """Begin to watch, where a file is named to write to."""
    if path := os.environ.get(WRITTEN_TO):
        config.pluginmanager.register(
            Watch(Path(path), os.environ[ROOMS_WATCHED].split(os.pathsep)), "clearway-touched"
        )
