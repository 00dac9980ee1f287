"""The controller that `benchmarks.window` measures: a large invented place, with the time of each ask written down.

An ask's time runs from when it is laid before the deciding loop until it is decided, in the journal, and answered.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.busy import __main__ as busy
from clearway.control.controller import Controller
from clearway.model.asks import Submit

if TYPE_CHECKING:
    from concurrent.futures import Future

    from clearway.model.asks import Ask


def main() -> int:
    """Serve the place of a home; times go to its file `asks.txt`, a line each in microseconds."""
    file = (Path(sys.argv[1]) / "asks.txt").open("a", buffering=1)
    really = Controller.ask

    def ask(self: Controller, what: Ask) -> Future[object]:
        if not isinstance(what, Submit):
            return really(self, what)
        began = time.perf_counter_ns()
        future = really(self, what)
        future.add_done_callback(lambda _: file.write(f"{(time.perf_counter_ns() - began) // 1000}\n"))
        return future

    Controller.ask = ask  # type: ignore[method-assign,assignment]
    return busy.main()


if __name__ == "__main__":
    sys.exit(main())
